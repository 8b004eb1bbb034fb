"""Decisions of a person, for all interfaces. Each function raises if the decision is not possible now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from burnish.adapters.agents import StopTokens
from burnish.core.approval import asked_for
from burnish.core.flow import REVIEW_TOO, WORK_ALONE
from burnish.core.gate import Actor, GateChoice, GateDecision, GateView
from burnish.core.override import OverrideReasons
from burnish.core.recorded_reviews import unseen_in_cycle
from burnish.core.review import UnseenFile
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.engine import human_gate as asking
from burnish.engine.commands import decide as people
from burnish.engine.commands import lifecycle as actions
from burnish.engine.commands import override as overriding
from burnish.engine.ports import Deps
from burnish.engine.restore_approval import restore_approval
from burnish.errors import Refused
from burnish.runtime.ports import NullProgress, follow_up, sandbox_policy_of
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.requests import RunRequest
from burnish.runtime.tasks import expire_waivers

if TYPE_CHECKING:
    from burnish.runtime.app import App

# what a person accepts must be what was judged, by those who judge now
ACCEPTING = (GateChoice.APPROVE, GateChoice.SKIP)


@dataclass(frozen=True, slots=True)
class DecisionView:
    """What is put before a person who decides, and whether the branch is still there."""

    shown: GateView
    tip: str | None

    @property
    def stale(self) -> bool:
        """The branch differs from what was reviewed."""
        return bool(self.shown.commit) and self.tip != self.shown.commit


def decide(app: App, task_id: int, answer: GateDecision, *, via: str = "cli") -> Task:
    """`burnish decide`; the web and the terminal's interface do the same."""
    refuse_inside_phase()
    app.event_log.refuse_if_held(task_id)
    expire_waivers(app)
    task = app.store.task(app.key, task_id)
    policy, person = app.policy(task), Actor(app.person, via)
    approval = app.store.approval(app.key, task_id)
    if answer.choice in ACCEPTING and approval and approval.valid:
        cause = approval.changed(
            base=approval.base,
            tree=approval.tree,
            asked=asked_for(task.spec),
            judge=policy.judge,
            judge_before=policy.judge_before,
            criteria=policy.criteria,
        )
        if cause:
            raise Refused(f"Task {task_id}: {cause.words}.", hint=f"Review it again: burnish run {task_id}")
    people.decide(app.event_log, app.repository, task_id, answer, policy, person, follow_up=follow_up(app))
    return _kept(app, task_id)


def unseen_files(app: App, task_id: int) -> tuple[UnseenFile, ...]:
    """What an approval accepts although no reviewer could be shown it."""
    history = app.event_log.history(task_id)
    return unseen_in_cycle(history, app.policy(history.task), history.cycle)


def override(app: App, task_id: int, grounds: OverrideReasons | None, *, commit: str = "", via: str = "cli") -> Task:
    refuse_inside_phase()
    app.event_log.refuse_if_held(task_id)
    if grounds is None:
        # Check whether it may be overridden before asking for reasons.
        gate_view = check_override(app, task_id, commit=commit)
        raise overriding.reasons_missing(gate_view.task, f"burnish override {task_id}")
    policy, person = app.policy(app.store.task(app.key, task_id)), Actor(app.person, via)
    overriding.override(
        app.event_log, app.repository, task_id, policy, grounds, person, commit=commit, follow_up=follow_up(app)
    )
    return _kept(app, task_id)


def improve(app: App, task_id: int, note: str, *, review: bool, via: str = "cli") -> Task:
    """The order alone; the run that follows carries it out."""
    refuse_inside_phase()
    app.trust.require()
    app.event_log.refuse_if_held(task_id)
    task = app.store.task(app.key, task_id)
    actions.refuse_paused(task)
    if task.branch:
        app.repository.check_movable(task.branch)
    sandbox_policy_of(app).require()
    then = REVIEW_TOO if review else WORK_ALONE
    return people.improve(app.event_log, task_id, note, Actor(app.person, via), then=then)


def check_override(app: App, task_id: int, *, commit: str = "") -> GateView:
    """Check whether the task may be overridden; returns what would be accepted."""
    refuse_inside_phase()
    app.event_log.refuse_if_held(task_id)
    history = app.store.history(app.key, task_id)
    overriding.moves_to_verified(history.task)
    overriding.check_seen(app.repository, history, commit)
    return asking.gate_view(history, app.policy(history.task))


def done(app: App, task_id: int, grounds: OverrideReasons | None, *, commit: str = "", via: str = "cli") -> Task:
    """A task that is finished, e.g. merged by hand; an override where it is not approved."""
    refuse_inside_phase()
    if commit:
        overriding.check_seen(app.repository, app.store.history(app.key, task_id), commit)
    app.event_log.refuse_if_held(task_id)
    expire_waivers(app)
    task = app.store.task(app.key, task_id)
    policy = app.policy(task)
    actions.void_stale(app.event_log, app.repository, task, policy)
    restore_approval(app.event_log, app.repository, task, policy)
    actions.done(app.event_log, task_id, person=Actor(app.person, via), grounds=grounds, follow_up=follow_up(app))
    app.repository.workspace(app.store.task(app.key, task_id)).forget_target()
    return _kept(app, task_id)


def done_overrides(app: App, task_id: int) -> bool:
    """True if `done` would override a review; raises if `done` is not possible."""
    app.event_log.refuse_if_held(task_id)
    expire_waivers(app)
    task = app.store.task(app.key, task_id)
    if task.status is Status.CODE_REVIEW and restore_approval(app.event_log, app.repository, task, app.policy(task)):
        task = app.store.task(app.key, task_id)
    if task.status is Status.VERIFIED:
        return False
    overriding.moves_to_verified(task)
    return True


def gate_view_of(app: App, task_id: int) -> GateView:
    """What a person is to be shown before deciding."""
    history = app.store.history(app.key, task_id)
    return asking.gate_view(history, app.policy(history.task))


def _kept(app: App, task_id: int) -> Task:
    asking.archive_decision(_deps(app), task_id)
    return app.store.task(app.key, task_id)


def _deps(app: App) -> Deps:
    from burnish.runtime.ports import deps_for

    return deps_for(app, RunRequest(), NullProgress(), StopTokens(), "")


def decision_view(app: App, task_id: int) -> DecisionView:
    view = gate_view_of(app, task_id)
    return DecisionView(view, app.repository.workspace(view.task).tip() if view.task.branch else None)

"""What a person decides, for every screen: each refuses what is not the person's to decide now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnish.core.approval import asked_for
from burnish.core.flow import REVIEW_TOO, WORK_ALONE
from burnish.core.gate import Answer, Choice, Person, Shown
from burnish.core.history import History
from burnish.core.override import Grounds
from burnish.core.review import UnseenFile
from burnish.core.status import Status
from burnish.core.stored import unseen_in_cycle
from burnish.core.task import Task
from burnish.engine import actions, asking, overriding, people
from burnish.engine.followups import after_override
from burnish.engine.ports import Deps, FollowUp
from burnish.engine.restore_approval import restore_approval
from burnish.errors import Refused
from burnish.wiring.confining import confinement_of
from burnish.wiring.helpers import Stops
from burnish.wiring.reader import refuse_inside_phase
from burnish.wiring.rendering import Nobody
from burnish.wiring.requests import RunRequest

if TYPE_CHECKING:
    from burnish.wiring.app import App

# what a person accepts must be what was judged, by those who judge now
ACCEPTING = (Choice.APPROVE, Choice.SKIP)


def decide(app: App, task_id: int, answer: Answer, *, via: str = "cli") -> Task:
    """`burnish decide`; the web and the terminal's interface do the same."""
    refuse_inside_phase()
    app.book.refuse_if_held(task_id)
    task = app.store.task(app.key, task_id)
    policy, person = app.policy(task), Person(app.person, via)
    judged = app.store.approval(app.key, task_id)
    if answer.choice in ACCEPTING and judged and judged.valid:
        cause = judged.changed(
            base=judged.base,
            tree=judged.tree,
            asked=asked_for(task.spec),
            judge=policy.judge,
            judge_before=policy.judge_before,
            criteria=policy.criteria,
        )
        if cause:
            raise Refused(f"Task {task_id}: {cause.words}.", hint=f"Have it reviewed again: burnish run {task_id}")
    people.decide(app.book, app.code, task_id, answer, policy, person, follow_up=follow_up(app))
    return _kept(app, task_id)


def unseen_files(app: App, task_id: int) -> tuple[UnseenFile, ...]:
    """What an approval accepts although no reviewer could be shown it."""
    history = app.book.history(task_id)
    return unseen_in_cycle(history, app.policy(history.task), history.cycle)


def override(app: App, task_id: int, grounds: Grounds | None, *, commit: str = "", via: str = "cli") -> Task:
    refuse_inside_phase()
    app.book.refuse_if_held(task_id)
    if grounds is None:
        # whether it may be overridden at all comes before the question why
        shown = check_override(app, task_id, commit=commit)
        raise overriding.needs_grounds(shown.task, f"burnish override {task_id}")
    policy, person = app.policy(app.store.task(app.key, task_id)), Person(app.person, via)
    overriding.override(app.book, app.code, task_id, policy, grounds, person, commit=commit, follow_up=follow_up(app))
    return _kept(app, task_id)


def improve(app: App, task_id: int, note: str, *, review: bool, via: str = "cli") -> Task:
    """The order alone; the run that follows carries it out."""
    refuse_inside_phase()
    app.trust.require()
    app.book.refuse_if_held(task_id)
    task = app.store.task(app.key, task_id)
    if task.branch:
        app.code.check_movable(task.branch)
    confinement_of(app).insist()
    then = REVIEW_TOO if review else WORK_ALONE
    return people.improve(app.book, task_id, note, Person(app.person, via), then=then)


def check_override(app: App, task_id: int, *, commit: str = "") -> Shown:
    """Before anybody is asked why: may it be overridden at all? What it is that would be accepted."""
    refuse_inside_phase()
    app.book.refuse_if_held(task_id)
    history = app.store.history(app.key, task_id)
    overriding.road_to_verified(history.task)
    overriding.check_seen(app.code, history, commit)
    return asking.shown(history, app.policy(history.task))


def done(app: App, task_id: int, grounds: Grounds | None, *, commit: str = "", via: str = "cli") -> Task:
    """A task that is finished, e.g. merged by hand; an override where it is not approved."""
    refuse_inside_phase()
    if commit:
        overriding.check_seen(app.code, app.store.history(app.key, task_id), commit)
    app.book.refuse_if_held(task_id)
    task = app.store.task(app.key, task_id)
    policy = app.policy(task)
    actions.void_stale(app.book, app.code, task, policy)
    restore_approval(app.book, app.code, task, policy)
    actions.done(app.book, task_id, person=Person(app.person, via), grounds=grounds, follow_up=follow_up(app))
    return _kept(app, task_id)


def done_overrides(app: App, task_id: int) -> bool:
    """Would `done` go against a review? Refused at once where it is not legal at all."""
    app.book.refuse_if_held(task_id)
    task = app.store.task(app.key, task_id)
    if task.status is Status.CODE_REVIEW and restore_approval(app.book, app.code, task, app.policy(task)):
        task = app.store.task(app.key, task_id)
    if task.status is Status.VERIFIED:
        return False
    overriding.road_to_verified(task)
    return True


def what_waits(app: App, task_id: int) -> Shown:
    """What a person is to be shown before deciding."""
    history = app.store.history(app.key, task_id)
    return asking.shown(history, app.policy(history.task))


def follow_up(app: App) -> FollowUp:
    """Made once for each run of a task, however often it is asked for."""

    def make(history: History, grounds: Grounds) -> int:
        spec = after_override(history, grounds)
        known = [task.id for task in app.store.tasks(app.key) if task.spec.follows == spec.follows]
        return known[0] if known else app.add(spec).id

    return make


def _kept(app: App, task_id: int) -> Task:
    asking.keep_decision(_deps(app), task_id)
    return app.store.task(app.key, task_id)


def _deps(app: App) -> Deps:
    from burnish.wiring.running import deps_for

    return deps_for(app, RunRequest(), Nobody(), Stops(), "")

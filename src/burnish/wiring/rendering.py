"""What would be sent for a task, word for word, with a number that counts for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from burnish.core.commit import Base
from burnish.core.flow import Work
from burnish.core.history import History
from burnish.core.task import TaskType
from burnish.engine.hearing import parts_of
from burnish.engine.ports import Deps
from burnish.engine.reviewing import panel_for
from burnish.engine.site import Site, unmerged_tips
from burnish.engine.subject import Subject, subject_of
from burnish.engine.telling import work_prompt
from burnish.errors import BadInput
from burnish.review.context import build_review_prompt
from burnish.wiring.helpers import Stops
from burnish.wiring.prompts import known
from burnish.wiring.requests import RunRequest

if TYPE_CHECKING:
    from burnish.core.event import Recorded
    from burnish.core.task import Task
    from burnish.wiring.app import App

DUMMY = "0" * 16


@dataclass(frozen=True, slots=True)
class Sent:
    """One prompt, and who would get it."""

    to: str
    text: str


class Nobody:
    """Watches nothing."""

    def event(self, task: Task, event: Recorded) -> None: ...
    def output(self, task_id: int, line: str) -> None: ...
    def note(self, text: str) -> None: ...


def rendered(app: App, task_id: int, name: str | None) -> list[Sent]:
    """By default what comes next: the work where nothing is done yet, else the review."""
    from burnish.wiring.running import deps_for

    deps = deps_for(app, RunRequest(), Nobody(), Stops(), "")
    history = deps.book.history(task_id)
    site = _site(deps, history)
    begun = bool(history.work(history.cycle)) or history.task.spec.type is TaskType.REVIEW
    wanted = known(name) if name else "review.template" if begun else "implement.template"
    kinds: dict[str, Callable[[Deps, Site, History], Iterator[Sent]]] = {
        "implement.template": _implement,
        "fix.template": _fix,
        "review.template": _review,
        "review.system": _review,
    }
    # as it is sent: without secrets
    secrets = app.book.secrets
    return [replace(sent, text=secrets.redact(sent.text)) for sent in kinds[wanted](deps, site, history)]


def _site(deps: Deps, history: History) -> Site:
    task = history.task
    policy = deps.policy_for(task)
    return Site(task.id, policy, _base(deps, history, policy.base_ref), deps.code.workspace(task))


def _base(deps: Deps, history: History, ref: str | None) -> Base:
    task = history.task
    if task.base:
        return deps.code.base_of(task)
    base = deps.code.base(task.spec.base_ref or ref, unmerged_tips(deps, task))
    if base is None:
        raise BadInput(f"The branches that task {task.id} builds on do not merge cleanly.", hint="Merge them by hand.")
    return base


def _implement(deps: Deps, site: Site, history: History) -> Iterator[Sent]:
    yield Sent(site.policy.agent, work_prompt(deps, site, history, Work(1, "implement"), number=DUMMY))


def _fix(deps: Deps, site: Site, history: History) -> Iterator[Sent]:
    if history.task.branch is None:
        raise BadInput(f"Task {history.task.id} has nothing to fix yet.", hint=f"`burnish run {history.task.id}`")
    step = Work(history.cycle + 1, "improve")
    yield Sent(site.policy.improve_agent or site.policy.agent, work_prompt(deps, site, history, step, number=DUMMY))


def _review(deps: Deps, site: Site, history: History) -> Iterator[Sent]:
    if history.task.branch is None or site.workspace.head() is None:
        raise BadInput(f"Task {history.task.id} has no change yet.", hint=f"`burnish run {history.task.id}` starts it.")
    for step in ("", *(step.name for step in site.policy.pipeline)):
        subject = subject_of(deps, site, history, history.cycle, step)
        yield from _panel(replace(site, policy=panel_for(site.policy, step)), subject, step)


def _panel(site: Site, subject: Subject, step: str) -> Iterator[Sent]:
    for reviewer in site.policy.reviewers:
        parts = parts_of(subject, site.policy, reviewer)
        for number, part in enumerate(parts, 1):
            text = build_review_prompt(
                replace(part.context(site.policy, reviewer, DUMMY), part=(number, len(parts)))
            ).text
            who = f"{step}: {reviewer.agent}" if step else reviewer.agent
            yield Sent(who if len(parts) == 1 else f"{who}, part {number} of {len(parts)}", text)

"""What would be sent for a task, word for word, with a number that counts for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from burnish.adapters.agents import StopTokens
from burnish.core.commit import Base
from burnish.core.flow import WorkStep
from burnish.core.history import History
from burnish.core.task import TaskType
from burnish.engine.author_prompts import work_prompt
from burnish.engine.panel_review import parts_of
from burnish.engine.ports import Deps
from burnish.engine.review_input import ReviewInput, review_input
from burnish.engine.reviewing import panel_for
from burnish.engine.task_setup import TaskSetup, unmerged_tips
from burnish.errors import BadInput
from burnish.review.context import build_review_prompt
from burnish.runtime.ports import NullProgress
from burnish.runtime.prompts import require_name
from burnish.runtime.requests import RunRequest

if TYPE_CHECKING:
    from burnish.runtime.app import App

DUMMY = "0" * 16


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """One prompt, and who would get it."""

    to: str
    text: str


def render_prompts(app: App, task_id: int, name: str | None) -> list[RenderedPrompt]:
    """By default what comes next: the work where nothing is done yet, else the review."""
    from burnish.runtime.ports import deps_for

    deps = deps_for(app, RunRequest(), NullProgress(), StopTokens(), "")
    history = deps.event_log.history(task_id)
    site = _site(deps, history)
    has_work = bool(history.work(history.cycle)) or history.task.spec.type is TaskType.REVIEW
    prompt_name = require_name(name) if name else "review.template" if has_work else "implement.template"
    kinds: dict[str, Callable[[Deps, TaskSetup, History], Iterator[RenderedPrompt]]] = {
        "implement.template": _implement,
        "fix.template": _fix,
        "review.template": _review,
        "review.system": _review,
    }
    # as it is sent: without secrets
    secrets = app.event_log.secrets
    return [replace(prompt, text=secrets.redact(prompt.text)) for prompt in kinds[prompt_name](deps, site, history)]


def _site(deps: Deps, history: History) -> TaskSetup:
    task = history.task
    policy = deps.policy_for(task)
    return TaskSetup(task.id, policy, _base(deps, history, policy.base_ref), deps.repository.workspace(task))


def _base(deps: Deps, history: History, ref: str | None) -> Base:
    task = history.task
    if task.base:
        return deps.repository.base_of(task)
    base = deps.repository.base(task.spec.base_ref or ref, unmerged_tips(deps, task))
    if base is None:
        raise BadInput(f"The branches that task {task.id} builds on do not merge cleanly.", hint="Merge them by hand.")
    return base


def _implement(deps: Deps, site: TaskSetup, history: History) -> Iterator[RenderedPrompt]:
    yield RenderedPrompt(site.policy.agent, work_prompt(deps, site, history, WorkStep(1, "implement"), number=DUMMY))


def _fix(deps: Deps, site: TaskSetup, history: History) -> Iterator[RenderedPrompt]:
    if history.task.branch is None:
        raise BadInput(f"Task {history.task.id} has nothing to fix yet.", hint=f"`burnish run {history.task.id}`")
    step = WorkStep(history.cycle + 1, "improve")
    yield RenderedPrompt(
        site.policy.improve_agent or site.policy.agent, work_prompt(deps, site, history, step, number=DUMMY)
    )


def _review(deps: Deps, site: TaskSetup, history: History) -> Iterator[RenderedPrompt]:
    if history.task.branch is None or site.workspace.head() is None:
        raise BadInput(f"Task {history.task.id} has no change yet.", hint=f"`burnish run {history.task.id}` starts it.")
    for step in ("", *(step.name for step in site.policy.pipeline)):
        subject = review_input(deps, site, history, history.cycle, step)
        yield from _panel(replace(site, policy=panel_for(site.policy, step)), subject, step)


def _panel(site: TaskSetup, subject: ReviewInput, step: str) -> Iterator[RenderedPrompt]:
    for reviewer in site.policy.reviewers:
        parts = parts_of(subject, site.policy, reviewer)
        for number, part in enumerate(parts, 1):
            text = build_review_prompt(
                replace(part.context(site.policy, reviewer, DUMMY), part=(number, len(parts)))
            ).text
            who = f"{step}: {reviewer.agent}" if step else reviewer.agent
            yield RenderedPrompt(who if len(parts) == 1 else f"{who}, part {number} of {len(parts)}", text)

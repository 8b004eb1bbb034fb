"""The parts of a task's page and their data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from burnish.core.override import QUESTIONS
from burnish.core.status import Status
from burnish.core.task import Task, TaskType
from burnish.errors import BurnishError, NotFound
from burnish.features.decide.decisions import decision_view
from burnish.features.server.registry import ProjectRegistry
from burnish.features.server.task_output import list_artifacts, outputs
from burnish.features.tasks.changes import base_tree
from burnish.features.tasks.inspect import artifact
from burnish.runtime.app import App
from burnish.store.rows import ProjectRow
from burnish.views.task_page.checks import checks_view
from burnish.views.task_page.findings import findings_view
from burnish.views.task_page.page import TaskHead, head_of
from burnish.views.task_page.story import story
from burnish.web.pages.diff import diff_of
from burnish.web.pages.rendering import render
from burnish.web.pages.task_markdown import Read, read

PLAN = "plan.md"


@dataclass(frozen=True)
class PageContext:
    """The data that parts are rendered from."""

    registry: ProjectRegistry
    project: ProjectRow
    head: TaskHead
    # show only changes since the last review
    since_review: bool = False

    @property
    def task(self) -> Task:
        return self.head.task

    @cached_property
    def app(self) -> App:
        """Opened on first use: only some parts need git or the settings."""
        return self.registry.open(self.project.key)


def page_context(
    registry: ProjectRegistry, project: ProjectRow, task: int, *, since_review: bool = False
) -> PageContext:
    return PageContext(registry, project, head_of(registry.store, project.key, task, registry.holders()), since_review)


def part(name: str, context: PageContext) -> str:
    """One part as HTML. An error is shown in its place; the rest of the page stays usable."""
    view: dict[str, Any] = {"project": context.project, "head": context.head, "task": context.task, "trouble": None}
    try:
        view |= PARTS[name](context)
    except BurnishError as error:
        view["trouble"] = error
    return render(f"task/{name}.html.j2", **view)


def _nothing(context: PageContext) -> dict[str, Any]:
    return {}


def _gate(context: PageContext) -> dict[str, Any]:
    view: dict[str, Any] = {"standing": None, "questions": QUESTIONS}
    if context.task.status is Status.WAITING_APPROVAL:
        view["standing"] = decision_view(context.app, context.task.id)
        view["plan"] = _plan(context) if context.task.spec.type is TaskType.PLAN else None
    return view


def _plan(context: PageContext) -> Read | None:
    """The plan to approve."""
    try:
        return read(PLAN, artifact(context.app, context.task.id, PLAN).decode(errors="replace"))
    except NotFound:
        return None


def _story(context: PageContext) -> dict[str, Any]:
    return {"story": story(context.registry.store, context.project.key, context.task.id, running=context.head.running)}


def _findings(context: PageContext) -> dict[str, Any]:
    return {"findings": findings_view(context.registry.store, context.project.key, context.task.id)}


def _checks(context: PageContext) -> dict[str, Any]:
    try:
        tree = base_tree(context.app, context.task)
    except BurnishError:
        tree = ""  # the checks are on record; only what they are compared with is out of reach
    return {"checks": checks_view(context.registry.store, context.project.key, context.task.id, tree=tree)}


def _changes(context: PageContext) -> dict[str, Any]:
    if not context.task.branch or not context.task.base:
        return {"diff": None, "since_review": False}
    return diff_of(context.app, context.task, since_review=context.since_review)


def _log(context: PageContext) -> dict[str, Any]:
    found = outputs(context.registry.home, context.task)
    return {"outputs": [one for one in reversed(found) if not one.is_prompt]}


def _artifacts(context: PageContext) -> dict[str, Any]:
    prompts = [one for one in outputs(context.registry.home, context.task) if one.is_prompt]
    return {"artifacts": list_artifacts(context.registry.home, context.task), "prompts": prompts}


PARTS: dict[str, Callable[[PageContext], dict[str, Any]]] = {
    "head": _nothing,
    "gate": _gate,
    "story": _story,
    "findings": _findings,
    "checks": _checks,
    "changes": _changes,
    "log": _log,
    "artifacts": _artifacts,
}
# parts that come with the page; the others are fetched when their tab is opened
AT_ONCE = ("head", "gate", "story", "findings", "checks")

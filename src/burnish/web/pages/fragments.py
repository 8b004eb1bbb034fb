"""What each part of a task's page is made of."""

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
from burnish.features.server.task_output import outputs, papers
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
    """What a part may look at."""

    registry: ProjectRegistry
    project: ProjectRow
    head: TaskHead
    # only what came after the last review
    since_review: bool = False

    @property
    def task(self) -> Task:
        return self.head.task

    @cached_property
    def app(self) -> App:
        """Opened for the parts that need git or the settings, and once for all of them."""
        return self.registry.open(self.project.key)


def sight(registry: ProjectRegistry, project: ProjectRow, task: int, *, since_review: bool = False) -> PageContext:
    return PageContext(registry, project, head_of(registry.store, project.key, task, registry.holders()), since_review)


def part(name: str, seen: PageContext) -> str:
    """One part as HTML; what stands in its way is said in its place, and the rest of the page stays."""
    view: dict[str, Any] = {"project": seen.project, "head": seen.head, "task": seen.task, "trouble": None}
    try:
        view |= PARTS[name](seen)
    except BurnishError as error:
        view["trouble"] = error
    return render(f"task/{name}.html.j2", **view)


def _nothing(seen: PageContext) -> dict[str, Any]:
    return {}


def _gate(seen: PageContext) -> dict[str, Any]:
    view: dict[str, Any] = {"standing": None, "questions": QUESTIONS}
    if seen.task.status is Status.WAITING_APPROVAL:
        view["standing"] = decision_view(seen.app, seen.task.id)
        view["plan"] = _plan(seen) if seen.task.spec.type is TaskType.PLAN else None
    return view


def _plan(seen: PageContext) -> Read | None:
    """What the person is to approve."""
    try:
        return read(PLAN, artifact(seen.app, seen.task.id, PLAN).decode(errors="replace"))
    except NotFound:
        return None


def _story(seen: PageContext) -> dict[str, Any]:
    return {"story": story(seen.registry.store, seen.project.key, seen.task.id, running=seen.head.running)}


def _findings(seen: PageContext) -> dict[str, Any]:
    return {"findings": findings_view(seen.registry.store, seen.project.key, seen.task.id)}


def _checks(seen: PageContext) -> dict[str, Any]:
    try:
        tree = base_tree(seen.app, seen.task)
    except BurnishError:
        tree = ""  # the checks are on record; only what they are compared with is out of reach
    return {"checks": checks_view(seen.registry.store, seen.project.key, seen.task.id, tree=tree)}


def _changes(seen: PageContext) -> dict[str, Any]:
    if not seen.task.branch or not seen.task.base:
        return {"diff": None, "since_review": False}
    return diff_of(seen.app, seen.task, since_review=seen.since_review)


def _log(seen: PageContext) -> dict[str, Any]:
    found = outputs(seen.registry.home, seen.task)
    return {"outputs": [one for one in reversed(found) if not one.is_prompt]}


def _artifacts(seen: PageContext) -> dict[str, Any]:
    prompts = [one for one in outputs(seen.registry.home, seen.task) if one.is_prompt]
    return {"artifacts": papers(seen.registry.home, seen.task), "prompts": prompts}


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
# on the page from the beginning; the rest is fetched when somebody looks
AT_ONCE = ("head", "gate", "story", "findings", "checks")

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
from burnish.store.rows import ProjectRow
from burnish.views.task_page import TaskHead, head_of
from burnish.views.task_page_checks import checks_view
from burnish.views.task_page_findings import findings_view
from burnish.views.task_page_story import story
from burnish.web.pages.diff import diff_of
from burnish.web.pages.rendering import render
from burnish.web.pages.task_markdown import Read, read
from burnish.wiring.app import App
from burnish.wiring.changes import base_tree, standing
from burnish.wiring.house import House
from burnish.wiring.output import outputs, papers

PLAN = "plan.md"


@dataclass(frozen=True)
class Sight:
    """What a part may look at."""

    house: House
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
        return self.house.open(self.project.key)


def sight(house: House, project: ProjectRow, task: int, *, since_review: bool = False) -> Sight:
    return Sight(house, project, head_of(house.store, project.key, task, house.holders()), since_review)


def part(name: str, seen: Sight) -> str:
    """One part as HTML; what stands in its way is said in its place, and the rest of the page stays."""
    view: dict[str, Any] = {"project": seen.project, "head": seen.head, "task": seen.task, "trouble": None}
    try:
        view |= PARTS[name](seen)
    except BurnishError as error:
        view["trouble"] = error
    return render(f"task/{name}.html.j2", **view)


def _nothing(seen: Sight) -> dict[str, Any]:
    return {}


def _gate(seen: Sight) -> dict[str, Any]:
    view: dict[str, Any] = {"standing": None, "questions": QUESTIONS}
    if seen.task.status is Status.WAITING_APPROVAL:
        view["standing"] = standing(seen.app, seen.task.id)
        view["plan"] = _plan(seen) if seen.task.spec.type is TaskType.PLAN else None
    return view


def _plan(seen: Sight) -> Read | None:
    """What the person is to approve."""
    try:
        return read(PLAN, seen.app.artifact(seen.task.id, PLAN).decode(errors="replace"))
    except NotFound:
        return None


def _story(seen: Sight) -> dict[str, Any]:
    return {"story": story(seen.house.store, seen.project.key, seen.task.id, running=seen.head.running)}


def _findings(seen: Sight) -> dict[str, Any]:
    return {"findings": findings_view(seen.house.store, seen.project.key, seen.task.id)}


def _checks(seen: Sight) -> dict[str, Any]:
    try:
        tree = base_tree(seen.app, seen.task)
    except BurnishError:
        tree = ""  # the checks are on record; only what they are compared with is out of reach
    return {"checks": checks_view(seen.house.store, seen.project.key, seen.task.id, tree=tree)}


def _changes(seen: Sight) -> dict[str, Any]:
    if not seen.task.branch or not seen.task.base:
        return {"diff": None, "since_review": False}
    return diff_of(seen.app, seen.task, since_review=seen.since_review)


def _log(seen: Sight) -> dict[str, Any]:
    found = outputs(seen.house.home, seen.task)
    return {"outputs": [one for one in reversed(found) if not one.is_prompt]}


def _papers(seen: Sight) -> dict[str, Any]:
    prompts = [one for one in outputs(seen.house.home, seen.task) if one.is_prompt]
    return {"papers": papers(seen.house.home, seen.task), "prompts": prompts}


PARTS: dict[str, Callable[[Sight], dict[str, Any]]] = {
    "head": _nothing,
    "gate": _gate,
    "story": _story,
    "findings": _findings,
    "checks": _checks,
    "changes": _changes,
    "log": _log,
    "papers": _papers,
}
# on the page from the beginning; the rest is fetched when somebody looks
AT_ONCE = ("head", "gate", "story", "findings", "checks")

"""Tasks: list, add, show, change, remove."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from burnish.core.task import Item, Spec, TaskType
from burnish.errors import BadInput
from burnish.features.tasks.edit import edit_task, remove_task
from burnish.runtime.tasks import add_task, ticked
from burnish.views.filters import TaskFilter, narrow, pick, search, since_when
from burnish.views.status import can_go_on, task_json
from burnish.views.task import show_json
from burnish.web.api.schemas import Body, Limit, Line, Offset, StoryOut, TaskOut, TaskRef, TasksOut, Text, example
from burnish.web.deps import AppDep, ProjectDep, RegistryDep, TaskNumber
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["tasks"], responses=PROBLEMS)


Cycles = Annotated[int, Field(ge=1, le=1000)]


class NewTaskBody(Body):
    """A new task; only the title is required."""

    model_config = example(
        title="Refuse empty passwords",
        description="The login form takes an empty password.",
        criteria=["an empty password is refused with a message"],
        checklist=["a test for it"],
        depends_on=["12"],
        priority=1,
    )

    title: Line
    description: Text = ""
    type: TaskType = TaskType.IMPLEMENT
    scope: Text = ""
    criteria: tuple[Text, ...] = ()
    checklist: tuple[Line, ...] = ()
    plan: Text = ""
    depends_on: tuple[TaskRef, ...] = ()
    priority: int = 0
    agent: Line | None = None
    model: Line | None = None
    max_cycles: Cycles | None = None
    auto_review: bool | None = None
    base: Line | None = None
    """The revision that the task starts from."""
    skip_tests: bool = False
    tags: tuple[Line, ...] = ()
    of: TaskRef | None = None
    """The task that an improve or review task is about."""


class TaskChangeBody(Body):
    """Fields that are left out stay unchanged. Null for `agent` or `model` means the setting."""

    model_config = example(priority=5, tick=[1])

    title: Line = ""
    description: Text = ""
    scope: Text = ""
    criteria: tuple[Text, ...] = ()
    checklist: tuple[Line, ...] = ()
    plan: Text = ""
    depends_on: tuple[TaskRef, ...] = ()
    priority: int = 0
    agent: Line | None = None
    model: Line | None = None
    max_cycles: Cycles | None = None
    auto_review: bool | None = None
    base: Line | None = None
    skip_tests: bool = False
    tags: tuple[Line, ...] = ()
    archived: bool = False
    """True leaves a finished task out of lists and the board."""
    tick: tuple[int, ...] = ()
    untick: tuple[int, ...] = ()
    status: str | None = None
    """`backlog` puts the task back."""


@router.get("/tasks", response_model=TasksOut)
def tasks(
    registry: RegistryDep,
    project: ProjectDep,
    status: Annotated[list[str] | None, Query(description="Only tasks with this status; may be repeated.")] = None,
    agent: Annotated[str | None, Query(max_length=200)] = None,
    ready: Annotated[bool, Query(description="Only tasks that a run would start now.")] = False,
    blocked: Annotated[bool, Query(description="Only tasks that need a person.")] = False,
    tag: Annotated[list[str] | None, Query(description="Only tasks with this tag; repeated: all of them.")] = None,
    type: Annotated[list[str] | None, Query(description="Only tasks of this type; may be repeated.")] = None,
    reason: Annotated[list[str] | None, Query(description="Only tasks that stopped for it; may be repeated.")] = None,
    since: Annotated[str, Query(max_length=40, description="Only tasks changed since: `12h`, `7d` or a date.")] = "",
    text: Annotated[str, Query(max_length=500, description="Words of the title or any other text.")] = "",
    in_archive: Annotated[
        bool | None, Query(alias="archived", description="Only archived tasks, or only others; default: both.")
    ] = None,
    q: Annotated[str, Query(max_length=200, description="Words of the title, or a number.")] = "",
    limit: Limit = 1000,
    offset: Offset = 0,
) -> dict[str, Any]:
    """Like `burnish list --json`, in pages."""
    everything = registry.store.tasks(project.key, brief=not text)
    begin = since_when(since, datetime.now(UTC)) if since else None
    criteria = TaskFilter(tuple(tag or ()), tuple(type or ()), tuple(reason or ()), begin, text)
    found_tasks = [
        task
        for part in ((False, True) if in_archive is None else (in_archive,))
        for task in narrow(everything, replace(criteria, archived=part))
    ]
    matches = pick(
        sorted(found_tasks, key=lambda task: task.id),
        among=everything,
        statuses=status or [],
        ready=ready,
        only_blocked=blocked,
        agent=agent,
        can_go_on=lambda task: can_go_on(task, registry.alive),
    )
    found = search(matches, q)
    limit_of = registry.limit_finder().limit_of
    rows = [task_json(task, registry.alive, limit_of(task)) for task in found[offset : offset + limit]]
    return {"tasks": rows, "total": len(found)}


@router.post("/tasks", status_code=201, response_model=TaskOut)
def add(app: AppDep, new: NewTaskBody) -> dict[str, Any]:
    """Like `burnish add`."""
    fields = new.model_dump(exclude={"base"})
    spec = Spec(
        **{
            **fields,
            "checklist": tuple(Item(text) for text in new.checklist),
            "base_ref": new.base or None,
            "agent": new.agent or None,
            "model": new.model or None,
        }
    )
    return task_json(add_task(app, spec))


@router.get("/tasks/{task}", response_model=StoryOut)
def show(registry: RegistryDep, project: ProjectDep, task: TaskNumber) -> dict[str, Any]:
    """Like `burnish show --json`."""
    return show_json(registry.store, project.key, task, registry.alive, registry.limit_finder().limit_of)


@router.patch("/tasks/{task}", response_model=TaskOut)
def edit(app: AppDep, task: TaskNumber, change: TaskChangeBody) -> dict[str, Any]:
    """Like `burnish edit`."""
    if not change.model_fields_set:
        raise BadInput("No field to change.", hint="Send at least one field.")
    return task_json(edit_task(app, task, _changes(app, task, change), status=change.status))


@router.delete("/tasks/{task}", response_model=TaskOut)
def remove(app: AppDep, task: TaskNumber) -> dict[str, Any]:
    """Like `burnish rm`: the task's events and branch are kept."""
    return task_json(remove_task(app, task))


def _changes(app: AppDep, task: int, change: TaskChangeBody) -> dict[str, Any]:
    names = change.model_fields_set - {"status", "tick", "untick", "base", "checklist"}
    changes = {name: getattr(change, name) for name in names}
    changes |= {name: changes[name] or None for name in ("agent", "model") if name in changes}
    if "base" in change.model_fields_set:
        changes["base_ref"] = change.base or None
    if change.model_fields_set & {"checklist", "tick", "untick"}:
        new_items = tuple(Item(text) for text in change.checklist)
        items = new_items if "checklist" in change.model_fields_set else app.store.task(app.key, task).spec.checklist
        changes["checklist"] = ticked(items, change.tick, change.untick)
    return changes

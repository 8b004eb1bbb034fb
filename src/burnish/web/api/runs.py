"""Run, stop, retry, improve, rebase and review tasks. Long operations run in the background (202)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Body as FromBody
from pydantic import Field

from burnish.core.cost import MAX_BUDGET
from burnish.errors import BadInput, Refused
from burnish.features.decide import decisions as people
from burnish.features.merge.rebase import order_rebase
from burnish.features.server.registry import ProjectRegistry
from burnish.features.tasks.edit import TaskLimit, cancel_task, pause_task, retry_task, review_again
from burnish.runtime.app import App
from burnish.runtime.requests import RunRequest, next_time
from burnish.views.status import task_json
from burnish.web.api.schemas import AutoOut, Body, PlannedOut, StoppedOut, TaskOut, TaskRef, Text, example
from burnish.web.deps import AppDep, ProjectDep, RegistryDep, TaskNumber, Via
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["runs"], responses=PROBLEMS)

Dollars = Annotated[float, Field(ge=0, le=MAX_BUDGET, allow_inf_nan=False)]


class RunBody(Body):
    model_config = example(hitl=True, budget=2.5)

    hitl: bool = False
    """Ask a person after every review."""
    no_review: bool = False
    """Skip the review, where the settings allow it."""
    budget: Dollars | None = None
    """Maximum cost in dollars."""


class RunManyBody(RunBody):
    """Without `ids` and `all`: the next task that is ready."""

    model_config = example(all=True, jobs=4)

    ids: Annotated[tuple[TaskRef, ...], Field(max_length=1000)] = ()
    all: bool = False
    jobs: Annotated[int, Field(ge=1, le=64)] = 1
    dry_run: bool = False


class AutoBody(Body):
    model_config = example(on=True, jobs=2, until="07:00", budget=20)

    on: bool
    jobs: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of tasks in parallel."""
    until: Annotated[str, Field(max_length=5)] | None = None
    """Stop at this time of day (HH:MM, in the server's time zone)."""
    budget: Dollars | None = None
    """Maximum cost in dollars."""


class RetryBody(Body):
    model_config = example(restart=False, later=False)

    restart: bool = False
    """Start again from the base."""
    later: bool = False
    """Only put the task back; do not start it."""
    budget_usd: Annotated[float, Field(gt=0, le=MAX_BUDGET, allow_inf_nan=False)] | None = None
    """What the task may cost in all, instead of `budget.task_usd`."""
    budget_tokens: Annotated[int, Field(ge=1, le=2**53)] | None = None
    """How many tokens the task may use in all, instead of `budget.task_tokens`."""


class ImproveBody(Body):
    model_config = example(note="Keep the old signature.", review=True)

    note: Text = ""
    """What to change; sent to the agent."""
    review: bool = False
    """Review it afterwards."""


class EmptyBody(Body):
    """No fields."""

    model_config = example()


@router.post("/run", status_code=202, response_model=PlannedOut)
def run(
    registry: RegistryDep,
    app: AppDep,
    body: Annotated[RunManyBody, FromBody()] = RunManyBody(),  # noqa: B008
) -> dict[str, Any]:
    """Like `burnish run [IDS] [--all]`."""
    if body.ids and body.all:
        raise BadInput("`ids` and `all` cannot be combined.", hint="Use one of them.")
    request = RunRequest(
        ids=tuple(dict.fromkeys(body.ids)),
        everything=body.all,
        jobs=body.jobs,
        no_review=body.no_review,
        budget=body.budget,
        hitl="every" if body.hitl else None,
        dry_run=body.dry_run,
    )
    tasks = registry.begin(app, request)
    return {"planned": [str(task.id) for task in tasks]}


@router.get("/auto", response_model=AutoOut)
def auto(registry: RegistryDep, project: ProjectDep) -> dict[str, Any]:
    """Whether this server runs every task of the project as it becomes ready, and with which options."""
    return auto_json(registry, project.key)


@router.post("/auto", status_code=202, response_model=AutoOut)
def switch_auto(registry: RegistryDep, app: AppDep, body: AutoBody) -> dict[str, Any]:
    """Switch Auto on (like `burnish run --watch` in this server, also after a restart) or off.

    Off: no further task starts; running tasks continue to their end.
    """
    if body.on:
        until = next_time(body.until).timestamp() if body.until is not None else None
        registry.begin(app, RunRequest(watch=True, jobs=body.jobs, until=until, budget=body.budget))
    else:
        registry.runs.end_auto(app.key)
    return auto_json(registry, app.key)


def auto_json(registry: ProjectRegistry, key: str) -> dict[str, Any]:
    run = registry.runs.auto(key)
    if run is None:
        return {"on": False}
    until = datetime.fromtimestamp(run.request.until, UTC).isoformat() if run.request.until else None
    return {"on": True, "jobs": run.request.jobs, "until": until, "budget": run.request.budget}


@router.post("/stop", status_code=202, response_model=StoppedOut)
def stop_all(
    registry: RegistryDep,
    project: ProjectDep,
    body: Annotated[EmptyBody, FromBody()] = EmptyBody(),  # noqa: B008
) -> dict[str, Any]:
    """Stop all runs of this project in this server. Queued tasks keep their status."""
    return {"stopped": registry.runs.stop_all(project.key)}


@router.post("/tasks/{task}/run", status_code=202, response_model=TaskOut)
def run_one(
    registry: RegistryDep,
    app: AppDep,
    task: TaskNumber,
    body: Annotated[RunBody, FromBody()] = RunBody(),  # noqa: B008
) -> dict[str, Any]:
    """Like `burnish run TASK`; refused while this server runs the task or has it queued."""
    hitl = "every" if body.hitl else None
    registry.begin(app, RunRequest(ids=(task,), no_review=body.no_review, budget=body.budget, hitl=hitl))
    return _task(app, task)


@router.post("/tasks/{task}/stop", status_code=202, response_model=TaskOut)
def stop(registry: RegistryDep, app: AppDep, task: TaskNumber) -> dict[str, Any]:
    """Like Ctrl-C in `burnish run`: stops the agents; a later run resumes the task.

    A task that is only queued is removed from the queue and keeps its status.
    """
    if not registry.stop(app.key, task):
        raise Refused(
            f"Task {task} is not being run by this server.",
            hint="Stop it where it runs, or cancel it: burnish cancel.",
        )
    return _task(app, task)


@router.post("/tasks/{task}/queue", status_code=202, response_model=TaskOut)
def queue(registry: RegistryDep, app: AppDep, task: TaskNumber) -> dict[str, Any]:
    """Put a task back that was taken out of the queue: into the same run, or into its own if that run has ended."""
    app.trust.require()
    registry.requeue(app, task)
    return _task(app, task)


@router.post("/tasks/{task}/cancel", response_model=TaskOut)
def cancel(app: AppDep, task: TaskNumber) -> dict[str, Any]:
    """Like `burnish cancel`: stops the task's agents."""
    return task_json(cancel_task(app, task))


@router.post("/tasks/{task}/pause", response_model=TaskOut)
def pause(app: AppDep, task: TaskNumber) -> dict[str, Any]:
    """Like `burnish pause`: no run takes the task up; one that runs ends after its phase."""
    return task_json(pause_task(app, task, is_pause=True))


@router.post("/tasks/{task}/unpause", response_model=TaskOut)
def unpause(app: AppDep, task: TaskNumber) -> dict[str, Any]:
    """Like `burnish unpause`: runs may take the task up again. Starts nothing."""
    return task_json(pause_task(app, task, is_pause=False))


@router.post("/tasks/{task}/retry", status_code=202, response_model=TaskOut)
def retry(
    registry: RegistryDep,
    app: AppDep,
    task: TaskNumber,
    body: Annotated[RetryBody, FromBody()] = RetryBody(),  # noqa: B008
) -> dict[str, Any]:
    """Like `burnish retry`."""
    if not body.later:
        app.trust.require()
    limit = TaskLimit(body.budget_usd, body.budget_tokens) if body.budget_usd or body.budget_tokens else None
    retry_task(app, task, restart=body.restart, limit=limit)
    return _task(app, task) if body.later else _start(registry, app, task)


@router.post("/tasks/{task}/review", status_code=202, response_model=TaskOut)
def review(
    registry: RegistryDep,
    app: AppDep,
    task: TaskNumber,
    body: Annotated[EmptyBody, FromBody()] = EmptyBody(),  # noqa: B008
) -> dict[str, Any]:
    """Like `burnish review TASK`: review the current commit again."""
    review_again(app, task)
    return _start(registry, app, task)


@router.post("/tasks/{task}/improve", status_code=202, response_model=TaskOut)
def improve(
    registry: RegistryDep,
    app: AppDep,
    via: Via,
    task: TaskNumber,
    body: Annotated[ImproveBody, FromBody()] = ImproveBody(),  # noqa: B008
) -> dict[str, Any]:
    """Like `burnish improve`: one more cycle, even after the last one."""
    people.improve(app, task, body.note, review=body.review, via=via)
    return _start(registry, app, task)


@router.post("/tasks/{task}/rebase", status_code=202, response_model=TaskOut)
def rebase(
    registry: RegistryDep,
    app: AppDep,
    via: Via,
    task: TaskNumber,
    body: Annotated[EmptyBody, FromBody()] = EmptyBody(),  # noqa: B008
) -> dict[str, Any]:
    """Like `burnish rebase`: merge the target into the task's branch; the author resolves conflicts."""
    order = order_rebase(app, task, via=via)
    return _task(app, task) if order.merge is None else _start(registry, app, task)


def _start(registry: ProjectRegistry, app: App, task: int) -> dict[str, Any]:
    # a run of all tasks may already have it in its queue
    if not registry.runs.queue()(app.store.task(app.key, task)):
        registry.begin(app, RunRequest(ids=(task,)))
    return _task(app, task)


def _task(app: App, task: int) -> dict[str, Any]:
    return task_json(app.store.task(app.key, task))

"""Work: run, stop, retry, improve, review again. What takes time goes on in the background (202)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Body as FromBody
from pydantic import Field

from burnish.errors import BadInput, Refused
from burnish.features.decide import decisions as people
from burnish.features.server.registry import ProjectRegistry
from burnish.features.tasks.edit import cancel_task, retry_task, review_again
from burnish.runtime.app import App
from burnish.runtime.requests import RunRequest
from burnish.views.task import task_json
from burnish.web.api.answers import PlannedOut, StoppedOut, TaskOut
from burnish.web.api.shapes import Body, TaskRef, Text, example
from burnish.web.deps import AppDep, ProjectDep, RegistryDep, TaskNumber, Via
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["runs"], responses=PROBLEMS)

Dollars = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]


class RunBody(Body):
    model_config = example(hitl=True, budget=2.5)

    hitl: bool = False
    """Ask a person after every review."""
    no_review: bool = False
    """Skip the review, where the settings allow it."""
    budget: Dollars | None = None
    """Spend no more than so many dollars."""


class RunManyBody(RunBody):
    """Without `ids` and `all`: the next task that is ready."""

    model_config = example(all=True, jobs=4)

    ids: Annotated[tuple[TaskRef, ...], Field(max_length=1000)] = ()
    all: bool = False
    jobs: Annotated[int, Field(ge=1, le=64)] = 1
    dry_run: bool = False


class RetryBody(Body):
    model_config = example(restart=False, later=False)

    restart: bool = False
    """Begin anew from the base."""
    later: bool = False
    """Only make it ready."""


class ImproveBody(Body):
    model_config = example(note="Keep the old signature.", review=True)

    note: Text = ""
    """What to do, in your words."""
    review: bool = False
    """Review it afterwards."""


class EmptyBody(Body):
    """No fields."""

    model_config = example()


@router.post("/run", status_code=202, response_model=PlannedOut)
def run(
    registry: RegistryDep,
    app: AppDep,
    wanted: Annotated[RunManyBody, FromBody()] = RunManyBody(),  # noqa: B008
) -> dict[str, Any]:
    """As `burnish run [IDS] [--all]`."""
    if wanted.ids and wanted.all:
        raise BadInput("Tasks are named and `all` is given.", hint="Use one of the two.")
    request = RunRequest(
        ids=tuple(dict.fromkeys(wanted.ids)),
        everything=wanted.all,
        jobs=wanted.jobs,
        no_review=wanted.no_review,
        budget=wanted.budget,
        hitl="every" if wanted.hitl else None,
        dry_run=wanted.dry_run,
    )
    planned = registry.begin(app, request)
    return {"planned": [str(task.id) for task in planned]}


@router.post("/stop", status_code=202, response_model=StoppedOut)
def stop_all(
    registry: RegistryDep,
    project: ProjectDep,
    wanted: Annotated[EmptyBody, FromBody()] = EmptyBody(),  # noqa: B008
) -> dict[str, Any]:
    """Stop every run of this project in this server: agents are ended, what is queued stays where it is."""
    return {"stopped": registry.runs.stop_all(project.key)}


@router.post("/tasks/{task}/run", status_code=202, response_model=TaskOut)
def run_one(
    registry: RegistryDep,
    app: AppDep,
    task: TaskNumber,
    wanted: Annotated[RunBody, FromBody()] = RunBody(),  # noqa: B008
) -> dict[str, Any]:
    """As `burnish run TASK`; refused while this server has it queued or at work."""
    hitl = "every" if wanted.hitl else None
    registry.begin(app, RunRequest(ids=(task,), no_review=wanted.no_review, budget=wanted.budget, hitl=hitl))
    return _now(app, task)


@router.post("/tasks/{task}/stop", status_code=202, response_model=TaskOut)
def stop(registry: RegistryDep, app: AppDep, task: TaskNumber) -> dict[str, Any]:
    """As Ctrl-C in `burnish run`: its agents are ended, nothing is lost, and a run goes on with it.

    What this server has only queued is taken out of its queue and stays where it is.
    """
    if not registry.stop(app.key, task):
        raise Refused(
            f"Task {task} is not being run by this server.",
            hint="Stop it where it runs, or give it up: burnish cancel.",
        )
    return _now(app, task)


@router.post("/tasks/{task}/cancel", response_model=TaskOut)
def cancel(app: AppDep, task: TaskNumber) -> dict[str, Any]:
    """As `burnish cancel`: what works on it is ended."""
    return task_json(cancel_task(app, task))


@router.post("/tasks/{task}/retry", status_code=202, response_model=TaskOut)
def retry(
    registry: RegistryDep,
    app: AppDep,
    task: TaskNumber,
    wanted: Annotated[RetryBody, FromBody()] = RetryBody(),  # noqa: B008
) -> dict[str, Any]:
    """As `burnish retry`."""
    if not wanted.later:
        app.trust.require()
    retry_task(app, task, restart=wanted.restart)
    return _now(app, task) if wanted.later else _go_on(registry, app, task)


@router.post("/tasks/{task}/review", status_code=202, response_model=TaskOut)
def review(
    registry: RegistryDep,
    app: AppDep,
    task: TaskNumber,
    wanted: Annotated[EmptyBody, FromBody()] = EmptyBody(),  # noqa: B008
) -> dict[str, Any]:
    """As `burnish review TASK`: have it reviewed once more, as it is."""
    review_again(app, task)
    return _go_on(registry, app, task)


@router.post("/tasks/{task}/improve", status_code=202, response_model=TaskOut)
def improve(
    registry: RegistryDep,
    app: AppDep,
    via: Via,
    task: TaskNumber,
    wanted: Annotated[ImproveBody, FromBody()] = ImproveBody(),  # noqa: B008
) -> dict[str, Any]:
    """As `burnish improve`: one improve as a step of its own, also past the last cycle."""
    people.improve(app, task, wanted.note, review=wanted.review, via=via)
    return _go_on(registry, app, task)


def _go_on(registry: ProjectRegistry, app: App, task: int) -> dict[str, Any]:
    # a run that takes everything may be about to take it up
    if not registry.runs.queue()(app.store.task(app.key, task)):
        registry.begin(app, RunRequest(ids=(task,)))
    return _now(app, task)


def _now(app: App, task: int) -> dict[str, Any]:
    return task_json(app.store.task(app.key, task))

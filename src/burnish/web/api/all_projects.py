"""All projects together, and the server."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi import Body as FromBody
from pydantic import Field

from burnish import __version__
from burnish.errors import NotFound
from burnish.features.projects.projects import add_project, forget, list_projects
from burnish.features.server.background_runs import BackgroundRun
from burnish.features.server.registry import ProjectRegistry
from burnish.views.cost import windows_json
from burnish.views.filters import pick, search
from burnish.views.status import limit_json, task_json
from burnish.web.api.project import InboxOut, inbox_of
from burnish.web.api.schemas import ApiModel, Body, Limit, LimitOut, Offset, TasksOut, Text, example
from burnish.web.deps import ProjectDep, RegistryDep
from burnish.web.pages.markdown import markdown
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1", tags=["server"], responses=PROBLEMS)


class ProjectOut(ApiModel):
    key: str
    """Identifies the project in paths."""
    name: str
    root: str
    there: bool
    """False if the checkout was moved or removed."""
    tasks: int
    running: int
    last_activity: str


class ProjectsOut(ApiModel):
    projects: list[ProjectOut]


class AddProjectBody(Body):
    model_config = example(path="/home/you/src/app")

    path: Annotated[Text, Field(min_length=1, max_length=4096)]
    """A folder in a git repository on the machine of the server; absolute, or with ~ for the home directory."""


class AddedProjectOut(ProjectOut):
    is_new: bool
    trusted: bool
    """False: its own settings are not used, and tasks are not run, until a person trusts it."""
    trust_command: str


class NoticeOut(ApiModel):
    at: str
    project: str
    text: str


class RunOut(ApiModel):
    id: str
    project: str
    ids: list[str]
    """Ids of the request."""
    all: bool
    """True: all tasks that are or become ready. Without `ids` and with `all` false: the next ready task."""
    auto: bool
    """True: also tasks that are added, unblocked or answered later."""
    since: str
    spent_usd: float
    """Known cost of the project's tasks since the run began, which counts for `budget.session_usd`."""
    spent_tokens: int


class WindowOut(ApiModel):
    login: str
    name: str
    share: float
    """Of 1."""
    until: str


class LimitsOut(ApiModel):
    """Logins whose plan is used up; their tasks wait until then."""

    limits: list[LimitOut]
    windows: list[WindowOut]
    """How much of the windows of a plan is used, as far as programs reported it."""


class ServerOut(ApiModel):
    version: str
    running: dict[str, int]
    """Number of active runs of this server, by project."""
    runs: list[RunOut]
    """The active runs, oldest first."""
    notices: list[NoticeOut]
    """Messages of runs, oldest first."""


@router.get("/projects", response_model=ProjectsOut)
def projects() -> dict[str, Any]:
    """Like `burnish projects --json`, the most recently used first."""
    return {"projects": [one.as_json() for one in list_projects()]}


@router.post("/projects", response_model=AddedProjectOut)
def add(body: AddProjectBody) -> dict[str, Any]:
    """Like `burnish projects add`: register a repository. It is not trusted by that, and no program of it is run."""
    result = add_project(body.path)
    trust = {"trusted": result.is_trusted, "trust_command": result.command}
    return {**result.project.as_json(), "is_new": result.is_new, **trust}


@router.delete("/projects/{project}", response_model=ProjectOut)
def forget_project(project: ProjectDep) -> dict[str, Any]:
    """Like `burnish projects forget`: events and branches are kept."""
    return forget(project.key).as_json()


@router.get("/tasks", response_model=TasksOut)
def tasks(
    registry: RegistryDep,
    status: Annotated[list[str] | None, Query(description="Only tasks with this status; may be repeated.")] = None,
    q: Annotated[str, Query(max_length=200, description="Words of the title, or a number.")] = "",
    limit: Limit = 1000,
    offset: Offset = 0,
) -> dict[str, Any]:
    """The tasks of every project."""
    keys = {row.key for row in registry.projects()}
    all_tasks = [task for task in registry.store.tasks(brief=True) if task.project in keys]
    found = search(pick(all_tasks, statuses=status or [], ready=False, only_blocked=False, agent=None), q)
    limit_of = registry.limit_finder().limit_of
    rows = [task_json(task, registry.alive, limit_of(task)) for task in found[offset : offset + limit]]
    return {"tasks": rows, "total": len(found)}


class MarkdownBody(Body):
    model_config = example(text="Use **two** places.")

    text: Text


class MarkdownOut(ApiModel):
    html: str


@router.post("/markdown", response_model=MarkdownOut)
def render_markdown(body: Annotated[MarkdownBody, FromBody()]) -> dict[str, Any]:
    """Markdown as the board shows it: without raw HTML and images, links to http(s) only."""
    return {"html": str(markdown(body.text))}


@router.get("/inbox", response_model=InboxOut)
def inbox(registry: RegistryDep) -> dict[str, Any]:
    """Like `burnish inbox --all --json`."""
    return inbox_of(registry, registry.projects())


@router.get("/limits", response_model=LimitsOut)
def limits(registry: RegistryDep) -> dict[str, Any]:
    """Like `burnish limits --json`."""
    return _limits(registry)


@router.delete("/limits/{login}", response_model=LimitsOut)
def clear_limit(registry: RegistryDep, login: Annotated[str, Path(max_length=200)]) -> dict[str, Any]:
    """Like `burnish limits --clear LOGIN`: use it again at once; waiting tasks continue."""
    if not registry.store.limits.clear_usage_limits(login):
        raise NotFound(f"There is no usage limit of {login!r}.", hint="GET /api/v1/limits lists them.")
    return _limits(registry)


def _limits(registry: ProjectRegistry) -> dict[str, Any]:
    return {
        "limits": [limit_json(one) for one in registry.limits()],
        "windows": windows_json(registry.windows()),
    }


@router.get("/server", response_model=ServerOut)
def server(registry: RegistryDep) -> dict[str, Any]:
    """Version and active runs of this server."""
    running = {row.key: registry.runs.running(row.key) for row in registry.projects()}
    notices = [{"at": one.at, "project": one.project, "text": one.text} for one in registry.notices()]
    return {"version": __version__, "running": running, "runs": _runs(registry), "notices": notices}


def _spent(run: BackgroundRun) -> dict[str, float | int]:
    usd, tokens = run.app.store.spent(run.app.key)
    usd_before, tokens_before = run.request.spent_before or (usd, tokens)
    return {"spent_usd": max(0.0, usd - (usd_before or 0.0)), "spent_tokens": max(0, tokens - tokens_before)}


def _runs(registry: ProjectRegistry) -> list[dict[str, Any]]:
    return [
        {
            "id": run.id,
            "project": run.app.key,
            "ids": [str(number) for number in run.request.ids],
            "all": run.request.everything or run.request.watch,
            "auto": run.request.watch and not run.stops.is_closed,
            "since": run.since,
            **_spent(run),
        }
        for run in registry.runs.active()
    ]

"""One project as a whole: what happened, who is needed, settings, tidying up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi import Body as FromBody
from pydantic import Field

from burnish.errors import Refused
from burnish.features.clean import clean as cleaning
from burnish.features.doctor.doctor import can_run, examine
from burnish.features.hooks.news import hook_news
from burnish.features.rebuild.rebuild import rebuild as bring_back
from burnish.features.server.registry import ProjectRegistry
from burnish.features.settings import provenance as explain
from burnish.store.rows import ProjectRow
from burnish.views.task import event_json
from burnish.web.api.answers import ApiModel, EventsOut
from burnish.web.api.shapes import Body, Limit, TaskRef, example
from burnish.web.deps import AppDep, ProjectDep, RegistryDep, Via
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["project"], responses=PROBLEMS)


class UnseenFileOut(ApiModel):
    """A file whose content no reviewer could be shown; approving accepts it as well."""

    path: str
    description: str


class EntryOut(ApiModel):
    """One thing that waits for a person, and the command that answers it."""

    id: str
    project: str
    title: str
    status: str
    kind: str
    reason: str | None
    why: str
    since: str
    command: str
    unseen_files: list[UnseenFileOut]


class CommitOut(ApiModel):
    """A commit whose review in the background found something; or a review by a hook that could not be done."""

    project: str
    commit: str
    why: str
    since: str
    command: str
    agent: str = ""


class InboxOut(ApiModel):
    inbox: list[EntryOut]
    commits: list[CommitOut]


class SettingOut(ApiModel):
    key: str
    value: Any
    origin: str


class SourceOut(ApiModel):
    name: str
    path: str
    used: bool


class ConfigOut(ApiModel):
    settings: list[SettingOut]
    sources: list[SourceOut]


class SignOut(ApiModel):
    group: str
    name: str
    state: str
    what: str
    remedy: str


class DoctorOut(ApiModel):
    can_run: bool
    signs: list[SignOut]


class CleanBody(Body):
    """Without `ids`: completed and cancelled tasks, and what removed ones left."""

    model_config = example(dry_run=True)

    ids: Annotated[tuple[TaskRef, ...], Field(max_length=1000)] = ()
    dry_run: bool = False


class WeightOut(ApiModel):
    id: str | None
    name: str
    status: str
    bytes: dict[str, int]


class CleanOut(ApiModel):
    tasks: list[WeightOut]
    chosen: list[str]
    removed: list[dict[str, Any]]
    left: list[dict[str, Any]]
    environments: list[dict[str, Any]]
    """What set-up installed for the checks: name, bytes, used_at, in_use."""
    removed_environments: list[str]


class RebuildBody(Body):
    model_config = example(from_ref=False)

    from_ref: bool = False
    """Only from refs/burnish/artifacts/, not from the copies in the home."""


class RebuildOut(ApiModel):
    restored: list[dict[str, Any]]
    present: list[str]
    damaged: list[dict[str, Any]]


@router.get("/events", response_model=EventsOut)
def events(
    registry: RegistryDep,
    project: ProjectDep,
    since: Annotated[int, Query(ge=0, le=2**62, description="Only what came after this event.")] = 0,
    task: Annotated[int | None, Query(ge=1, le=2**31, description="Only of this task.")] = None,
    limit: Limit = 1000,
) -> dict[str, Any]:
    """As `burnish events --json`, in pages: ask again with the last id as `since`."""
    last = registry.store.last_event(project.key)
    found = registry.store.events(project.key, task=task, since=since, limit=limit)
    return {"events": [event_json(event) for event in found], "last": last}


@router.get("/inbox", response_model=InboxOut)
def inbox(registry: RegistryDep, project: ProjectDep) -> dict[str, Any]:
    """As `burnish inbox --json`."""
    return inbox_of(registry, [project])


def inbox_of(registry: ProjectRegistry, rows: Sequence[ProjectRow]) -> dict[str, Any]:
    news = [one.as_json() for row in rows for one in hook_news(registry.home, row.key, row.common_dir)]
    return {"inbox": [entry.as_json() for entry in registry.inbox(rows)], "commits": news}


@router.get("/config", response_model=ConfigOut)
def config(app: AppDep) -> dict[str, Any]:
    """As `burnish config`: each setting and where it came from."""
    hide = app.event_log.secrets.redact
    values = [one.as_json(hide) for one in explain.values(app.repo.root, None)]
    sources = [{"name": one.name, "path": one.path, "used": one.used} for one in explain.sources(app.repo.root)]
    return {"settings": values, "sources": sources}


@router.get("/doctor", response_model=DoctorOut)
def doctor(
    registry: RegistryDep,
    project: ProjectDep,
    via: Via,
    probe: Annotated[bool, Query(description="Ask each agent.")] = False,
) -> dict[str, Any]:
    """As `burnish doctor`: what is missing or weak. `probe` costs money, so only programs with the token may."""
    signs = examine(project.root, encoding="utf-8")
    if probe:
        if via != "api":
            raise Refused("A page may look, and a probe calls agents.", hint="Type it: burnish doctor --probe")
        from burnish.features.doctor.probe import probe_signs

        signs += probe_signs(project.root)
    return {"can_run": can_run(signs), "signs": [asdict(sign) for sign in signs]}


@router.get("/clean", response_model=CleanOut)
def weights(app: AppDep) -> dict[str, Any]:
    """As `burnish clean`: what the workspaces weigh."""
    return cleaning.told(cleaning.weigh(app), [], [], cleaning.environments(app))


@router.post("/clean", response_model=CleanOut)
def clean(app: AppDep, said: Annotated[CleanBody, FromBody()] = CleanBody()) -> dict[str, Any]:  # noqa: B008
    """As `burnish clean TASK…` or `--all-completed`: unsaved work is kept first."""
    found = cleaning.weigh(app)
    going = cleaning.chosen(app, found, said.ids, all_completed=not said.ids)
    return cleaning.told(found, going, [] if said.dry_run else cleaning.clean(app, going))


@router.post("/rebuild", response_model=RebuildOut)
def rebuild(app: AppDep, said: Annotated[RebuildBody, FromBody()] = RebuildBody()) -> dict[str, Any]:  # noqa: B008
    """As `burnish rebuild`: tasks that the database lost, from their artifacts and commits."""
    return bring_back(app, from_ref=said.from_ref).as_json()

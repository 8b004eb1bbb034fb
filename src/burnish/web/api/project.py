"""One project: events, inbox, settings, diagnostics, clean-up."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from fastapi import Body as FromBody
from pydantic import Field

from burnish.adapters.redaction import secrets_from_environment
from burnish.errors import Refused
from burnish.features.clean import clean as cleaning
from burnish.features.doctor.doctor import can_run, examine
from burnish.features.hooks.news import hook_news
from burnish.features.rebuild.rebuild import rebuild as restore
from burnish.features.server.registry import ProjectRegistry
from burnish.features.settings import provenance
from burnish.features.settings.change import ChangedSetting, is_page_key, own_values, set_value, unset_value
from burnish.store.rows import ProjectRow
from burnish.views.task import event_json, recorded_events
from burnish.web.api.schemas import ApiModel, Body, EventsOut, Limit, TaskRef, example
from burnish.web.deps import AppDep, ProjectDep, RegistryDep, SettingsVia, Via
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["project"], responses=PROBLEMS)


class UnseenFileOut(ApiModel):
    """A file whose content no reviewer saw; an approval accepts it too."""

    path: str
    description: str


class EntryOut(ApiModel):
    """An item that needs a person, and the command that resolves it."""

    id: str
    project: str
    title: str
    status: str
    kind: str
    reason: str | None
    why: str
    since: str
    command: str
    conflicts: list[str]
    """Paths in which an approved task conflicts with its target."""
    unseen_files: list[UnseenFileOut]


class CommitOut(ApiModel):
    """A commit whose background review has findings, or a review by a hook that failed."""

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
    editable: bool
    """Whether a page may change it in the user's own file."""
    own: str | None
    """What the user's file has for all projects, as YAML on one line; null: nothing."""
    own_here: str | None
    """What the user's file has for this project."""


SettingKey = Annotated[str, Path(max_length=200, description="The setting, e.g. review.max_cycles.")]
SettingScope = Literal["user", "project"]


class SettingBody(Body):
    model_config = example(text="5", scope="project")

    text: Annotated[str, Field(max_length=10_000)]
    """The value, as it is written in a YAML file."""
    scope: SettingScope = "user"
    """`user`: for all projects. `project`: for this one, under `projects` in the user's file."""


class ChangedSettingOut(ApiModel):
    key: str
    file: str
    before: str | None
    """The value in the file before, to restore it; null: it was not there."""
    value: Any
    """The value in force now."""
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
    """Default: completed and cancelled tasks, and files of removed tasks."""

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
    put_aside: list[dict[str, Any]]
    """Folders that were moved out of the place of a workspace: id, name, path, bytes, removable."""
    chosen: list[str]
    removed: list[dict[str, Any]]
    moved: list[dict[str, Any]]
    """Workspaces that were put aside instead of removed: name, path."""
    left: list[dict[str, Any]]
    environments: list[dict[str, Any]]
    """Environments that the set-up of checks created: name, bytes, used_at, in_use."""
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
    since: Annotated[int, Query(ge=0, le=2**62, description="Only events after this id.")] = 0,
    task: Annotated[int | None, Query(ge=1, le=2**31, description="Only events of this task.")] = None,
    limit: Limit = 1000,
) -> dict[str, Any]:
    """Like `burnish events --json`, in pages: pass the last id as `since` to get the next page."""
    last = registry.store.last_event(project.key)
    found = recorded_events(registry.store, project.key, task, since=since, limit=limit)
    return {"events": [event_json(event) for event in found], "last": last}


@router.get("/inbox", response_model=InboxOut)
def inbox(registry: RegistryDep, project: ProjectDep) -> dict[str, Any]:
    """Like `burnish inbox --json`."""
    return inbox_of(registry, [project])


def inbox_of(registry: ProjectRegistry, rows: Sequence[ProjectRow]) -> dict[str, Any]:
    news = [one.as_json() for row in rows for one in hook_news(registry.home, row.key, row.common_dir)]
    return {"inbox": [entry.as_json() for entry in registry.inbox(rows)], "commits": news}


@router.get("/config", response_model=ConfigOut)
def config(app: AppDep) -> dict[str, Any]:
    """Like `burnish config`: each setting and its source."""
    hide = app.event_log.secrets.redact
    own = own_values(app.repo.root)
    values = [
        {
            **one.as_json(hide),
            "editable": is_page_key(one.key),
            "own": _as_yaml(one.key, own.get(one.key, (None, None))[0], hide),
            "own_here": _as_yaml(one.key, own.get(one.key, (None, None))[1], hide),
        }
        for one in provenance.values(app.repo.root, None)
    ]
    sources = [{"name": one.name, "path": one.path, "used": one.used} for one in provenance.sources(app.repo.root)]
    return {"settings": values, "sources": sources}


@router.put("/config/{key}", response_model=ChangedSettingOut)
def set_setting(project: ProjectDep, via: SettingsVia, key: SettingKey, body: SettingBody) -> dict[str, Any]:
    """Like `burnish config set`: change one value in the user's own file. burnish.yaml is never written.

    A page, and a person with a token, may change only values that name no program, file or address; others need the
    token of the owner.
    """
    return _changed(set_value(project.root, key, body.text, for_project=body.scope == "project", via=via))


@router.delete("/config/{key}", response_model=ChangedSettingOut)
def unset_setting(
    project: ProjectDep, via: SettingsVia, key: SettingKey, scope: SettingScope = "user"
) -> dict[str, Any]:
    """Like `burnish config unset`: remove one value from the user's own file."""
    return _changed(unset_value(project.root, key, for_project=scope == "project", via=via))


def _changed(result: ChangedSetting) -> dict[str, Any]:
    hide = secrets_from_environment().redact
    before = _as_yaml(result.key, result.before, hide) if result.was_set else None
    value = provenance.plain(provenance.without_password(result.key, result.value), hide)
    return {"key": result.key, "file": str(result.file), "before": before, "value": value, "origin": result.origin}


def _as_yaml(key: str, value: Any, hide: Callable[[str], str]) -> str | None:
    value = provenance.without_password(key, value)
    if value is None or isinstance(value, str):
        return value if value is None else hide(value)
    return json.dumps(provenance.plain(value, hide), ensure_ascii=False)


@router.get("/doctor", response_model=DoctorOut)
def doctor(
    registry: RegistryDep,
    project: ProjectDep,
    via: Via,
    probe: Annotated[bool, Query(description="Call each agent.")] = False,
) -> dict[str, Any]:
    """Like `burnish doctor`. `probe` calls agents, which costs money, so it needs the token."""
    signs = examine(project.root, encoding="utf-8")
    if probe:
        if via != "api":
            raise Refused(
                "A probe calls agents, so a page cannot start it.", hint="Run in a terminal: burnish doctor --probe"
            )
        from burnish.features.doctor.agents import probe_signs

        signs += probe_signs(project.root)
    return {"can_run": can_run(signs), "signs": [asdict(sign) for sign in signs]}


@router.get("/clean", response_model=CleanOut)
def weights(app: AppDep, all_completed: bool = False) -> dict[str, Any]:
    """Like `burnish clean`: disk usage of the workspaces. `all_completed` also names what POST would remove."""
    found = cleaning.weigh(app)
    selection = cleaning.chosen(app, found, (), all_completed=all_completed)
    return cleaning.clean_json(found, selection, [], cleaning.environments(app))


@router.post("/clean", response_model=CleanOut)
def clean(app: AppDep, body: Annotated[CleanBody, FromBody()] = CleanBody()) -> dict[str, Any]:  # noqa: B008
    """Like `burnish clean TASK…` or `--all-completed`: unsaved work is saved first."""
    found = cleaning.weigh(app)
    selection = cleaning.chosen(app, found, body.ids, all_completed=not body.ids)
    return cleaning.clean_json(found, selection, [] if body.dry_run else cleaning.clean(app, selection))


@router.post("/rebuild", response_model=RebuildOut)
def rebuild(app: AppDep, body: Annotated[RebuildBody, FromBody()] = RebuildBody()) -> dict[str, Any]:  # noqa: B008
    """Like `burnish rebuild`: restore tasks that the database lost from artifacts and commits."""
    return restore(app, from_ref=body.from_ref).as_json()

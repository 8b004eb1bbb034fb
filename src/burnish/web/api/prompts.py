"""Prompts of agents: the defaults, and the user's own texts that replace them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi import Body as FromBody

from burnish.features.prompts import edit as prompt_edit
from burnish.features.prompts.approval_cost import cost_of_change, cost_of_reset
from burnish.features.prompts.edit import PromptOverride, PromptScope, SavedPrompt
from burnish.runtime.app import App
from burnish.runtime.prompts import NAMES, require_name
from burnish.web.api.schemas import ApiModel, Body, Line, TaskRef, Text, example
from burnish.web.deps import AppDep, ProjectKey, RegistryDep
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}/prompts", tags=["prompts"], responses=PROBLEMS)

Name = Annotated[str, Path(description=f"One of {', '.join(NAMES)}.", max_length=100, examples=list(NAMES))]
Scope = Annotated[PromptScope, Query(description="Of this project, or the user's own for all projects.")]


class PromptBody(Body):
    """Fields that are left out stay unchanged."""

    model_config = example(text="Look for races first.", where="project", enabled=True)

    text: Text | None = None
    """The prompt; {{ variables }} are filled in."""
    where: PromptScope = PromptScope.PROJECT
    enabled: bool | None = None
    """False: the default is used; this text is kept."""
    seen: Line | None = None
    """`seen` of the text that was read; refused with 409 if it has changed since."""


class ScopeBody(Body):
    model_config = example(where="project")

    where: PromptScope = PromptScope.PROJECT


class TrialBody(Body):
    model_config = example(task="1", text="Look for races first.")

    task: TaskRef
    text: Text | None = None
    """Default: the text that is used now."""


class PlaceOut(ApiModel):
    path: str
    text: str | None
    """Null: the user has no own text here."""
    seen: str


class PromptOut(ApiModel):
    name: str
    origin: str
    """Which text is used: `shipped`, `user` or `project`."""
    path: str | None
    switched_off: bool
    switched_at: str | None
    text: str
    default: str
    problem: str | None
    variables: dict[str, str]
    places: dict[str, PlaceOut]


class ElsewhereOut(ApiModel):
    project: str
    """The path of its checkout."""
    voids: list[str]
    restores: list[str]


class ApprovalCostOut(ApiModel):
    """Effect of the change on approvals. With `where: global`, other projects of the user are included."""

    voids: list[str]
    """Tasks of this project whose approval is void after the change."""
    restores: list[str]
    """Tasks of this project whose approval counts again."""
    elsewhere: list[ElsewhereOut]
    not_counted: list[str]
    """Paths of projects that could not be opened."""


class SavedOut(PromptOut, ApprovalCostOut):
    """The prompt after the change, and its effect on approvals."""


class PromptListOut(ApiModel):
    prompts: list[PromptOut]


class GoneOut(ApiModel):
    name: str
    path: str


class ResetOut(ApprovalCostOut):
    removed: list[GoneOut]


class RenderedPromptOut(ApiModel):
    to: str
    text: str


class TrialOut(ApiModel):
    id: str
    prompts: list[RenderedPromptOut]


@router.get("", response_model=PromptListOut)
def prompts(app: AppDep) -> dict[str, Any]:
    """Like `burnish prompts --json`, with the texts."""
    return {"prompts": [_json(one) for one in prompt_edit.all_kept(app)]}


@router.get("/{name}", response_model=PromptOut)
def prompt(app: AppDep, name: Name, where: Annotated[PromptScope | None, Query()] = None) -> dict[str, Any]:
    """Return the text that is used; with `where`, the text of that scope, or the default."""
    found = prompt_edit.kept(app, require_name(name))
    reply = _json(found)
    if where is not None:
        own = found.own(where).text
        reply["text"] = found.default if own is None else own
    return reply


@router.put("/{name}", response_model=SavedOut)
def save(registry: RegistryDep, project: ProjectKey, app: AppDep, name: Name, body: PromptBody) -> dict[str, Any]:
    """Save a prompt, switch it on or off, or both. It applies to every review that starts later."""
    cost = cost_of_change(app, require_name(name), body.where, text=body.text, on=body.enabled)
    if body.text is not None:
        prompt_edit.save(app, name, body.text, body.where, expected_hash=body.seen)
    if body.enabled is not None:
        prompt_edit.switch(app, name, body.enabled, body.where)
    return {**_json(prompt_edit.kept(registry.open(project), require_name(name))), **cost.as_json()}


@router.delete("/{name}", response_model=ResetOut)
def reset(app: AppDep, name: Name, where: Scope = PromptScope.PROJECT) -> dict[str, Any]:
    """Delete the user's own text, like `burnish prompts reset`."""
    return _reset(app, [require_name(name)], where)


@router.post("/reset", response_model=ResetOut)
def reset_all(app: AppDep, body: Annotated[ScopeBody, FromBody()] = ScopeBody()) -> dict[str, Any]:  # noqa: B008
    """Delete all of the user's own texts of a scope."""
    return _reset(app, NAMES, body.where)


@router.post("/{name}/preview", response_model=TrialOut)
def preview(app: AppDep, name: Name, body: TrialBody) -> dict[str, Any]:
    """Return the exact prompts for a task. The nonce in them is not valid."""
    found = prompt_edit.try_on(app, require_name(name), body.text, body.task)
    return {"id": str(body.task), "prompts": [{"to": one.to, "text": one.text} for one in found]}


def _reset(app: App, names: Sequence[str], where: PromptScope) -> dict[str, Any]:
    cost = cost_of_reset(app, names, where)
    files = prompt_edit.reset(app, names, where)
    return {"removed": [{"name": one, "path": str(file)} for one, file in files], **cost.as_json()}


def _json(one: SavedPrompt) -> dict[str, Any]:
    path = {"project": one.project.path, "user": one.everywhere.path}.get(one.origin)
    return {
        "name": one.name,
        "origin": one.origin,
        "path": str(path) if path else None,
        "switched_off": not one.enabled,
        "switched_at": one.switched_at or None,
        "text": one.text,
        "default": one.default,
        "problem": one.problem or None,
        "variables": one.variables,
        "places": {"project": _own(one.project), "global": _own(one.everywhere)},
    }


def _own(own: PromptOverride) -> dict[str, Any]:
    return {"path": str(own.path), "text": own.text, "seen": own.seen}

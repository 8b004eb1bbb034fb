"""Prompts: what agents are told, the user's own in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi import Body as FromBody

from burnish.features.prompts import edit as prompt_desk
from burnish.features.prompts.approval_cost import cost_of_change, cost_of_reset
from burnish.features.prompts.edit import PromptOverride, PromptScope, SavedPrompt
from burnish.runtime.app import App
from burnish.runtime.prompts import NAMES, known
from burnish.web.api.answers import ApiModel
from burnish.web.api.shapes import Body, Line, TaskRef, Text, example
from burnish.web.deps import AppDep, ProjectKey, RegistryDep
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1/projects/{project}/prompts", tags=["prompts"], responses=PROBLEMS)

Name = Annotated[str, Path(description=f"One of {', '.join(NAMES)}.", max_length=100, examples=list(NAMES))]
Scope = Annotated[PromptScope, Query(description="Of this project, or the user's own for all projects.")]


class PromptBody(Body):
    """What is left out stays as it is."""

    model_config = example(text="Look for races first.", where="project", enabled=True)

    text: Text | None = None
    """The prompt; {{ variables }} are filled in."""
    where: PromptScope = PromptScope.PROJECT
    enabled: bool | None = None
    """False: the shipped text is used, and this one is kept."""
    seen: Line | None = None
    """`seen` of the text that was read; refused with 409 if it has changed since."""


class ScopeBody(Body):
    model_config = example(where="project")

    where: PromptScope = PromptScope.PROJECT


class TrialBody(Body):
    model_config = example(task="1", text="Look for races first.")

    task: TaskRef
    text: Text | None = None
    """Left out: the text that is in force."""


class PlaceOut(ApiModel):
    path: str
    text: str | None
    """None: there is no text of the user's own here."""
    seen: str


class PromptOut(ApiModel):
    name: str
    origin: str
    """Whose text is in force: `shipped`, `user` or `project`."""
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
    """What the change did to approvals. With `where: global`, other projects of the user are counted as well."""

    voids: list[str]
    """Tasks of this project whose approval is void after the change."""
    restores: list[str]
    """Tasks of this project whose approval counts again."""
    elsewhere: list[ElsewhereOut]
    not_counted: list[str]
    """Paths of projects that could not be opened."""


class SavedOut(PromptOut, ApprovalCostOut):
    """The prompt after the change, and what the change cost."""


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
    """As `burnish prompts --json`, with the texts."""
    return {"prompts": [_json(one) for one in prompt_desk.all_kept(app)]}


@router.get("/{name}", response_model=PromptOut)
def prompt(app: AppDep, name: Name, where: Annotated[PromptScope | None, Query()] = None) -> dict[str, Any]:
    """The text in force; with `where`, the one of that place, or the default where there is none."""
    found = prompt_desk.kept(app, known(name))
    told = _json(found)
    if where is not None:
        own = found.own(where).text
        told["text"] = found.default if own is None else own
    return told


@router.put("/{name}", response_model=SavedOut)
def save(registry: RegistryDep, project: ProjectKey, app: AppDep, name: Name, said: PromptBody) -> dict[str, Any]:
    """Write it, switch it, or both. It counts for every review that starts later."""
    cost = cost_of_change(app, known(name), said.where, text=said.text, on=said.enabled)
    if said.text is not None:
        prompt_desk.save(app, name, said.text, said.where, seen=said.seen)
    if said.enabled is not None:
        prompt_desk.switch(app, name, said.enabled, said.where)
    return {**_json(prompt_desk.kept(registry.open(project), known(name))), **cost.as_json()}


@router.delete("/{name}", response_model=ResetOut)
def reset(app: AppDep, name: Name, where: Scope = PromptScope.PROJECT) -> dict[str, Any]:
    """Take the user's own text away, as `burnish prompts reset` does."""
    return _reset(app, [known(name)], where)


@router.post("/reset", response_model=ResetOut)
def reset_all(app: AppDep, said: Annotated[ScopeBody, FromBody()] = ScopeBody()) -> dict[str, Any]:  # noqa: B008
    """Take away every text of the user's own in that place."""
    return _reset(app, NAMES, said.where)


@router.post("/{name}/preview", response_model=TrialOut)
def preview(app: AppDep, name: Name, said: TrialBody) -> dict[str, Any]:
    """What would be sent for a task, word for word, with a number that counts for nothing."""
    found = prompt_desk.try_on(app, known(name), said.text, said.task)
    return {"id": str(said.task), "prompts": [{"to": one.to, "text": one.text} for one in found]}


def _reset(app: App, names: Sequence[str], where: PromptScope) -> dict[str, Any]:
    cost = cost_of_reset(app, names, where)
    removed = prompt_desk.reset(app, names, where)
    return {"removed": [{"name": one, "path": str(file)} for one, file in removed], **cost.as_json()}


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

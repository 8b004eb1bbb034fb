"""Prompts: what agents are told, the user's own in its place."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from burnish.web.parts import AppDep, HouseDep, ProjectKey
from burnish.wiring import prompt_desk
from burnish.wiring.prompt_desk import Kept, Own, Where
from burnish.wiring.prompts import NAMES, known

router = APIRouter(prefix="/api/v1/projects/{project}/prompts", tags=["prompts"])

Scope = Annotated[Where, Query(description="Of this project, or the user's own for all projects.")]


class NewText(BaseModel):
    """What is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    text: str | None = Field(default=None, description="The prompt; {{ variables }} are filled in.")
    where: Where = Where.PROJECT
    enabled: bool | None = Field(default=None, description="False: the shipped text is used, this one is kept.")
    seen: str | None = Field(default=None, description="`seen` of the text that was read; refused if it changed since.")


class Scoped(BaseModel):
    model_config = ConfigDict(extra="forbid")

    where: Where = Where.PROJECT


class Trial(BaseModel):
    model_config = ConfigDict(extra="forbid")

    task: Annotated[int, Field(ge=1, le=2**31)]
    text: str | None = Field(default=None, description="Left out: the text that is in force.")


@router.get("")
def prompts(app: AppDep) -> dict[str, Any]:
    """As `burnish prompts --json`, with the texts."""
    return {"prompts": [_json(one) for one in prompt_desk.all_kept(app)]}


@router.get("/{name}")
def prompt(app: AppDep, name: str, where: Annotated[Where | None, Query()] = None) -> dict[str, Any]:
    """The text in force; with `where`, the one of that place, or the default where there is none."""
    found = prompt_desk.kept(app, known(name))
    told = _json(found)
    if where is not None:
        own = found.own(where).text
        told["text"] = found.default if own is None else own
    return told


@router.put("/{name}")
def save(house: HouseDep, project: ProjectKey, app: AppDep, name: str, body: NewText) -> dict[str, Any]:
    """Write it, switch it, or both. It counts for every review that starts later."""
    if body.text is not None:
        prompt_desk.save(app, name, body.text, body.where, seen=body.seen)
    if body.enabled is not None:
        prompt_desk.switch(app, name, body.enabled, body.where)
    return _json(prompt_desk.kept(house.open(project), known(name)))


@router.delete("/{name}")
def reset(house: HouseDep, project: ProjectKey, app: AppDep, name: str, where: Scope = Where.PROJECT) -> dict[str, Any]:
    """Take the user's own text away, as `burnish prompts reset` does."""
    removed = prompt_desk.reset(app, [known(name)], where)
    told = [{"name": one, "path": str(file)} for one, file in removed]
    return {"removed": told, "prompt": _json(prompt_desk.kept(house.open(project), name))}


@router.post("/reset")
def reset_all(app: AppDep, body: Scoped) -> dict[str, Any]:
    """Take away every text of the user's own in that place."""
    removed = prompt_desk.reset(app, NAMES, body.where)
    return {"removed": [{"name": one, "path": str(file)} for one, file in removed]}


@router.post("/{name}/preview")
def preview(app: AppDep, name: str, body: Trial) -> dict[str, Any]:
    """What would be sent for a task, word for word, with a number that counts for nothing."""
    found = prompt_desk.try_on(app, known(name), body.text, body.task)
    return {"id": str(body.task), "prompts": [{"to": one.to, "text": one.text} for one in found]}


def _json(one: Kept) -> dict[str, Any]:
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


def _own(own: Own) -> dict[str, Any]:
    return {"path": str(own.path), "text": own.text, "seen": own.seen}

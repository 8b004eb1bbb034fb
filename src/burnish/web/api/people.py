"""People of the server, the audit trail, and who sends the request."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import Field

from burnish.core.people import Role
from burnish.features.people import people as features
from burnish.features.people.people import Administrator
from burnish.web.api.schemas import ApiModel, Body, Text, example
from burnish.web.deps import PersonDep, RegistryDep, Via
from burnish.web.problems import PROBLEMS

router = APIRouter(prefix="/api/v1", tags=["people"], responses=PROBLEMS)

RoleName = Literal["viewer", "reviewer", "maintainer"]
Name = Annotated[str, Path(description="The name of the person.", max_length=64)]


class MeOut(ApiModel):
    name: str
    """"" for the owner of the server."""
    role: RoleName


class PreferencesBody(Body):
    model_config = example(folded="done", notify="on")

    filters: Annotated[Text, Field(max_length=20_000)] | None = None
    """Saved filters: a JSON object from names to the queries of their pages."""
    folded: Annotated[Text, Field(max_length=1000)] | None = None
    """The folded columns of the board, separated by spaces."""
    notify: Literal["on", "off"] | None = None
    diff: Annotated[Text, Field(max_length=1000)] | None = None
    """How changes are shown, as JSON."""


class PreferencesOut(ApiModel):
    preferences: dict[str, str]


class PersonOut(ApiModel):
    name: str
    role: RoleName
    created_at: str
    created_by: str
    seen_at: str
    """The last login in a browser; "" if there was none."""


class PeopleOut(ApiModel):
    people: list[PersonOut]


class NewPersonBody(Body):
    model_config = example(name="ada", role="reviewer")

    name: Annotated[Text, Field(min_length=1, max_length=64)]
    role: RoleName = "viewer"


class NewPersonOut(ApiModel):
    name: str
    role: RoleName
    token: str
    """Not stored: this is the only time that it is sent."""


class RoleBody(Body):
    model_config = example(role="maintainer")

    role: RoleName


class NameOut(ApiModel):
    name: str


class LinkOut(ApiModel):
    name: str
    path: str
    """Path of the page with the one-time link."""


class AuditEntryOut(ApiModel):
    ts: str
    person: str
    role: str
    via: str
    address: str
    project: str
    task: int | None
    action: str
    status: int
    more: int
    """Further refused requests before this one, which were only counted."""


class AuditOut(ApiModel):
    entries: list[AuditEntryOut]


def _administrator(request: Request, person: PersonDep, via: Via) -> Administrator:
    return Administrator.of_request(person, via, str(request.state.address))


AdministratorDep = Annotated[Administrator, Depends(_administrator)]


@router.get("/me", response_model=MeOut)
def me(person: PersonDep) -> dict[str, Any]:
    """Who sends the request."""
    return {"name": person.name, "role": person.role.value}


@router.patch("/me/preferences", response_model=PreferencesOut)
def change_preferences(registry: RegistryDep, person: PersonDep, body: PreferencesBody) -> dict[str, Any]:
    """Change what the pages remember for you; what is not named stays."""
    values = body.model_dump(exclude_none=True)
    return {"preferences": features.set_preferences(registry.home, person.name, values)}


@router.get("/people", response_model=PeopleOut)
def people(registry: RegistryDep) -> dict[str, Any]:
    """The people of the server."""
    keys = ("name", "role", "created_at", "created_by", "seen_at")
    return {"people": [{key: str(getattr(one, key)) for key in keys} for one in features.people(registry.store)]}


@router.post("/people", response_model=NewPersonOut)
def add(registry: RegistryDep, by: AdministratorDep, body: NewPersonBody) -> dict[str, Any]:
    """Add a person, with a token."""
    token = features.add(registry.store, body.name, Role(body.role), by)
    return {"name": body.name, "role": body.role, "token": token}


@router.patch("/people/{name}", response_model=NameOut)
def change_role(registry: RegistryDep, by: AdministratorDep, name: Name, body: RoleBody) -> dict[str, Any]:
    """Change the role of a person. It counts from the next request on."""
    features.set_role(registry.store, name, Role(body.role), by)
    return {"name": name}


@router.delete("/people/{name}", response_model=NameOut)
def revoke(registry: RegistryDep, by: AdministratorDep, name: Name) -> dict[str, Any]:
    """Revoke a person: the token, links, sessions and sockets end."""
    features.revoke(registry.store, name, by)
    registry.changed()
    return {"name": name}


@router.post("/people/{name}/link", response_model=LinkOut)
def link(registry: RegistryDep, by: AdministratorDep, name: Name) -> dict[str, Any]:
    """A one-time link that logs the person in; valid for a day."""
    return {"name": name, "path": f"/login?link={features.new_link(registry.store, name, by)}"}


@router.get("/audit", response_model=AuditOut)
def audit(
    registry: RegistryDep,
    person: Annotated[str, Query(max_length=100, description="Only of this person.")] = "",
    project: Annotated[str, Query(max_length=200, description="Only of this project.")] = "",
    limit: Annotated[int, Query(ge=1, le=10_000)] = 200,
) -> dict[str, Any]:
    """What was done on the server and what was refused, the newest first."""
    keys = AuditEntryOut.model_fields
    found = registry.store.people.entries(person=person, project=project, most=limit)
    return {"entries": [{key: getattr(one, key) for key in keys} for one in found]}

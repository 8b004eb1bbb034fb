"""The page of the people of the server, and of what they did."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from burnish.core.people import Role
from burnish.features.people.people import people
from burnish.web.deps import RegistryDep
from burnish.web.pages.rendering import page

router = APIRouter(include_in_schema=False)

MAX_ENTRIES = 500
Filter = Annotated[str, Query(max_length=200)]


@router.get("/audit")
def show(request: Request, registry: RegistryDep, person: Filter = "", of: Filter = "") -> Response:
    """`person` and `of`: only entries of this person and of this project."""
    records = registry.store.people
    return page(
        request,
        "audit.html.j2",
        title="People and audit",
        here="audit",
        people=people(registry.store),
        roles=list(Role),
        entries=records.entries(person=person, project=of, most=MAX_ENTRIES),
        names=records.names_in_audit(),
        chosen_person=person,
        chosen_project=of,
        most=MAX_ENTRIES,
    )

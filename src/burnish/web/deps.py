"""Dependencies of routes: the registry, the project, and how the request was authorised."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from burnish.core.people import OWNER, Person
from burnish.features.server.registry import ProjectRegistry
from burnish.runtime.app import App
from burnish.store.rows import ProjectRow


async def _registry(request: Request) -> ProjectRegistry:
    # `async`, here and below: FastAPI calls other functions in a thread each
    registry: ProjectRegistry = request.app.state.registry
    return registry


RegistryDep = Annotated[ProjectRegistry, Depends(_registry)]
ProjectKey = Annotated[str, Path(description="The project's key, as `GET /api/v1/projects` lists it.", max_length=200)]
# SQLite cannot store larger numbers
TaskNumber = Annotated[int, Path(description="The task's number.", ge=1, le=2**31)]


def _project(registry: RegistryDep, project: ProjectKey) -> ProjectRow:
    return registry.project(project)


def _opened(registry: RegistryDep, project: ProjectKey) -> App:
    return registry.open(project)


async def _via(request: Request) -> str:
    """`web` or `api`; recorded with each decision."""
    return "web" if request.state.via == "proxy" else str(request.state.via)


async def _settings_via(request: Request) -> str:
    """As a page, except with the token of the owner: other people must not name programs, files or addresses."""
    return await _via(request) if request.state.person is OWNER else "web"


async def _person(request: Request) -> Person:
    person: Person = request.state.person
    return person


# for reading: the row; for changes: the project with its current settings
ProjectDep = Annotated[ProjectRow, Depends(_project)]
AppDep = Annotated[App, Depends(_opened)]
Via = Annotated[str, Depends(_via)]
SettingsVia = Annotated[str, Depends(_settings_via)]
PersonDep = Annotated[Person, Depends(_person)]

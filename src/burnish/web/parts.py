"""What a route is given: the house, the project, and who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from burnish.store.rows import ProjectRow
from burnish.wiring.app import App
from burnish.wiring.house import House


def _house(request: Request) -> House:
    house: House = request.app.state.house
    return house


HouseDep = Annotated[House, Depends(_house)]
ProjectKey = Annotated[str, Path(description="The project's key, as `GET /api/v1/projects` lists it.", max_length=200)]
# ids are small numbers: what SQLite cannot hold is no task
TaskNumber = Annotated[int, Path(description="The task's number.", ge=1, le=2**31)]


def _project(house: HouseDep, project: ProjectKey) -> ProjectRow:
    return house.project(project)


def _opened(house: HouseDep, project: ProjectKey) -> App:
    return house.open(project)


def _via(request: Request) -> str:
    """`web` or `api`: kept with each decision."""
    return str(request.state.via)


# for reading: the row alone; for acting: the project with its settings as they are now
ProjectDep = Annotated[ProjectRow, Depends(_project)]
AppDep = Annotated[App, Depends(_opened)]
Via = Annotated[str, Depends(_via)]

"""Tasks: list, show."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from burnish.views.task import show_json, task_json
from burnish.web.parts import HouseDep, ProjectDep, TaskNumber

router = APIRouter(prefix="/api/v1/projects/{project}", tags=["tasks"])


@router.get("/tasks")
def tasks(house: HouseDep, project: ProjectDep) -> dict[str, Any]:
    """As `burnish status --json`."""
    return {"tasks": [task_json(task) for task in house.store.tasks(project.key, brief=True)]}


@router.get("/tasks/{task}")
def task(house: HouseDep, project: ProjectDep, task: TaskNumber) -> dict[str, Any]:
    """As `burnish show --json`."""
    return show_json(house.store, project.key, task)

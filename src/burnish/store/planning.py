"""Validates dependencies and fields of a task before it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from burnish.core.task import Spec, circle
from burnish.errors import BadInput, NotFound
from burnish.store.database import Database


def next_id(db: Database, project: str) -> int:
    row = db.one("project_next_task", {"project": project})
    if row is None:
        raise NotFound(f"There is no project {project}.", hint="`burnish projects` lists them.")
    return int(row["next_task"])


def check_dependencies_exist(db: Database, project: str, needs: tuple[int, ...]) -> None:
    """Raise BadInput if a dependency does not exist. A new task cannot be part of a cycle."""
    existing = {row["id"] for row in db.all("task_ids", {"project": project, "ids": list(needs)})}
    unknown = [str(other) for other in needs if other not in existing]
    if unknown:
        raise BadInput(
            f"There is no task {', '.join(unknown)} to depend on.",
            hint="Use the number of a task: see the board or `burnish list`.",
        )


def check_circle(db: Database, project: str, id: int, needs: tuple[int, ...]) -> None:
    """Raise BadInput if the dependencies form a cycle."""
    graph: dict[int, tuple[int, ...]] = {}
    for row in db.all("task_needs", {"project": project}):
        graph[row["task"]] = (*graph.get(row["task"], ()), row["needs"])
    graph[id] = needs
    if ring := circle(graph, id):
        raise BadInput(
            f"These tasks would wait for each other: {' → '.join(str(other) for other in ring)}.",
            hint="Leave one of these dependencies out.",
        )


def check_fields(changes: Mapping[str, Any]) -> None:
    names = {field.name for field in fields(Spec)}
    if unknown := sorted(changes.keys() - names):
        raise ValueError(f"a task has no {', '.join(unknown)}")
    if "title" in changes and not str(changes["title"]).strip():
        raise BadInput("A task needs a title.", hint="Describe the task in a few words.")


def unmet(db: Database, project: str) -> dict[int, tuple[int, ...]]:
    """The unmet dependencies of each backlog task."""
    found: dict[int, tuple[int, ...]] = {}
    for row in db.all("needs_unmet", {"project": project}):
        found[row["task"]] = (*found.get(row["task"], ()), row["needs"])
    return found

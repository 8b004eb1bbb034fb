"""The repositories that burnish knows, and how to forget one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from burnish.adapters.task_locks import is_runner_dead
from burnish.core.flow import RUNNING
from burnish.core.task import Task
from burnish.errors import BadInput, NotFound, Refused
from burnish.runtime.reader import home_of, refuse_inside_phase
from burnish.store import Store
from burnish.store.rows import ProjectRow


@dataclass(frozen=True, slots=True)
class KnownProject:
    """A project with what is going on in it."""

    key: str
    name: str
    root: Path
    # the checkout may have been moved or removed
    there: bool
    tasks: int
    running: int
    # of its newest task, else when it became known
    last: str

    def as_json(self) -> dict[str, Any]:
        keys = ("key", "name", "tasks", "running")
        more = {"root": str(self.root), "there": self.there, "last_activity": self.last}
        return {**{key: getattr(self, key) for key in keys}, **more}


Named = TypeVar("Named", KnownProject, ProjectRow)


def list_projects() -> list[KnownProject]:
    """Every project, the most recently used first."""
    with _store() as store:
        if store is None:
            return []
        everything: dict[str, list[tuple[str, bool]]] = {}
        locks = home_of() / "locks"
        for task in store.tasks(brief=True):
            everything.setdefault(task.project, []).append((task.updated_at, _is_held(store, task, locks)))
        found = [_known(project, everything.get(project.key, [])) for project in store.projects()]
    return sorted(found, key=lambda one: one.last, reverse=True)


def forget(name: str) -> KnownProject:
    """Leave a project out of every list; its events and its work stay."""
    refuse_inside_phase()
    one = find_named(name, list_projects())
    with _store() as store:
        assert store is not None
        locks = home_of() / "locks"
        alive = [task for task in store.tasks(one.key, brief=True, statuses=RUNNING) if _is_held(store, task, locks)]
        if alive:
            raise Refused(
                f"Task {', '.join(str(task.id) for task in alive)} of {one.name} is running.",
                hint="Wait for it, or stop it with `burnish cancel` there.",
            )
        store.forget(one.key)
    return one


def _is_held(store: Store, task: Task, locks: Path) -> bool:
    """Under way, by a runner that lives: others wait for one."""
    return task.status in RUNNING and task.runner is not None and not is_runner_dead(store, locks, task.runner)


def find_named(name: str, projects: Sequence[Named]) -> Named:
    """By key, name or folder."""
    place = Path(name).expanduser().absolute()
    exact = [one for one in projects if one.key == name]
    found = exact or [one for one in projects if name == one.name or place == one.root]
    if len(found) == 1:
        return found[0]
    if found:
        keys = ", ".join(one.key for one in found)
        raise BadInput(f"{len(found)} projects are called {name}.", hint=f"Name one of {keys}.")
    raise NotFound(f"There is no project {name}.", hint="`burnish projects` lists them.")


def _known(project: ProjectRow, tasks: list[tuple[str, bool]]) -> KnownProject:
    last = max([project.created_at, *(moment for moment, _ in tasks)])
    running = sum(busy for _, busy in tasks)
    return KnownProject(project.key, project.name, project.root, project.root.is_dir(), len(tasks), running, last)


@contextmanager
def _store() -> Iterator[Store | None]:
    home = home_of()
    if not (home / "burnish.db").exists():
        yield None
        return
    with Store.open(home, create=False) as store:
        yield store

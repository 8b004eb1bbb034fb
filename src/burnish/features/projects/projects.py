"""The repositories that burnish knows, and how to forget one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from burnish.adapters.stores import has_store, open_store
from burnish.adapters.task_locks import is_runner_dead
from burnish.core.flow import RUNNING
from burnish.core.task import Task
from burnish.errors import BadInput, NotFound, Refused
from burnish.git.discovery import FoundRepository, discover
from burnish.git.objects import read_objects
from burnish.git.project import Project, open_project
from burnish.git.repository_id import read_id, write_new_id
from burnish.proc.folders import expanded
from burnish.runtime.project_identity import ensure_id, is_still_there, link, locate
from burnish.runtime.reader import home_of, open_home_to_write, refuse_inside_phase
from burnish.runtime.trust import examine
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


MAX_PATH_LENGTH = 4096

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


@dataclass(frozen=True, slots=True)
class AddedProject:
    project: KnownProject
    is_new: bool
    is_trusted: bool
    # how to trust it, for a person at a terminal
    command: str


def add_project(folder: str, *, start: Path | None = None) -> AddedProject:
    """Register the repository of a folder on this machine. It is not trusted by that, and no program of it is run."""
    refuse_inside_phase()
    path = expanded(folder.strip())
    if not folder.strip() or "\0" in folder or len(folder) > MAX_PATH_LENGTH:
        raise BadInput("The folder is not a path.", hint="Give the path of a repository on this machine.")
    if start is not None:
        path = start / path
    if not path.is_absolute():
        raise BadInput(f"{folder} is not an absolute path.", hint="Write it from the root, or with ~ for your home.")
    try:
        is_folder = path.is_dir()
    except OSError as error:
        raise BadInput(f"Cannot read {folder}: {error.strerror}.", hint="Give the path of a repository.") from None
    if not is_folder:
        raise BadInput(f"{folder} is not a folder on this machine.", hint="Give the path of a git repository.")
    found, home = discover(path), home_of()
    if found.root.resolve().is_relative_to(home.resolve()):
        raise BadInput(f"{found.root} is burnish's own.", hint="Give the path of your repository.")
    with open_home_to_write(home) as store:
        is_new = store.project_for(found.common_dir, found.root, create=False) is None
        location = locate(store, found, home, create=True, is_trusted=examine(found, home).is_trusted)
        assert location.project
        row = ensure_id(store, location.project, open_project(found, home=home, key=location.project.key))
        tasks = [(task.updated_at, False) for task in store.tasks(row.key, brief=True)]
    trust = examine(found, home)
    return AddedProject(_known(row, tasks), is_new, trust.is_trusted, trust.command())


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
    place = expanded(name).absolute()
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
    if not has_store(home):
        yield None
        return
    with open_store(home, create=False) as store:
        yield store


# -- relink ---------------------------------------------------------------------------------------
# `burnish projects relink`: a person says which project this repository is, where burnish cannot tell by itself.


@dataclass(frozen=True, slots=True)
class RelinkReport:
    key: str
    name: str
    root: Path
    # where it was before; None: it is a project of its own
    old_root: Path | None

    def as_json(self) -> dict[str, Any]:
        old = str(self.old_root) if self.old_root else None
        return {"key": self.key, "name": self.name, "root": str(self.root), "old_root": old}


def relink(start: Path, name: str | None) -> RelinkReport:
    """Let a known project be in this repository from now on. Refused while it may be a copy."""
    refuse_inside_phase()
    found, home = discover(start), home_of()
    with open_home_to_write(home) as store:
        here = store.project_for(found.common_dir, found.root, create=False)
        row = _chosen(store, found, here, name)
        _refuse_copy(row, found)
        _refuse_running(store, home, row)
        if here is not None and store.tasks(here.key, brief=True):
            raise Refused(
                f"{found.root} has tasks of its own, as the project {here.key}.",
                hint=f"To drop them from the lists: burnish projects forget {here.key}. Then relink.",
            )
        repo = open_project(found, home=home, key=row.key)
        _refuse_other_history(store, row, repo)
        new_row = ensure_id(store, link(store, row, found, home), repo)
    return RelinkReport(new_row.key, new_row.name, new_row.root, row.root)


def make_own(start: Path) -> RelinkReport:
    """Let this repository be a project of its own, with an id of its own."""
    refuse_inside_phase()
    found, home = discover(start), home_of()
    with open_home_to_write(home) as store:
        row = store.project_for(found.common_dir, found.root, create=True)
        assert row
        repo = open_project(found, home=home, key=row.key)
        store.set_repository_id(row.key, write_new_id(repo, read_id(found.common_dir)))
    return RelinkReport(row.key, row.name, row.root, None)


def _chosen(store: Store, found: FoundRepository, here: ProjectRow | None, name: str | None) -> ProjectRow:
    rows = [row for row in store.projects() if here is None or row.key != here.key]
    if name is not None:
        if here is not None and name in (here.key, here.name):
            raise Refused(f"{name} is already the project of {found.root}.", hint="Nothing to relink.")
        return find_named(name, rows)
    repository = read_id(found.common_dir)
    rows = [row for row in rows if repository and row.repository_id == repository]
    if len(rows) == 1:
        return rows[0]
    if rows:
        names = ", ".join(f"{row.key} ({row.root})" for row in rows)
        raise BadInput(f"{len(rows)} projects have the id of this repository: {names}.", hint="Name one of them.")
    raise NotFound(
        f"No other known project has the id of {found.root}.",
        hint="`burnish projects` lists them; name the one that was moved here: burnish projects relink NAME",
    )


def _refuse_copy(row: ProjectRow, found: FoundRepository) -> None:
    if row.common_dir.resolve() == found.common_dir or not is_still_there(row):
        return
    raise Refused(
        f"{row.key} is still at {row.root}: {found.root} is a copy of it or another repository.",
        hint="Work there, or remove that repository first. `burnish add` registers this one as a new project.",
    )


def _refuse_running(store: Store, home: Path, row: ProjectRow) -> None:
    tasks = store.tasks(row.key, brief=True, statuses=RUNNING)
    alive = [task for task in tasks if task.runner and not is_runner_dead(store, home / "locks", task.runner)]
    if alive:
        numbers = ", ".join(str(task.id) for task in alive)
        raise Refused(f"Task {numbers} of {row.name} is running.", hint="Wait for it, or stop it where it runs.")


def _refuse_other_history(store: Store, row: ProjectRow, repo: Project) -> None:
    """Another repository than the one that the tasks were made from would have none of their commits."""
    commits = list(dict.fromkeys(task.base for task in store.tasks(row.key, brief=True) if task.base))
    if commits and not any(read_objects(repo, commits)):
        raise Refused(
            f"{repo.root} has none of the commits that the tasks of {row.key} began from.",
            hint="Relink it in the repository that was moved; `git log --all` there shows branches burnish/….",
        )

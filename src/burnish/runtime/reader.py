"""The store and the project for read-only commands. Imports little, for a fast start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.adapters import stores
from burnish.errors import BadInput, BurnishError, Refused
from burnish.git.discovery import FoundRepository, discover
from burnish.runtime.project_identity import locate
from burnish.store import Store
from burnish.store.rows import ProjectRow

_ADD = 'Add one: burnish add "TITLE"'


@dataclass(frozen=True, slots=True)
class Reader:
    home: Path
    store: Store
    found: FoundRepository
    # None: burnish does not know this repository yet
    project: ProjectRow | None
    # A note for the user that the repository was moved.
    note: str = ""

    @property
    def key(self) -> str:
        if self.project is None:
            raise self.unknown_project(f"burnish has no tasks for {self.found.root} yet.")
        return self.project.key

    def unknown_project(self, what: str) -> BadInput:
        clone = self.untrusted_clone
        return BadInput(clone[0], hint=clone[1]) if clone else BadInput(what, hint=_ADD)

    @property
    def untrusted_clone(self) -> tuple[str, str] | None:
        """What to say and to do in a clone without tasks that may be of a project of another machine."""
        from burnish.runtime.project_identity import may_be_of_another_machine

        if self.project is not None or not may_be_of_another_machine(self.store, self.found):
            return None
        if _is_trusted(self.found, self.home):
            return None  # the remote was asked
        return (
            "This may be a clone of a project of another machine.",
            "Let burnish ask its git remote: burnish trust",
        )

    def alive(self, runner: str) -> bool:
        """True if this runner is alive; a task of a dead runner was interrupted."""
        from burnish.adapters.task_locks import is_runner_dead

        return not is_runner_dead(self.store, self.home / "locks", runner)


def no_tasks(root: Path) -> BadInput:
    return BadInput(f"burnish has no tasks for {root} yet.", hint=_ADD)


def home_of(env: Mapping[str, str] | None = None) -> Path:
    """The folder for all state: BURNISH_HOME, else the user's data folder."""
    env = os.environ if env is None else env
    if env.get("BURNISH_HOME"):
        home = Path(env["BURNISH_HOME"]).expanduser()
        if not home.is_absolute():
            raise BadInput(
                f"BURNISH_HOME must be an absolute path (got {env['BURNISH_HOME']!r}).",
                hint=f"Use an absolute path, e.g. BURNISH_HOME={home.absolute()}",
            )
        return home
    import platformdirs

    return Path(platformdirs.user_data_dir("burnish", appauthor=False))


def open_reader(start: Path) -> Reader:
    found = discover(start)
    home = home_of()
    store = open_home(home, reading=True)
    location = locate(store, found, home, create=False, is_trusted=store.is_shared and _is_trusted(found, home))
    return Reader(home, store, found, location.project, location.note)


def _is_trusted(found: FoundRepository, home: Path) -> bool:
    from burnish.runtime.trust import examine

    return examine(found, home).is_trusted


def open_store() -> tuple[Path, Store]:
    """The home and its store for reading, for commands about all projects."""
    home = home_of()
    return home, open_home(home, reading=True)


def open_home_to_write(home: Path) -> Store:
    """The store for a command that writes; raises if file locks do not work in the home."""
    from burnish.proc.file_systems import require_locks

    require_locks(home)
    return open_home(home)


def open_home(home: Path, *, reading: bool = False) -> Store:
    """The store in the burnish home; inside a phase the error explains that the home is hidden."""
    try:
        return stores.open_store(home, reading=reading)
    except BurnishError as error:
        if (home / "locks").is_dir():
            from burnish.proc.file_systems import require_locks

            require_locks(home)  # SQLite reports "locked" if file locks do not work
        from burnish.proc.inside import inside_phase

        if stores.has_store(home) or not inside_phase():
            raise
        raise Refused(
            "The burnish home is hidden from agents and checks, so there is nothing to read inside a phase.",
            hint="Continue with the task; your prompt contains all information about it.",
        ) from error


def known_task(start: Path, number: int) -> bool:
    """True if the task exists. Creates no database."""
    if not stores.has_store(home_of()):
        return False
    reader = open_reader(start)
    return reader.project is not None and bool(reader.store.tasks(reader.key, ids=[number]))


def refuse_inside_phase() -> None:
    """Raise inside a phase: agents must not make decisions."""
    from burnish.proc.inside import inside_phase

    if inside_phase():
        raise Refused(
            "Only a person can run this command; it was called from inside a phase.",
            hint="Run it in your own terminal, outside of agents and checks that burnish started.",
        )

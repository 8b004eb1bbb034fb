"""What a reading command needs: the store and the project. Kept light, for start-up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import BadInput, BurnishError, Refused
from burnish.git.project import FoundRepository, discover
from burnish.runtime.project_identity import locate
from burnish.store import Store
from burnish.store.rows import ProjectRow


@dataclass(frozen=True, slots=True)
class Reader:
    home: Path
    store: Store
    found: FoundRepository
    # None: burnish does not know this repository yet
    project: ProjectRow | None
    # a line for the person: the repository was moved
    note: str = ""

    @property
    def key(self) -> str:
        if self.project is None:
            raise no_tasks(self.found.root)
        return self.project.key

    def alive(self, runner: str) -> bool:
        """Does this runner still work? A task of a dead one was interrupted."""
        from burnish.adapters.task_locks import is_runner_dead

        return not is_runner_dead(self.store, self.home / "locks", runner)


def no_tasks(root: Path) -> BadInput:
    return BadInput(f"burnish has no tasks for {root} yet.", hint='Add one: burnish add "TITLE"')


def home_of(env: Mapping[str, str] | None = None) -> Path:
    """Where all state lies: BURNISH_HOME, else the user's data folder."""
    env = os.environ if env is None else env
    if env.get("BURNISH_HOME"):
        home = Path(env["BURNISH_HOME"]).expanduser()
        if not home.is_absolute():
            raise BadInput(
                f"BURNISH_HOME is {env['BURNISH_HOME']!r}: a folder that is another one in every directory.",
                hint=f"Write it from the root, e.g. BURNISH_HOME={home.absolute()}",
            )
        return home
    import platformdirs

    return Path(platformdirs.user_data_dir("burnish", appauthor=False))


def open_reader(start: Path) -> Reader:
    found = discover(start)
    home = home_of()
    store = open_home(home, reading=True)
    located = locate(store, found, home, create=False)
    return Reader(home, store, found, located.project, located.note)


def open_store() -> tuple[Path, Store]:
    """The home and its store, to be read: for what is asked of every project, from anywhere."""
    home = home_of()
    return home, open_home(home, reading=True)


def open_home_to_write(home: Path) -> Store:
    """The same for a command that changes something: locks must hold there, or two would pay for the same work."""
    from burnish.proc.lock_probe import require_locks

    require_locks(home)
    return open_home(home)


def open_home(home: Path, *, reading: bool = False) -> Store:
    """The store in the burnish home; what stands in the way is told differently to an agent."""
    try:
        return Store.open_reading(home) if reading else Store.open(home)
    except BurnishError as error:
        if (home / "locks").is_dir():
            from burnish.proc.lock_probe import require_locks

            require_locks(home)  # SQLite says "locked" where there are no locks at all
        from burnish.proc.inside import inside_phase

        if (home / "burnish.db").exists() or not inside_phase():
            raise
        raise Refused(
            "The burnish home is hidden from agents and checks, so there is nothing to read inside a phase.",
            hint="Go on with the task; what you need to know about it is in your prompt.",
        ) from error


def known_task(start: Path, number: int) -> bool:
    """Is there such a task? Where burnish was never used, looking makes no database."""
    if not (home_of() / "burnish.db").exists():
        return False
    reader = open_reader(start)
    return reader.project is not None and bool(reader.store.tasks(reader.key, ids=[number]))


def refuse_inside_phase() -> None:
    """An agent may not decide."""
    from burnish.proc.inside import inside_phase

    if inside_phase():
        raise Refused(
            "This is a person's decision, and it was asked for from inside a phase.",
            hint="Type it in your own terminal, outside of any agent or check that burnish started.",
        )

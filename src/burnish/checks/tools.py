"""What a folder of a repository is built and tested with, and why we think so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Read = Callable[[str], str | None]
# a string for the shell, or words
Command = str | tuple[str, ...]

PYTEST = ("python", "-m", "pytest", "-q")
RUFF = ("ruff", "check", "--output-format=concise")
# Opened at most: with hundreds of test files the first few are enough.
MOST_OPENED = 20


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A command, and the reason for it."""

    command: Command
    why: str


@dataclass(frozen=True, slots=True)
class Tools:
    """One language in one folder; `weight` counts its source files."""

    folder: str
    language: str
    test: ToolChoice | None = None
    lint: ToolChoice | None = None
    setup: ToolChoice | None = None
    weight: int = 0
    # what was found and left out, e.g. a linter that is not installed
    notes: tuple[str, ...] = ()
    # patterns of the files that its checks depend on; none = all
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the files alone do not say; the defaults assume a machine that has everything."""

    # does git ignore this path (from the root; folders end in /)?
    ignored: Callable[[str], bool] = lambda path: False
    # is this program on PATH?
    has_program: Callable[[str], bool] = lambda name: True
    # can the Python on PATH import this module?
    has_module: Callable[[str], bool] = lambda name: True


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """One folder as the languages see it: `paths` are all files below it, from there."""

    folder: str
    paths: tuple[str, ...]
    names: frozenset[str]
    read_from_root: Read
    around: Surroundings = field(default_factory=Surroundings)

    def read(self, name: str) -> str:
        """The text of a file, "" if there is none."""
        if "/" not in name and name not in self.names:
            return ""  # where files come out of git, a look is a process
        return self.read_from_root(self._from_root(name)) or ""

    def ignores(self, name: str) -> bool:
        return self.around.ignored(self._from_root(name))

    def first(self, *names: str) -> str | None:
        return next((name for name in names if name in self.names), None)

    def count(self, *endings: str) -> int:
        return sum(path.endswith(endings) for path in self.paths)

    def _from_root(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name

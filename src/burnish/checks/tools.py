"""What a folder of a repository is built and tested with, and why we think so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Read = Callable[[str], str | None]
# a string for the shell, or words
Command = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A command, and the reason for it."""

    command: Command
    why: str


@dataclass(frozen=True, slots=True)
class Tools:
    """One language in one folder; `weight` counts its source files."""

    folder: str
    language: str
    test: Choice | None = None
    lint: Choice | None = None
    setup: Choice | None = None
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """One folder as the languages see it: `paths` are all files below it, from there."""

    folder: str
    paths: tuple[str, ...]
    names: frozenset[str]
    read_from_root: Read

    def read(self, name: str) -> str:
        """The text of a file, "" if there is none."""
        return self.read_from_root(f"{self.folder}/{name}" if self.folder else name) or ""

    def first(self, *names: str) -> str | None:
        return next((name for name in names if name in self.names), None)

    def count(self, *endings: str) -> int:
        return sum(path.endswith(endings) for path in self.paths)

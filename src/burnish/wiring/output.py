"""What a task left in the burnish home, for those who read it piece by piece: logs, prompts as sent, artifacts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from burnish.core.secrets import LineFilter
from burnish.core.task import Task
from burnish.errors import NotFound
from burnish.plain import clean_text
from burnish.wiring.discretion import from_here
from burnish.wiring.logs import find_logs
from burnish.wiring.requests import LogFile

PIECE = 128 * 1024
MOST_OF_A_PAPER = 1024 * 1024
_KEY = b"-----BEGIN"


@dataclass(frozen=True, slots=True)
class Output:
    """A file that an agent or a check wrote, or what an agent was sent. `name` is how it is asked for."""

    name: str
    file: LogFile
    size: int

    @property
    def is_prompt(self) -> bool:
        return self.file.kind.endswith("prompt")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of a file, without controls and secrets; go on at `next`."""

    text: str
    start: int
    next: int
    size: int


@dataclass(frozen=True, slots=True)
class Paper:
    name: str
    size: int


def folder_of(home: Path, task: Task) -> Path:
    return home / "projects" / task.project / "tasks" / task.name


def outputs(home: Path, task: Task) -> list[Output]:
    """Oldest first."""
    folder = folder_of(home, task)
    found = []
    for file in find_logs(folder):
        # a file may be put in place anew while we look: its secrets were taken out
        size = file.path.stat().st_size if file.path.exists() else 0
        found.append(Output(str(file.path.relative_to(folder)).replace("/", "~"), file, size))
    return found


def output(home: Path, task: Task, name: str) -> Output:
    """By name, and only of those there are: no path from outside is ever opened."""
    found = next((one for one in outputs(home, task) if one.name == name), None)
    if found is None:
        raise NotFound(f"Task {task.id} has no output {name!r}.", hint=f"`burnish log {task.id}` shows what there is.")
    return found


def piece(one: Output, offset: int) -> Piece:
    """From `offset` on; a negative one begins near the end. Whole lines where there are lines."""
    path = one.file.path
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = min(offset, size) if offset >= 0 else _near_the_end(file, size)
            file.seek(start)
            data = _whole(file.read(PIECE), start, size)
    except FileNotFoundError:
        return Piece("", 0, 0, 0)
    return Piece("\n".join(_shown(data)), start, start + len(data), size)


def papers(home: Path, task: Task) -> list[Paper]:
    """The artifacts that burnish wrote, by name."""
    folder = folder_of(home, task) / "artifacts"
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return [Paper(p.name, p.stat().st_size) for p in files if p.is_file() and not p.name.startswith(".")]


def paper(home: Path, task: Task, name: str) -> str:
    """One of them, as text; a monster is cut, and says so."""
    found = next((one for one in papers(home, task) if one.name == name), None)
    if found is None:
        raise NotFound(f"Task {task.id} has no artifact {name!r}.", hint=f"`burnish show {task.id}` lists them.")
    with (folder_of(home, task) / "artifacts" / found.name).open("rb") as file:
        text = file.read(MOST_OF_A_PAPER).decode("utf-8", "replace")
    left = found.size - MOST_OF_A_PAPER
    return text + (f"\n\n[burnish: {left} bytes are left out here]\n" if left > 0 else "")


def _near_the_end(file: BinaryIO, size: int) -> int:
    start = max(0, size - PIECE)
    if start:
        file.seek(start)
        start += len(file.readline(4096))
    return start


def _whole(data: bytes, start: int, size: int) -> bytes:
    """Up to the last line that is whole, if more may follow; a key that goes on is left for the next piece."""
    more = start + len(data) < size
    end = data.rfind(b"\n") + 1
    if not end:
        # one line without an end: as much as we hold of it, but no half letter
        return data[: _letters(data)] if more else data
    if more or not data.endswith(b"\n"):
        data = data[:end]
    key = data.rfind(_KEY)
    unclosed = key > data.rfind(b"-----END")
    return data[: data.rfind(b"\n", 0, key) + 1] or data if unclosed and key > 0 else data


def _letters(data: bytes) -> int:
    for back in range(1, min(4, len(data)) + 1):
        if data[-back] & 0xC0 == 0xC0:
            return len(data) - back
        if data[-back] < 0x80:
            break
    return len(data)


def _shown(data: bytes) -> Iterator[str]:
    keep = LineFilter(from_here())
    for line in clean_text(data.decode("utf-8", "replace")).split("\n"):
        said = keep(line)
        if said is not None:
            yield said

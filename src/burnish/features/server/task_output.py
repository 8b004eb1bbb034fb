"""What a task left in the burnish home, for those who read it piece by piece: logs, prompts as sent, artifacts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from burnish.adapters.redaction import secrets_from_environment
from burnish.core.task import Task
from burnish.errors import NotFound
from burnish.features.tasks.logs import AT_ONCE, Chunk, find_logs, read_chunk
from burnish.runtime.requests import LogFile

MOST_OF_A_PAPER = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Output:
    """A file that an agent or a check wrote, or what an agent was sent."""

    file: LogFile
    size: int

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def is_prompt(self) -> bool:
        return self.file.kind.endswith("prompt")


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    name: str
    size: int


def folder_of(home: Path, task: Task) -> Path:
    return home / "projects" / task.project / "tasks" / task.name


def outputs(home: Path, task: Task) -> list[Output]:
    """Oldest first."""
    found = []
    for file in find_logs(folder_of(home, task)):
        # a file may be put in place anew while we look: its secrets were taken out
        size = file.path.stat().st_size if file.path.exists() else 0
        found.append(Output(file, size))
    return found


def output(home: Path, task: Task, name: str) -> Output:
    """By name, and only of those there are: no path from outside is ever opened."""
    found = next((one for one in outputs(home, task) if one.name == name), None)
    if found is None:
        raise NotFound(f"Task {task.id} has no output {name!r}.", hint=f"`burnish log {task.id}` shows what there is.")
    return found


def piece(one: Output, offset: int) -> Chunk:
    """From `offset` on; a negative one begins near the end."""
    path = one.file.path
    try:
        return read_chunk(path, offset if offset >= 0 else _near_the_end(path), secrets_from_environment())
    except FileNotFoundError:
        # it is being put in place anew, without its secrets
        return Chunk("", max(0, offset), max(0, offset), 0)


def papers(home: Path, task: Task) -> list[ArtifactFile]:
    """The artifacts that burnish wrote, by name."""
    folder = folder_of(home, task) / "artifacts"
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return [ArtifactFile(p.name, p.stat().st_size) for p in files if p.is_file() and not p.name.startswith(".")]


def whole_paper(home: Path, task: Task, name: str) -> bytes | None:
    """One of them as it is; None where the home has it no more, and refused where no paper can have that name."""
    if not name or "/" in name or "\x00" in name:
        raise _no_paper(task, name)
    file_path = folder_of(home, task) / "artifacts" / name
    return file_path.read_bytes() if any(one.name == name for one in papers(home, task)) else None


def _no_paper(task: Task, name: str) -> NotFound:
    return NotFound(f"Task {task.id} has no artifact {name!r}.", hint=f"`burnish show {task.id}` lists them.")


def paper(home: Path, task: Task, name: str) -> str:
    """An artifact as text; a very large one is truncated with a note."""
    found = next((one for one in papers(home, task) if one.name == name), None)
    if found is None:
        raise _no_paper(task, name)
    with (folder_of(home, task) / "artifacts" / found.name).open("rb") as file:
        text = file.read(MOST_OF_A_PAPER).decode("utf-8", "replace")
    omitted_bytes = found.size - MOST_OF_A_PAPER
    return text + (f"\n\n[burnish: {omitted_bytes} bytes are left out here]\n" if omitted_bytes > 0 else "")


def _near_the_end(path: Path) -> int:
    """At the beginning of a line, where there are lines."""
    with path.open("rb") as file:
        start = max(0, os.fstat(file.fileno()).st_size - AT_ONCE)
        file.seek(start)
        return start + len(file.readline(4096)) if start else 0

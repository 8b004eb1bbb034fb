"""Files of a task in the burnish home, readable in parts: logs, prompts as sent, artifacts."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.adapters.redaction import secrets_from_environment
from burnish.agents.steps import readable_answer
from burnish.agents.transcript import read_rows
from burnish.checks.evidence import MAX_FILE_BYTES, find_evidence
from burnish.core.cost import short_cost
from burnish.core.task import Task
from burnish.errors import NotFound
from burnish.features.tasks.logs import (
    AT_ONCE,
    Chunk,
    TranscriptRow,
    find_logs,
    read_chunk,
    read_transcript,
    transcript_rows,
)
from burnish.regular_files import read_regular
from burnish.runtime.requests import LogFile

MAX_ARTIFACT_TEXT = 1024 * 1024


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
        # the file may be missing while it is replaced by its redacted version
        size = file.path.stat().st_size if file.path.exists() else 0
        found.append(Output(file, size))
    return found


def output(home: Path, task: Task, name: str) -> Output:
    """Find an output by name among the existing ones, so that a path from a request is never opened."""
    found = next((one for one in outputs(home, task) if one.name == name), None)
    if found is None:
        raise NotFound(f"Task {task.id} has no output {name!r}.", hint=f"`burnish log {task.id}` shows what there is.")
    return found


def piece(one: Output, offset: int) -> Chunk:
    """The output from `offset` on; a negative offset begins near the end."""
    path = one.file.path
    if one.file.is_transcript:
        return read_transcript(path, max(0, offset))
    try:
        return read_chunk(path, offset if offset >= 0 else _near_the_end(path), secrets_from_environment())
    except FileNotFoundError:
        # it is being replaced by its redacted version
        return Chunk("", max(0, offset), max(0, offset), 0)


def readable_piece(one: Output, offset: int) -> Chunk:
    """As `piece`, with the verdict of a reviewer in words in place of its JSON."""
    found = piece(one, offset)
    if not one.file.is_review:
        return found
    # again: in JSON, a secret may be written in escapes
    return replace(found, text=secrets_from_environment().redact(readable_answer(found.text)))


def transcript(home: Path, task: Task, since: int) -> list[TranscriptRow]:
    return transcript_rows(folder_of(home, task), since)


@dataclass(frozen=True, slots=True)
class LiveCall:
    """What the agent that works on a task did last, one line each, and what the task has cost with this call."""

    lines: tuple[str, ...] = ()
    # "" if the program does not report it while it works
    cost: str = ""


def live_call(home: Path, task: Task, most: int) -> LiveCall:
    """Without lines before the agent has done anything."""
    transcripts = [file for file in find_logs(folder_of(home, task)) if file.is_transcript]
    if not transcripts or (transcripts[-1].run, transcripts[-1].cycle, transcripts[-1].phase) != (
        task.run,
        task.cycle,
        task.phase,
    ):
        return LiveCall()
    rows, _ = read_rows(transcripts[-1].path)
    lines = tuple(line for row in rows[-most:] if (line := row.line()))
    usd = next((row.cost_usd for row in reversed(rows) if row.cost_usd), None)
    return LiveCall(lines, short_cost((task.cost_usd or 0) + usd, task.cost_source) if usd else "")


def list_artifacts(home: Path, task: Task) -> list[ArtifactFile]:
    """The artifacts that burnish wrote, by name."""
    folder = folder_of(home, task) / "artifacts"
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return [ArtifactFile(p.name, p.stat().st_size) for p in files if p.is_file() and not p.name.startswith(".")]


def read_artifact_bytes(home: Path, task: Task, name: str) -> bytes | None:
    """The bytes of an artifact; None if the home no longer has it. Raises `NotFound` for an invalid name."""
    if not name or "/" in name or "\x00" in name:
        raise _artifact_not_found(task, name)
    file_path = folder_of(home, task) / "artifacts" / name
    return file_path.read_bytes() if any(one.name == name for one in list_artifacts(home, task)) else None


def _artifact_not_found(task: Task, name: str) -> NotFound:
    return NotFound(f"Task {task.id} has no artifact {name!r}.", hint=f"`burnish show {task.id}` lists them.")


def read_artifact_text(home: Path, task: Task, name: str) -> str:
    """An artifact as text; a very large one is truncated with a note."""
    found = next((one for one in list_artifacts(home, task) if one.name == name), None)
    if found is None:
        raise _artifact_not_found(task, name)
    with (folder_of(home, task) / "artifacts" / found.name).open("rb") as file:
        text = file.read(MAX_ARTIFACT_TEXT).decode("utf-8", "replace")
    omitted_bytes = found.size - MAX_ARTIFACT_TEXT
    return text + (f"\n\n[burnish: {omitted_bytes} bytes are left out here]\n" if omitted_bytes > 0 else "")


def read_evidence(home: Path, task: Task, name: str) -> bytes:
    """A file that a check left; its name is checked, so that it leads to no other file."""
    path = find_evidence(folder_of(home, task), name)
    data = read_regular(path, longest=MAX_FILE_BYTES, follow=False) if path else None
    if data is None:
        raise NotFound(f"Task {task.id} has no evidence {name!r}.", hint="`burnish clean` may have removed it.")
    return data


def _near_the_end(path: Path) -> int:
    """An offset near the end of the file, at the beginning of a line if there is one."""
    with path.open("rb") as file:
        start = max(0, os.fstat(file.fileno()).st_size - AT_ONCE)
        file.seek(start)
        return start + len(file.readline(4096)) if start else 0

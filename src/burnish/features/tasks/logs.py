"""Where everything that agents and checks printed lies."""

from __future__ import annotations

import math
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.agents.transcript import read_rows
from burnish.core.secrets import NEAR_CUT, LineFilter, Secrets, bytes_of_cut_secret, last_gap, redact_behind
from burnish.core.transcript import Row
from burnish.proc.shim_files import read_outcome
from burnish.runtime.app import App
from burnish.runtime.requests import LogFile
from burnish.sanitize import clean_text

AT_ONCE = 64 * 1024
# so far before a chunk the beginning of a private key is looked for
BEFORE = NEAR_CUT
# a line without an end is shown up to its last word when nothing has come for so many seconds
RESTING = 1.0
# ... and counts as whole after so many, or when the program has ended
ENDED = 30.0

_CALL = re.compile(r"run-(\d+)-cycle-(\d+)-(implement|improve|review)-(\d+)(?:-(.+))?")
_OUTPUT = re.compile(r"run-(\d+)-cycle-(\d+)-(.+?)(?:@(\d+))?")
# folders of outputs → the phase that a person asks for
_PHASES = {"checks": "check", "setup": "setup", "baseline-setup": "setup", "check-setup": "setup"}


def find_logs(folder: Path) -> list[LogFile]:
    """Oldest first."""
    found = [*_calls(folder / "calls"), *_outputs(folder / "outputs")]
    return sorted(found, key=lambda f: (f.run, f.cycle, f.path.stat().st_mtime))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some of a log: `next` is where to go on; at `size` everything that there is so far has been read."""

    text: str
    offset: int
    next: int
    size: int


def read_chunk(file: Path, offset: int, secrets: Secrets) -> Chunk:
    """Whole lines from a place on. What a running phase prints is redacted on the disk only when it is over."""
    start = max(0, offset - BEFORE)
    with file.open("rb") as log:
        size = os.fstat(log.fileno()).st_size
        log.seek(start)
        before, data, after = log.read(offset - start), log.read(AT_ONCE), log.read(BEFORE)
    whole = _whole(data, after, resting_seconds(file), secrets)
    line_filter = LineFilter(secrets)
    *lines_before, begun = before.decode(errors="replace").split("\n")
    for line in lines_before:
        line_filter(line)
    first, *others = whole.decode(errors="replace").split("\n")
    lines = [line_filter(line) for line in (redact_behind(secrets, begun, first), *others)]
    text = clean_text("\n".join(line for line in lines if line is not None))
    return Chunk(text, offset, min(offset, size) + len(whole), size)


def read_transcript(file: Path, offset: int) -> Chunk:
    """The rows of a transcript from a place on, as text for people."""
    rows, end = read_rows(file, offset)
    text = "".join(f"{line}\n" for row in rows for line in row.lines())
    return Chunk(text, offset, end, file.stat().st_size if file.exists() else end)


@dataclass(frozen=True, slots=True)
class TranscriptRow:
    """A row with its number in the task's transcript and the call that it belongs to."""

    number: int
    call: LogFile
    row: Row

    def as_json(self) -> dict[str, Any]:
        call = {"run": self.call.run, "cycle": self.call.cycle, "phase": self.call.phase, "attempt": self.call.attempt}
        reviewer = self.call.kind.removesuffix("transcript").strip()
        return {"number": self.number, **call, "reviewer": reviewer or None, **self.row.as_json()}


def transcript_rows(folder: Path, since: int = 0) -> list[TranscriptRow]:
    """The rows of all calls of a task, oldest first, after the row with the number `since`."""
    files = [file for file in find_logs(folder) if file.is_transcript]
    rows = ((file, row) for file in files for row in read_rows(file.path)[0])
    return [TranscriptRow(number, file, row) for number, (file, row) in enumerate(rows, 1) if number > since]


def resting_seconds(file: Path) -> float:
    """How long nothing has been written to a log; infinite if its program has ended."""
    is_growing = file.name in ("stdout", "stderr") and not read_outcome(file.parent)
    return time.time() - file.stat().st_mtime if is_growing else math.inf


def _whole(data: bytes, after: bytes, resting: float, secrets: Secrets) -> bytes:
    """The part that can be shown: whole lines. A line without an end is cut outside of secrets."""
    if not after and resting > ENDED:
        return data
    if not after and resting > RESTING:
        return data[: last_gap(data)]
    if lines := data[: data.rfind(b"\n") + 1]:
        return lines
    if len(data) < AT_ONCE:
        return b""
    cut = _letters(data)
    return cut[: len(cut) - bytes_of_cut_secret(secrets, cut, data[len(cut) :] + after)] or cut


def _letters(data: bytes) -> bytes:
    """A line without an end is cut between two letters."""
    for back in range(1, 4):
        if data[-back] >= 0xC0:
            return data[:-back]
        if data[-back] < 0x80:
            break
    return data


def is_sarif(file: Path) -> bool:
    """A report for programs, most of which is a catalogue of rules."""
    try:
        with file.open("rb") as log:
            start = log.read(2048).lstrip()
    except OSError:
        return False
    return start.startswith(b"{") and b"sarif" in start.lower() and b'"version"' in start


def _calls(folder: Path) -> list[LogFile]:
    logs = []
    for call in folder.glob("run-*"):
        match = _CALL.fullmatch(call.name)
        if not match:
            continue
        run, cycle, phase, attempt = int(match[1]), int(match[2]), match[3], int(match[4])
        outputs = [*call.glob("try-*/stdout"), *call.glob("try-*/stderr"), *call.glob("try-*-transcript.jsonl")]
        for file in [*call.glob("prompt.md"), *outputs]:
            kind = {"prompt.md": "prompt"}.get(file.name, "transcript" if file.suffix == ".jsonl" else file.name)
            kind = f"{match[5]} {kind}" if match[5] else kind
            if file.stat().st_size or (file.suffix == ".jsonl" and not read_outcome(_attempt_folder(file))):
                logs.append(LogFile(run, cycle, phase, attempt, kind, file))
    return logs


def _attempt_folder(transcript: Path) -> Path:
    return transcript.with_name(transcript.name.removesuffix("-transcript.jsonl"))


def _outputs(folder: Path) -> list[LogFile]:
    logs = []
    for place in folder.glob("run-*"):
        match = _OUTPUT.fullmatch(place.name)
        if not match:
            continue
        for file in [*place.glob("*/stdout"), *place.glob("*/stderr")]:
            if file.stat().st_size:
                kind = f"{file.parent.name} {file.name}"
                phase, attempt = _PHASES.get(match[3], match[3]), int(match[4] or 1)
                logs.append(LogFile(int(match[1]), int(match[2]), phase, attempt, kind, file))
    return logs


def task_logs(app: App, task_id: int) -> list[LogFile]:
    return find_logs(app.task_folder(app.store.task(app.key, task_id)))

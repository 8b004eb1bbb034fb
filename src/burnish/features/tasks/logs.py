"""Where everything that agents and checks printed lies."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from burnish.core.secrets import LineFilter, Secrets
from burnish.runtime.app import App
from burnish.runtime.requests import LogFile
from burnish.sanitize import clean_text

AT_ONCE = 64 * 1024
# so far before a chunk the beginning of a private key is looked for
BEFORE = 8 * 1024
# a line without an end counts as whole when nothing has come for so many seconds
RESTING = 1.0

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
        before, data = log.read(offset - start), log.read(AT_ONCE)
    at_rest = offset + len(data) == size and time.time() - file.stat().st_mtime > RESTING
    whole = data if at_rest else data[: data.rfind(b"\n") + 1] or (_letters(data) if len(data) == AT_ONCE else b"")
    line_filter = LineFilter(secrets)
    for line in before.decode(errors="replace").split("\n"):
        line_filter(line)
    lines = [line_filter(line) for line in whole.decode(errors="replace").split("\n")]
    text = clean_text("\n".join(line for line in lines if line is not None))
    return Chunk(text, offset, min(offset, size) + len(whole), size)


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
        for file in [*call.glob("prompt.md"), *call.glob("try-*/stdout"), *call.glob("try-*/stderr")]:
            kind = "prompt" if file.name == "prompt.md" else file.name
            kind = f"{match[5]} {kind}" if match[5] else kind
            if file.stat().st_size:
                logs.append(LogFile(run, cycle, phase, attempt, kind, file))
    return logs


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

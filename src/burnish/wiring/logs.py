"""Where everything that agents and checks printed lies."""

from __future__ import annotations

import re
from pathlib import Path

from burnish.wiring.requests import LogFile

_CALL = re.compile(r"run-(\d+)-cycle-(\d+)-(implement|improve|review)-(\d+)(?:-(.+))?")
_OUTPUT = re.compile(r"run-(\d+)-cycle-(\d+)-(.+)")


def find_logs(folder: Path) -> list[LogFile]:
    """Oldest first."""
    found = [*_calls(folder / "calls"), *_outputs(folder / "outputs")]
    return sorted(found, key=lambda f: (f.run, f.cycle, f.path.stat().st_mtime))


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
                logs.append(LogFile(int(match[1]), int(match[2]), match[3], 1, kind, file))
    return logs

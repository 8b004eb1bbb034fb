"""How a program ended, as its shim wrote it down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.regular_files import read_regular


@dataclass(frozen=True, slots=True)
class ExitRecord:
    """How it ended. `ended` is exit, timeout, stopped, enough or orphaned; the bytes are those before any cut."""

    exit_code: int | None
    signal: int | None
    ended: str
    seconds: float
    stdout: Path
    stderr: Path
    stdout_bytes: int
    stderr_bytes: int


def finished_call(call_dir: Path) -> ExitRecord | None:
    """An earlier call that ended by itself: it need not be paid for again."""
    outcome = read_outcome(call_dir)
    if outcome is None or outcome.get("ended") != "exit":
        return None
    return done_of(call_dir, outcome)


def outcome_file(call_dir: Path) -> Path:
    """Beside the folder of the call, which the program may write: one that outlives its shim could forge an answer."""
    return call_dir.with_name(f"{call_dir.name}-outcome.json")


def read_outcome(call_dir: Path) -> dict[str, object] | None:
    """What the shim wrote last; None if it did not come to that."""
    try:
        # without a sandbox the program may write here, too: a pipe in the place of the file would never end
        outcome = json.loads(read_regular(outcome_file(call_dir), longest=4096, follow=False) or b"")
    except (ValueError, RecursionError):
        return None
    return outcome if isinstance(outcome, dict) else None


def done_of(call_dir: Path, outcome: Mapping[str, object]) -> ExitRecord:
    def number(key: str) -> int | None:
        value = outcome.get(key)
        return value if isinstance(value, int) else None

    seconds = outcome.get("seconds")
    return ExitRecord(
        exit_code=number("exit_code"),
        signal=number("signal"),
        ended=str(outcome.get("ended")),
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        stdout=call_dir / "stdout",
        stderr=call_dir / "stderr",
        stdout_bytes=number("stdout_bytes") or 0,
        stderr_bytes=number("stderr_bytes") or 0,
    )

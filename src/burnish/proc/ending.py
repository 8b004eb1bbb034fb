"""How a program ended, as recorded by its shim."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.regular_files import read_regular


@dataclass(frozen=True, slots=True)
class ExitRecord:
    """How it ended. `ended` is exit, timeout, stopped, enough or orphaned; bytes are counted before truncation."""

    exit_code: int | None
    signal: int | None
    ended: str
    seconds: float
    stdout: Path
    stderr: Path
    stdout_bytes: int
    stderr_bytes: int


def finished_call(call_dir: Path) -> ExitRecord | None:
    """The record of an earlier call that finished, so that it need not run again."""
    outcome = read_outcome(call_dir)
    if outcome is None or outcome.get("ended") != "exit":
        return None
    return exit_record(call_dir, outcome)


def outcome_file(call_dir: Path) -> Path:
    """Beside the folder of the call: the program can write in the folder and could forge an outcome."""
    return call_dir.with_name(f"{call_dir.name}-outcome.json")


def read_outcome(call_dir: Path) -> dict[str, object] | None:
    """The outcome that the shim recorded; None if there is none."""
    try:
        # Without a sandbox the program may replace the file, e.g. by a pipe that never ends.
        outcome = json.loads(read_regular(outcome_file(call_dir), longest=4096, follow=False) or b"")
    except (ValueError, RecursionError):
        return None
    return outcome if isinstance(outcome, dict) else None


def exit_record(call_dir: Path, outcome: Mapping[str, object]) -> ExitRecord:
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

"""`burnish run --detach`: the same run in a session of its own, with its output in a file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.errors import BurnishError
from burnish.runtime.reader import refuse_inside_phase

if TYPE_CHECKING:
    from burnish.runtime.app import App

# A run that ends sooner than this has failed to start.
_START_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class DetachedRun:
    pid: int
    log: Path


def start_detached(app: App, argv: Sequence[str]) -> DetachedRun:
    """Start `burnish ARGV`. Raises with the end of its output if it ends at once with an error."""
    refuse_inside_phase()
    folder = app.home / "projects" / app.key / "runs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = folder / f"{time.strftime('%Y-%m-%d-%H%M%S')}-{os.getpid()}.log"
    with log.open("xb") as output:
        os.fchmod(output.fileno(), 0o600)
        process = subprocess.Popen(
            # -P: no module of the checkout is imported
            [sys.executable, "-P", "-m", "burnish.cli", *argv],
            cwd=app.repo.root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        code = process.wait(_START_SECONDS)
    except subprocess.TimeoutExpired:
        return DetachedRun(process.pid, log)
    if code > 1:
        lines = log.read_text(errors="replace").strip().split("\n")
        raise BurnishError(f"The run ended at once: {lines[-1][:300]}", hint=f"Its output: {log}")
    return DetachedRun(process.pid, log)

"""Runs in a session of their own, with their output in files: `burnish run --detach` and those of a screen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING

from burnish.errors import BurnishError
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.requests import RunReport

if TYPE_CHECKING:
    from burnish.runtime.app import App
    from burnish.runtime.reader import Reader

# A run that ends sooner than this has failed to start.
_START_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class DetachedRun:
    pid: int
    log: Path


@dataclass
class RunProcess:
    """A run in a session of its own: what this terminal does cannot slow it down."""

    process: subprocess.Popen[bytes]
    # its progress, and its report as JSON
    log: Path
    report: Path
    interrupts: int = 0

    @property
    def is_over(self) -> bool:
        return self.process.poll() is not None

    def interrupt(self) -> str:
        """What Ctrl-C does to `burnish run`; returns what happens now."""
        self.interrupts += 1
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        if self.interrupts > 1:
            return "Stopping the agents at once."
        return "Stopping the agents; no work is lost. Press Ctrl-C again to stop at once."


@dataclass
class ScreenRun:
    """The run of a screen, which is drawn before the run is checked and started."""

    # raises what refuses the run
    check: Callable[[], Callable[[], RunProcess]]
    # None before it is started, and if it was refused or interrupted by then
    process: RunProcess | None = None
    refusal: BurnishError | None = None
    is_interrupted: bool = False
    # the run leaves its decisions to the person
    asks: bool = False
    # the tasks that it was started for; none if it finds them by itself
    ids: Sequence[int] = ()
    _is_begun: bool = False
    # a run is not started once it was interrupted
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """Check and start it. Takes a second, in a thread of the screen."""
        try:
            start = self.check()
            with self._lock:
                self.process = None if self.is_interrupted else start()
        except BurnishError as error:
            self.refusal = error
        finally:
            self._is_begun = True

    @property
    def is_over(self) -> bool:
        return self.process.is_over if self.process else self._is_begun

    def interrupt(self) -> str:
        """What Ctrl-C does; returns what happens now."""
        with self._lock:
            self.is_interrupted = True
            return self.process.interrupt() if self.process else "The run is not started."


def start_detached(app: App, argv: Sequence[str]) -> DetachedRun:
    """Start `burnish ARGV`. Raises with the end of its output if it ends at once with an error."""
    log = _new_log(app)
    with log.open("xb") as output:
        process = _start(app, argv, output, output)
    try:
        code = process.wait(_START_SECONDS)
    except subprocess.TimeoutExpired:
        return DetachedRun(process.pid, log)
    if code > 1:
        lines = log.read_text(errors="replace").strip().split("\n")
        raise BurnishError(f"The run ended at once: {lines[-1][:300]}", hint=f"Its output: {log}")
    return DetachedRun(process.pid, log)


def start_run(app: App, argv: Sequence[str]) -> RunProcess:
    """Start `burnish ARGV --json` for a screen that shows it."""
    log = _new_log(app)
    report = log.with_suffix(".json")
    with log.open("xb") as progress, report.open("xb") as output:
        return RunProcess(_start(app, [*argv, "--json"], output, progress), log, report)


def read_report(reader: Reader, run: RunProcess) -> RunReport | None:
    """The report of a run that has ended, with its tasks as they are now; None if it has none."""
    try:
        data = json.loads(run.report.read_bytes())
        ids = [int(task["id"]) for task in data["tasks"]]
        untested_ids = [int(number) for number in data["untested"]]
        waiting = [(int(entry["id"]), str(entry["why"])) for entry in data["waiting"]]
        ended_by = str(data["ended_by"] or "")
    except (OSError, ValueError, TypeError, KeyError):
        return None
    tasks = {task.id: task for task in reader.store.tasks(reader.key, ids=[*ids, *(number for number, _ in waiting)])}
    return RunReport(
        tuple(tasks[number] for number in ids if number in tasks),
        tuple((tasks[number], why) for number, why in waiting if number in tasks),
        ended_by=ended_by,
        untested=frozenset(untested_ids),
    )


def _new_log(app: App) -> Path:
    refuse_inside_phase()
    folder = app.home / "projects" / app.key / "runs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # a screen starts several in one second
    return folder / f"{time.strftime('%Y-%m-%d-%H%M%S')}-{os.getpid()}-{next(_numbers)}.log"


_numbers = count(1)


def _start(app: App, argv: Sequence[str], output: IO[bytes], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    for file in (output, errors):
        os.fchmod(file.fileno(), 0o600)
    return subprocess.Popen(
        # -P: no module of the checkout is imported
        [sys.executable, "-P", "-m", "burnish.cli", *argv],
        cwd=app.repo.root,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        start_new_session=True,
    )

"""Progress as plain lines: for logs, pipes and terminals that cannot do more."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from burnish.cli import progress_text as story
from burnish.cli.output import BY_STATUS, coloured, is_plain, paint, tell
from burnish.cli.text import clean
from burnish.core.event import RecordedEvent
from burnish.core.flow import RUNNING
from burnish.core.journal import CheckResult, read
from burnish.core.recorded_reviews import tests_ran
from burnish.core.status import Status
from burnish.core.task import Task


class PlainProgress:
    """Lines on stderr. `several` puts the task's number before each."""

    def __init__(self, *, several: bool, verbose: bool) -> None:
        self.several = several
        self.verbose = verbose
        self.lock = threading.Lock()
        self.met: set[int] = set()
        self.rested: set[int] = set()
        self.untested: set[int] = set()
        self.colour = coloured(sys.stderr)

    def event(self, task: Task, event: RecordedEvent) -> None:
        with self.lock:
            if task.id not in self.met:
                self.met.add(task.id)
                self.write(story.opening(task))
            if event.type == "phase.finished" and (result := read(CheckResult, event.data)).phase == "check":
                ran = tests_ran(result.checks)
                (self.untested.discard if ran else self.untested.add)(task.id)
            words = story.line(task, event)
            if words:
                self.write(f"{self._whose(task.id)}{words}")
            for line in story.printed(event):
                self.write(f"{self._whose(task.id)}  │ {line}")
            self._rest(task)

    def output(self, task_id: int, line: str) -> None:
        if self.verbose:
            with self.lock:
                self.write(f"{self._whose(task_id)}  │ {clean(line.rstrip())}")

    def note(self, text: str) -> None:
        with self.lock:
            self.write(clean(text))

    def close(self) -> None:
        """Nothing to restore on the screen."""

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the screen to a question."""
        yield

    def write(self, text: str) -> None:
        tell(text)

    def _whose(self, task_id: int) -> str:
        return f"T{task_id} " if self.several else "  "

    def _rest(self, task: Task) -> None:
        """Print the result of a task once, as soon as it ends: with several tasks the run may take much longer."""
        if task.status in RUNNING or task.status is Status.BACKLOG:
            self.rested.discard(task.id)
        elif self.several and task.id not in self.rested:
            self.rested.add(task.id)
            self.write(
                paint(
                    story.result(task, has_tests=task.id not in self.untested), BY_STATUS[task.status], on=self.colour
                )
            )


class QuietProgress(PlainProgress):
    """-q: print no progress."""

    def event(self, task: Task, event: RecordedEvent) -> None:
        """Not shown."""

    def output(self, task_id: int, line: str) -> None:
        """Not shown."""

    def note(self, text: str) -> None:
        """Not shown."""


def watcher(*, several: bool, quiet: bool, verbose: bool) -> PlainProgress:
    """The progress that suits where stderr goes."""
    if quiet:
        return QuietProgress(several=several, verbose=False)
    # -v prints every line of output: a line that redraws itself below would only flicker.
    if sys.stderr.isatty() and not verbose and not is_plain() and os.environ.get("TERM") != "dumb":
        from burnish.cli.live import LiveProgress

        return LiveProgress(several=several)
    return PlainProgress(several=several, verbose=verbose)

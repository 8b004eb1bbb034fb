"""Progress on a terminal: past events, and below them one live line per running task."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console, Group
from rich.live import Live as Screen
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from burnish.cli import progress
from burnish.cli.output import cut, duration, one_line, width
from burnish.cli.progress import PlainProgress
from burnish.core.cost import short_cost
from burnish.core.event import RecordedEvent
from burnish.core.flow import RUNNING
from burnish.core.journal import read
from burnish.core.journal_events import PhaseStarted
from burnish.core.task import Task


@dataclass(slots=True)
class Row:
    """A task at work."""

    task: Task
    words: str
    since: float
    spinner: Spinner
    last_output: str = ""


class LiveProgress(PlainProgress):
    """The same lines as `Plain`, and below them what runs now, with a spinner and the time it has taken."""

    def __init__(self, *, several: bool) -> None:
        super().__init__(several=several, verbose=False)
        self.rows: dict[int, Row] = {}
        self.console = Console(file=sys.stderr, highlight=False)
        self.screen = Screen(
            get_renderable=self.draw,
            console=self.console,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
        )
        self.screen.start()

    def event(self, task: Task, event: RecordedEvent) -> None:
        with self.lock:
            if task.status not in RUNNING:
                self.rows.pop(task.id, None)
            elif event.type == "phase.started":
                words = progress.STARTS.get(read(PhaseStarted, event.data).phase, "Working…")
                counter = progress.counter(task, event.cycle)
                self.rows[task.id] = Row(task, f"{counter} {words}", time.monotonic(), Spinner("dots"))
            elif event.type in ("phase.finished", "phase.failed"):
                self.rows.pop(task.id, None)
        if event.type == "phase.started":
            return  # the live line shows it
        super().event(task, event)

    def output(self, task_id: int, line: str) -> None:
        text = one_line(line)
        row = self.rows.get(task_id)
        if row and text:
            row.last_output = text

    def write(self, text: str) -> None:
        message, room = Text.from_ansi(text), self.console.width
        # further lines are indented to the text, not to the counter
        by = text.index("] ") + 2 if "/" in text[:12] and "] " in text[:16] else 2
        if message.cell_len <= room:
            self.console.print(message)
            return
        first, *more = message.wrap(self.console, room - by)
        self.console.print(Text("\n").join([first, *(Text(" " * by) + line for line in more)]))

    def close(self) -> None:
        self.screen.stop()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Stop redrawing while the user reads and types."""
        self.screen.stop()
        try:
            yield
        finally:
            self.screen.start()

    def draw(self) -> Group:
        # Called from the screen's own thread; a copy, so that no lock is held while drawing.
        return Group(*(self._draw_row(row) for row in list(self.rows.values())))

    def _draw_row(self, row: Row) -> Table:
        room = self.console.width
        title = cut(one_line(row.task.spec.title), max(10, room // 3))
        words = short_cost(row.task.cost_usd, row.task.cost_source)
        cost = f"  {words}" if words else ""
        words = f"T{row.task.id} {title}  {row.words}  {duration(time.monotonic() - row.since)}{cost}"
        grid = Table.grid(padding=(0, 1))
        tail_room = room - width(words) - 8
        tail = Text(cut(row.last_output, tail_room), style="dim") if tail_room > 12 else Text("")
        grid.add_row(row.spinner, Text(words, no_wrap=True, overflow="ellipsis"), tail)
        return grid

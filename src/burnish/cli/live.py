"""Progress on a terminal: past events, and below them one live line per running task."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from rich.console import Console, Group
from rich.live import Live as Screen
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from burnish.cli import progress
from burnish.cli.output import cut, duration, one_line, width
from burnish.cli.progress import PlainProgress
from burnish.core.agent import Use
from burnish.core.cost import short_cost
from burnish.core.event import RecordedEvent
from burnish.core.flow import RUNNING
from burnish.core.journal import read
from burnish.core.journal_events import PhaseProgress, PhaseStarted
from burnish.core.task import Task
from burnish.core.transcript import INDENT

# columns that the action gets before the title does, and the fewest that a title is cut to
_ACTION_ROOM = 48
_TITLE_ROOM = 12
_END = re.compile(r" \((?:exit code -?\d+|failed)\)\Z")


@dataclass(slots=True)
class LiveRow:
    """A task at work."""

    task: Task
    words: str
    since: float
    spinner: Spinner
    last_output: str = ""
    # of the running calls
    use: Use = field(default_factory=Use)


class LiveProgress(PlainProgress):
    """The same lines as `Plain`, and below them what runs now, with a spinner and the time it has taken."""

    def __init__(self, *, several: bool) -> None:
        super().__init__(several=several, verbose=False)
        self.rows: dict[int, LiveRow] = {}
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
                self.rows[task.id] = LiveRow(task, f"{counter} {words}", time.monotonic(), Spinner("dots"))
            elif event.type in ("phase.finished", "phase.failed"):
                self.rows.pop(task.id, None)
            elif event.type == "phase.progress" and (row := self.rows.get(task.id)):
                until = read(PhaseProgress, event.data).until
                row.last_output = f"waits until {datetime.fromisoformat(until).astimezone():%H:%M}" if until else ""
        if event.type == "phase.started":
            return  # the live line shows it
        super().event(task, event)

    def output(self, task_id: int, line: str) -> None:
        text = one_line(line)
        row = self.rows.get(task_id)
        # what is indented is the detail of the line before
        if row and text and not line.startswith(INDENT):
            row.last_output = text

    def spent(self, task_id: int, use: Use) -> None:
        if row := self.rows.get(task_id):
            row.use = use

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

    def _draw_row(self, row: LiveRow) -> Table:
        """Number, phase, time and cost always; then what the agent does; the title where there is room for both."""
        room = self.console.width - 3
        cost = short_cost((row.task.cost_usd or 0.0) + (row.use.usd or 0.0), row.task.cost_source)
        words = "  ".join(filter(None, (row.words, duration(time.monotonic() - row.since), cost)))
        name = f"T{row.task.id} "
        rest = room - width(name) - width(words) - 2
        action = row.last_output
        title = one_line(row.task.spec.title)
        title_room = min(width(title), rest - min(width(action), _ACTION_ROOM) - 2 if action else rest - 2)
        if title_room >= _TITLE_ROOM or title_room >= width(title):
            name += f"{cut(title, title_room)}  "
            rest -= title_room + 2
        grid = Table.grid(padding=(0, 1))
        tail = Text(_cut_action(action, rest), style="dim") if rest > 8 else Text("")
        grid.add_row(row.spinner, Text(f"{name}{words}", no_wrap=True, overflow="ellipsis"), tail)
        return grid


def _cut_action(action: str, room: int) -> str:
    """Keep how a command ended: it comes last."""
    match = _END.search(action)
    if match is None or width(action) <= room or room < _TITLE_ROOM + width(match[0]):
        return cut(action, room)
    return f"{cut(action[: match.start()], room - width(match[0]))}{match[0]}"

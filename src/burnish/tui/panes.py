"""The pages of one task, and windows on several agents at work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container, Vertical

from burnish.core.cost import known_cost
from burnish.core.status import Reason, Status
from burnish.core.task import Task
from burnish.core.transcript import Row, RowKind
from burnish.tui import pages
from burnish.tui.fields import Bar, BarItem
from burnish.tui.lines import LineView, ShownLine, plain, prose, styled, verbatim
from burnish.views.board import TaskCard
from burnish.views.status import cycles_words, review_words, status_words

if TYPE_CHECKING:
    from burnish.agents.steps import AnswerLines
    from burnish.runtime.requests import LogFile
    from burnish.tui.project import TaskDetails

# lines of one view of a transcript
MAX_LINES = 5_000
# pieces of one output that are read at once; further ones come with the next look
_MAX_PIECES = 8
# lines of an edit or of the output of a command
_MAX_DETAILS = 12
_MARKS = {
    RowKind.READ: "dim",
    RowKind.SEARCHED: "dim",
    RowKind.EDITED: "cyan",
    RowKind.RAN: "blue",
    RowKind.ASKED: "yellow",
    RowKind.USED: "blue",
}
TABS = {"overview": "Overview", "transcript": "Transcript", "findings": "Findings", "diff": "Diff"}
TAB_KEYS = {"overview": "o", "transcript": "t", "findings": "i", "diff": "d"}
_MAX_TILES = 6
_TILE_WIDTH = 60


class TaskPane(Vertical):
    """One task: its head, the names of its pages, and one of them."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.details: TaskDetails | None = None
        self.tab = "overview"
        # the content that is shown: a page is not drawn again if it is the same
        self._drawn: object = None
        self._drawn_tab = ""
        # `3 files +10 -2`: the change of the task
        self.size_words = ""

    def compose(self) -> ComposeResult:
        yield LineView(id="task-head")
        yield Bar(id="tabs", gap=" ")
        yield LineView(id="page")

    @property
    def page(self) -> LineView:
        return self.query_one("#page", LineView)

    def on_mount(self) -> None:
        self.query_one("#task-head").can_focus = False
        self.watch(self.page, "scroll_y", self.show_tabs, init=False)

    def has_several(self, prefix: str) -> bool:
        """Whether the page has two lines with such a key, so that a key can jump between them."""
        return sum(line.key.startswith(prefix) for line in self.page.lines) > 1

    def jump_to(self, key: str) -> None:
        """Put the line with this key at the top."""
        number = next((n for n, line in enumerate(self.page.lines) if line.key == key), None)
        if number is not None:
            self.page.go_to(number)

    def _heading_above(self) -> ShownLine | None:
        """The heading of the file of a diff that is at the top of the page, or that was jumped to."""
        top, lines = self.page.top_line() if self.page.place is None else self.page.place, self.page.lines
        lines_above = reversed(lines[: top + 1]) if self.tab == "diff" else ()
        return next((line for line in lines_above if line.key.startswith("file:")), None)

    @property
    def file_number(self) -> int:
        """The number of that file; 0 above the first one."""
        line = self._heading_above()
        return int(line.key.partition(":")[2]) if line else 0

    @property
    def marked_file(self) -> int | None:
        """The number of the file of the diff whose heading was jumped to."""
        key = self.page.lines[self.page.place].key if self.page.place is not None else ""
        return int(key.removeprefix("file:")) if key.startswith("file:") else None

    @property
    def marked_finding(self) -> str:
        """The key of the finding that was jumped to; "" for none."""
        key = self.page.lines[self.page.place].key if self.page.place is not None else ""
        return key if key.startswith("finding:") else ""

    @property
    def chosen_finding(self) -> str:
        """The one that was jumped to; on the page of findings otherwise the first one on the screen."""
        if self.marked_finding or self.tab != "findings":
            return self.marked_finding
        following = (line.key for line in self.page.lines[self.page.top_line() :] if line.key.startswith("finding:"))
        return next(following, "")

    def _place(self) -> str:
        line = self._heading_above()
        if line is None:
            return ""
        total = sum(one.key.startswith("file:") for one in self.page.lines)
        return f"{self.file_number + 1}/{total} {line.text.plain.partition('  ')[0]} "

    def clear(self, words: str) -> None:
        self.details, self._drawn = None, None
        self.query_one("#task-head", LineView).show([])
        self.query_one("#tabs", Bar).show(())
        self.page.show(prose(words, "dim"))

    def show_head(self, details: TaskDetails) -> None:
        """The head and the tabs; the page is drawn by `draw`."""
        is_other = self.details is None or self.details.task.id != details.task.id
        self.details = details
        self.query_one("#task-head", LineView).show_fitted(partial(head_lines, details))
        if is_other:
            self.size_words = ""
        self.show_tabs()
        if is_other:
            self._drawn = None
            self.page.show([])
            self.page.jump(0)

    def show_tabs(self) -> None:
        numbers = {"findings": sum(view.finding.alive for view in self.details.findings) if self.details else 0}
        items = []
        for name, label in TABS.items():
            count = f" {numbers[name]}" if numbers.get(name) else ""
            style = "reverse bold" if name == self.tab else ""
            items.append(BarItem(f" {TAB_KEYS[name]} {label}{count} ", style, f"app.tab('{name}')"))
        size = f"{self.size_words} " if self.size_words and self.tab != "diff" else ""
        self.query_one("#tabs", Bar).show(items, self._place() or size)

    def shows_diff_of(self, number: int) -> bool:
        """Whether a diff of this task is on the screen, perhaps an old one."""
        return isinstance(self._drawn, tuple) and self._drawn[:2] == ("diff", number)

    def is_drawn(self, content: object) -> bool:
        return self._drawn == content

    def draw(self, lines: Sequence[ShownLine], content: object) -> None:
        """Show a page, from the top if it is another one. `content` stands for what is on it."""
        if not self.is_drawn(content):
            is_same_page = self._drawn_tab == self.tab and self._drawn is not None
            self._drawn, self._drawn_tab = content, self.tab
            key, rows = self.page.reading_place()
            self.page.show(lines)
            if not is_same_page:
                self.page.jump(0)
            elif key:
                self.page.return_to(key, rows)

    def follow(self, lines: Sequence[ShownLine]) -> None:
        """More of a transcript. The first time, show its end."""
        is_first = not self.page.lines
        if is_first and not lines:
            lines = prose("No output yet.", "dim")
        self.page.append(lines, most=MAX_LINES)


def head_lines(details: TaskDetails, width: int) -> list[ShownLine]:
    """The title, and the facts that fit in one row, without the last ones that do not."""
    task, head = details.task, details.head
    title = styled(f"T{task.id} ", "bold cyan") + styled(plain(task.spec.title), "bold")
    facts: list[Text] = [styled(status_words(task.status), f"bold {pages.TONES[head.tone]}".strip())]
    # who rejected it is told by what became of the review
    has_cause = task.status is not Status.BACKLOG and task.reason is not Reason.HUMAN_REJECTED
    # the most important one first
    words = [
        "paused" if task.is_paused else "",
        plain(str(task.reason or task.error or "")).replace("_", " ").lower() if has_cause else "",
        cycles_words(task) if task.cycle else "",
        _outcome(details, f"review {review_words(task)}") if task.review_status else "",
        f"{task.open_findings} open" if task.open_findings else "",
        plain(task.agent or task.spec.agent or ""),
        known_cost(task.cost_usd, task.cost_source),
        # the page has more of it
        details.shown_commit[:8],
        plain(" ".join(f"#{tag}" for tag in task.spec.tags)),
    ]
    facts += [styled(word, "dim") for word in words if word]
    while len(facts) > 1 and _joined_facts(facts).cell_len > width:
        del facts[-1]
    return [ShownLine(title), ShownLine(_joined_facts(facts))]


def _joined_facts(facts: Sequence[Text]) -> Text:
    return styled(" · ", "dim").join(facts)


def _outcome(details: TaskDetails, review: str) -> str:
    """What became of the last review that gave a verdict."""
    cycles = (cycle for run in details.story.runs for cycle in run.cycles)
    newest = next((cycle for cycle in cycles if cycle.verdict), None)
    return pages.outcome_words(newest.verdict, review, newest.but) if newest else pages.outcome_words("", review)


# -- live -----------------------------------------------------------------------------------------


class LivePane(Container):
    """A window for each task at work, as many as there is room for."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.followers: dict[int, Follower] = {}

    def compose(self) -> ComposeResult:
        yield LineView(id="live-empty")

    def prepare(self) -> None:
        """Make the windows, when they are needed for the first time."""
        if not self.query(".tile"):
            for number in range(_MAX_TILES):
                title, lines = Bar(id=f"tile-title-{number}"), LineView(id=f"tile-lines-{number}")
                self.mount(Vertical(title, lines, classes="tile", id=f"tile-{number}"))

    @property
    def is_ready(self) -> bool:
        """Whether the windows are made."""
        return len(self.query(".tile LineView")) == _MAX_TILES

    def show(self, cards: Sequence[TaskCard], open_follower: Callable[[int], Follower], nothing: str) -> None:
        """Other tasks may be at work by now; `nothing` is said if there is none."""
        ids = [card.id for card in cards[:_MAX_TILES]]
        self.followers = {number: self.followers.get(number) or open_follower(number) for number in ids}
        self.fit_columns()
        self.query_one("#live-empty", LineView).show(prose(nothing, "dim"))
        self.query_one("#live-empty").display = not ids
        for place in range(_MAX_TILES):
            tile = self.query_one(f"#tile-{place}")
            tile.display = place < len(ids)
            if place < len(ids):
                card, title = cards[place], self.query_one(f"#tile-title-{place}", Bar)
                words = f"T{card.id} {plain(card.title)}"
                state = f"{card.limit or card.doing} {card.cycle}".strip()
                state = (
                    state if place < _MAX_TILES - 1 or len(cards) <= len(ids) else f"and {len(cards) - len(ids)} more"
                )
                title.kept = cell_len(state) + 2
                title.show([BarItem(words, "bold", f"app.open_task({card.id})")], state)

    @property
    def focused_task(self) -> int:
        """The task whose window has the focus, or the only one; 0 for none."""
        places = dict(enumerate(self.followers))
        focused = [number for place, number in places.items() if self.query_one(f"#tile-lines-{place}").has_focus]
        return focused[0] if focused else places[0] if len(places) == 1 else 0

    def fit_columns(self) -> None:
        """As many windows side by side as there is room for."""
        most = max(1, self.size.width // _TILE_WIDTH)
        levels = max(1, -(-len(self.followers) // most))
        self.styles.grid_size_columns = max(1, -(-len(self.followers) // levels))

    def on_resize(self) -> None:
        """It has no size until it is drawn for the first time."""
        self.fit_columns()

    def add(self, lines: Mapping[int, Sequence[ShownLine]]) -> None:
        """What was read since the last look, by task."""
        for place, number in enumerate(self.followers):
            view = self.query_one(f"#tile-lines-{place}", LineView)
            follower = self.followers[number]
            if follower.place != place:
                # another task had this window
                follower.place = place
                view.show(follower.lines, at_end=True)
            elif lines.get(number):
                view.append(lines[number], most=MAX_LINES)


# -- transcripts ----------------------------------------------------------------------------------


@dataclass(eq=False)
class Follower:
    """Reads what the agents and checks of a task say and do, as it grows."""

    folder: Path
    # for a small window: only the calls of agents in the newest cycle
    is_brief: bool = False
    # everything that was read
    lines: list[ShownLine] = field(default_factory=list)
    # the window that shows it
    place: int = -1
    _offsets: dict[Path, int] = field(default_factory=dict)
    _last: Path | None = None
    _answers: dict[Path, AnswerLines] = field(default_factory=dict)

    def more(self) -> list[ShownLine]:
        lines = [line for file in self._files() for line in self._new_lines(file)]
        self.lines = [*self.lines, *lines][-MAX_LINES:]
        return lines

    def _files(self) -> list[LogFile]:
        # the first of the features that are needed: they are loaded when the screen is drawn already
        from burnish.features.tasks.logs import find_logs

        files = [file for file in find_logs(self.folder) if not file.kind.endswith("prompt")]
        attempts = {_attempt(file) for file in files if file.is_transcript}
        # beside a transcript, the raw output of its program adds nothing
        files = [file for file in files if file.is_transcript or file.path.parent not in attempts]
        if self.is_brief and files:
            newest = max((file.run, file.cycle) for file in files)
            files = [file for file in files if (file.run, file.cycle) == newest and file.name.startswith("calls:")]
        return files

    def _new_lines(self, file: LogFile) -> Iterator[ShownLine]:
        lines = list(self._rows(file) if file.is_transcript else self._output(file))
        if lines and self._last != file.path:
            self._last = file.path
            yield _call_heading(file)
        yield from lines

    def _rows(self, file: LogFile) -> Iterator[ShownLine]:
        from burnish.agents.transcript import read_rows

        rows, self._offsets[file.path] = read_rows(file.path, self._offsets.get(file.path, 0))
        for row in rows:
            yield from row_lines(row)

    def _output(self, file: LogFile) -> Iterator[ShownLine]:
        from burnish.features.server.task_output import Output, piece
        from burnish.features.tasks.logs import is_sarif

        if file.path not in self._offsets and is_sarif(file.path):
            self._offsets[file.path] = file.path.stat().st_size
            yield ShownLine(styled("SARIF report", "dim"))
            return
        # of what is there already, the end
        at = self._offsets.get(file.path, -1)
        for _ in range(_MAX_PIECES):
            chunk = piece(Output(file, 0), at)
            lines = chunk.text.removesuffix("\n").split("\n") if chunk.text else []
            is_last = chunk.next in (at, chunk.size)
            yield from self._read_lines(file, lines, is_last=is_last)
            self._offsets[file.path] = at = chunk.next
            if is_last:
                return

    def _read_lines(self, file: LogFile, lines: list[str], *, is_last: bool) -> Iterator[ShownLine]:
        """Lines of output; a reviewer's verdict in words."""
        from burnish.adapters.redaction import secrets_from_environment
        from burnish.agents.steps import AnswerLines
        from burnish.features.tasks.logs import ENDED, resting_seconds

        if not file.is_review:
            yield from (ShownLine(styled(verbatim(line))) for line in lines)
            return
        answer = self._answers.setdefault(file.path, AnswerLines(secrets_from_environment().redact))
        for line in lines:
            shown = answer.take(line)
            yield from [ShownLine(styled(verbatim(line)))] if shown == [line] else prose("\n".join(shown))
        if is_last and resting_seconds(file.path) > ENDED:
            yield from prose("\n".join(answer.end()), is_verbatim=True)


def _attempt(transcript: LogFile) -> Path:
    """The folder of the attempt."""
    return transcript.path.with_name(transcript.path.name.removesuffix("-transcript.jsonl"))


def _call_heading(file: LogFile) -> ShownLine:
    cycle = f"cycle {file.cycle} " if file.cycle else ""
    kind = file.kind.removesuffix("transcript").removesuffix("stdout").strip()
    attempt = f", attempt {file.attempt}" if file.attempt > 1 else ""
    words = f"{cycle}{file.phase}{attempt}{f', {kind}' if kind else ''}"
    return ShownLine(styled(f"── {verbatim(words)} ──", "bold"), key=f"call:{file.name}")


def row_lines(row: Row) -> Iterator[ShownLine]:
    """A row for people: what was said in full, an action with the first lines of its detail."""
    match row.kind:
        case RowKind.SAID:
            yield from prose(row.text)
        case RowKind.THOUGHT:
            yield from prose(row.text, "dim italic", indent=2)
        case RowKind.ERROR:
            yield from prose(row.text, "red", is_verbatim=True)
        case _:
            style = "red" if row.exit_code or row.has_failed else _MARKS[row.kind]
            yield ShownLine(styled(verbatim(row.line()), style), styled("• ", style))
            details = [line for line in row.detail.split("\n") if line]
            for line in details[:_MAX_DETAILS]:
                colour = {"+": "green", "-": "red"}.get(line[:1], "dim")
                yield ShownLine(styled(verbatim(line), colour), styled("    "), is_code=True)
            if len(details) > _MAX_DETAILS:
                yield ShownLine(styled(f"… {len(details) - _MAX_DETAILS} more lines", "dim"), styled("    "))


def follower_of(tasks_folder: Path, task: Task, *, is_brief: bool = False) -> Follower:
    return Follower(tasks_folder / task.name, is_brief)

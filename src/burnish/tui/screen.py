"""The screen, kept up to date: reads views in the background and draws them."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from rich.cells import cell_len
from textual import events, on
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from burnish.core.status import Status
from burnish.errors import BurnishError
from burnish.tui import pages, rows
from burnish.tui.acts import Order, keys_of, with_keys
from burnish.tui.fields import Bar, BarItem, FilterField, SearchField
from burnish.tui.lines import (
    LineView,
    PickList,
    ShownLine,
    message_line,
    plain,
    prose,
    styled,
)
from burnish.tui.orders import NotMerged
from burnish.tui.panes import Follower, LivePane, TaskPane, follower_of
from burnish.tui.project import BoardState, ProjectData, TaskDetails

if TYPE_CHECKING:
    from burnish.core.task import Task
    from burnish.features.run.detach import ScreenRun
    from burnish.tui.dialogs import NoticeDialog
    from burnish.views.diff import Diff

T = TypeVar("T")

# below this width, the list and a task are shown in turn
WIDE = 110
_POLL_SECONDS = 0.25
_FOLLOW_SECONDS = 0.4
# the statuses in which a run leaves a task, with their colours
_ENDS = {
    Status.VERIFIED: ("is approved", "green"),
    Status.COMPLETED: ("is done", "green"),
    Status.WAITING_APPROVAL: ("waits for your approval", "yellow"),
    Status.BLOCKED: ("is blocked", "yellow"),
    Status.FAILED: ("failed", "red"),
    Status.CANCELLED: ("was cancelled", ""),
}
READING = "Reading the task…"
NO_AGENT_WORKS = "No agent is at work. 1 shows the tasks; g starts the selected one there."
RUN_STARTS = "The run is under way; no agent of it is at work now. 1 shows the tasks."
SINCE_REVIEW = ("The diff shows only what changed since the last review.", "u: all of it")
NOT_COMMITTED = "Nothing is committed yet."
WHOLE_CHANGE = "The diff shows the whole change."
NO_REVIEW = "No earlier commit was reviewed: the diff shows the whole change."
# where the token of a diff says that it begins at the last review
_SINCE = 4
_NOTHING_EARLIER = "no earlier commit was reviewed: this is all of it"
# a list with ages is drawn again so often, and so often while agents work
_AGE_SECONDS = 10.0
_WORK_SECONDS = 1.0
# from a signal to the end of the process, whatever the terminal does
_END_SECONDS = 5.0
# in the bar only where there is room for them: rarely wanted, or named on the page of the diff
_LAST_KEYS = "eR"
# until windows on agents are made
_WINDOW_SECONDS = 0.05


def viewed_files(diff: Diff, blobs: Mapping[str, str]) -> set[int]:
    """The numbers of the files whose content of now was viewed."""
    return {file.number for file in diff.files if blobs.get(file.path) == file.file.new_blob}


class ProjectScreen(App[str]):
    """Tasks or the inbox, and the selected task; or agents at work."""

    CSS_PATH = "style.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, data: ProjectData, state: BoardState, run: ScreenRun | None = None) -> None:
        # colours of the terminal: it may be light or dark, and NO_COLOR then leaves none
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.animation_level = "none"
        self.data, self.board, self.run_of = data, state, run
        self.view = "tasks"
        self.filter_text = ""
        # what was selected when the filter was opened
        self._filtered_from = ""
        # the line of the page that was at the top when the search was opened
        self._search_from = 0
        # the diff begins at the last review; and whether the person has just asked for where it begins
        self.since_review = self.is_beginning_asked = False
        # what came after the selected task in the inbox, and then what came before it
        self.following_ids: list[int] = []
        # what takes the last act back, if something can
        self.undo_order: Order | None = None
        # what the last act is called
        self.last_label = ""
        # texts that were typed and not sent, by the titles of their boxes
        self.unsent: dict[str, str] = {}
        # the task whose outcome is shown: it stays in the list until the cursor leaves it
        self.acted_on = 0
        # the tasks of the last acts, as long as a state that was read before their end may come
        self.acted_tasks: set[int] = set()
        # what is said when the cursor is on this task
        self.said_on_arrival = (0, "")
        # the tasks whose runs acts have started: their ends are said
        self.awaited: set[int] = set()
        # waits until the task is read
        self.notice: NoticeDialog | None = None
        # acts that are being carried out
        self.pending: list[str] = []
        self._version = data.store.version
        self._is_loading = self._is_following = False
        self._wanted = self._loaded = 0
        self._follower: Follower | None = None
        # the change on the page, the files of it that are being marked as viewed, and the line to go to then
        self.diff: Diff | None = None
        self.marked: set[int] = set()
        # viewed files of it that a search has unfolded, and the step that the search takes when they are shown
        self.unfolded: set[str] = set()
        self.step_to_take = 0
        # the key for the next task was pressed before the inbox was read, and no other key since
        self.is_next_wanted = False
        # the task that the message names as the next one
        self.named_next = 0
        # the file that marking one has led to
        self.left_at: int | None = None
        self.next_line = ""
        self._redrawn_at = 0.0
        self._has_ended = False
        self._first_key = ""
        # the message is over with the next key
        self._is_brief = False
        # what an act does that takes long, and whether the message is about an act that was begun
        self.progress = ""
        self.is_act_message = False
        # for each key what was shown when it was typed
        self._typed_at: WeakKeyDictionary[events.Key, tuple[Screen[Any], Widget | None]] = WeakKeyDictionary()

    def compose(self) -> ComposeResult:
        yield Bar(id="top", gap=" ")
        with Horizontal(id="middle"):
            yield PickList(id="list")
            yield TaskPane(id="task")
            yield LivePane(id="live")
        yield FilterField(id="filter", placeholder="words, status:blocked or tag:login", beside="#list")
        yield SearchField(id="find", placeholder="search this page", beside="#page")
        yield Static(id="message")
        yield Bar(id="keys")

    def on_mount(self) -> None:
        self._adapt(self.size.width)
        self.picks.focus()
        self._draw_list()
        self._first_key = self.picks.key
        if self.run_of:
            self._select_first_of(self.run_of.ids)
        if self.number:
            self.pane.clear(READING)
        self.say("The run starts…" if self.run_of else "", style="dim")
        self._load_state()
        self.call_after_refresh(gc.enable)
        if self.run_of:
            # a thread that checks and starts it would slow down the first screen
            self.after_drawing(self._begin_run)
        if not self.is_headless:
            self._end_on_signals()
        self.set_interval(_POLL_SECONDS, self._poll)
        self.set_interval(_FOLLOW_SECONDS, self._follow)

    def _select_first_of(self, ids: Sequence[int]) -> None:
        """Select the first of these tasks that is listed."""
        keys = {line.key for line in self.picks.lines}
        key = next((key for number in ids if (key := f"task:{number}") in keys), "")
        if key:
            self.picks.move_to(key)
            self._first_key = ""
            # the list has no place on the screen yet
            self.after_drawing(lambda: self.picks.move_to(self.picks.key))

    def _end_on_signals(self) -> None:
        """Close the screen in its own loop: an exception there would leave threads that wait for the loop."""
        loop = asyncio.get_running_loop()

        def end(*_: object) -> None:
            loop.call_soon_threadsafe(self.exit, "signal")
            last_resort = threading.Timer(_END_SECONDS, self._end_at_once)
            last_resort.daemon = True
            last_resort.start()

        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, end)

    def _begin_run(self) -> None:
        if self.run_of:
            self._in_background(self.run_of.begin, lambda _: self._take_run(), "run")

    def _take_run(self) -> None:
        if self.run_of and self.run_of.process is None:
            # it was refused, or interrupted before it was started
            self.exit("")
        elif self.run_of and not self.run_of.is_interrupted:
            words = "Tasks wait for you after each review: a, r, f."
            self.say(words if self.run_of.asks else "The run is under way.", "3: the agents at work")
            # at the top it no longer starts
            self._draw_bars()

    def _end_at_once(self) -> None:
        """Without a last word to the terminal: if it is not read (Ctrl-S), the loop waits for it for ever."""
        if self.run_of and not self.run_of.is_over:
            self.run_of.interrupt()
        os._exit(130)

    # parts of the screen

    @property
    def picks(self) -> PickList:
        return self.query_one("#list", PickList)

    @property
    def pane(self) -> TaskPane:
        return self.query_one("#task", TaskPane)

    @property
    def details(self) -> TaskDetails | None:
        """The task that is on the screen; None if it is not to be seen."""
        details = self.pane.details
        is_selected = details is not None and f"task:{details.task.id}" == self.picks.key
        return details if is_selected and self.pane.display and self.view != "live" else None

    @property
    def number(self) -> int:
        """The selected task; 0 for none."""
        return int(self.picks.key.partition(":")[2] or 0)

    def _adapt(self, width: int) -> None:
        main = self.screen_stack[0]
        main.set_class(width < WIDE, "narrow")
        main.set_class(self.view == "live", "live")

    def on_resize(self, event: events.Resize) -> None:
        self._adapt(event.size.width)
        self.after_drawing(self._draw_bars)

    @on(events.DescendantFocus)
    def _name_slash(self) -> None:
        self._draw_bars()

    @property
    def is_open(self) -> bool:
        """Whether its parts are there: not before they are made, nor while the screen is closed."""
        return bool(self.screen_stack and self.query("#task-head") and self.query("#keys"))

    def action_next(self) -> None:
        """Go to the next task that needs the person."""
        raise NotImplementedError

    def _draw_bars(self) -> None:
        if not self.is_open:
            return
        board = self.board
        waiting = board.waiting
        in_inbox = f"{board.ready} to merge" if board.ready and not waiting else str(waiting)
        numbers = {"tasks": str(len(board.cards)), "inbox": in_inbox, "live": str(len(board.running))}
        items = [BarItem(f" {plain(self.data.name)} ", "bold")]
        for name, label in (("tasks", "1 Tasks"), ("inbox", "2 Inbox"), ("live", "3 Live")):
            style = "reverse bold" if name == self.view else "yellow" if name == "inbox" and waiting else ""
            items.append(BarItem(f" {label} {numbers[name]} ", style, f"app.view('{name}')"))
        if self.filter_text:
            items.append(BarItem(f" filter: {plain(self.filter_text)} ", "yellow", "app.filter"))
        top = self.query_one("#top", Bar)
        top.kept = sum(cell_len(item.text) + 1 for item in items[1:])
        top.show(items, f"{plain(self.progress)} " if self.progress else self._run_words())
        self.query_one("#keys", Bar).show([BarItem(""), *self._hints()])

    def _hints(self) -> list[BarItem]:
        """The keys that do something now; on the right those that may be left out."""
        if self.query_one("#filter").has_class("shown"):
            # letters are text there
            return [
                BarItem("Enter To the list", "", "app.end_filter"),
                BarItem("Esc No filter", "", "app.clear_filter"),
            ]
        if self.query_one("#find").has_class("shown"):
            return [
                BarItem("Enter Next"),
                BarItem("↑ The one before"),
                BarItem("Esc Ends the search", "", "app.end_search"),
            ]
        board = self.board
        acts = keys_of(self.details) if self.details else []
        hints = [
            BarItem(f"{key} {label}", "bold" if key in "arfs" else "", f"app.act('{key}')")
            for key, label in acts
            if key not in _LAST_KEYS
        ]
        if self.view != "live" and self.number and self.details is None:
            hints.append(BarItem("Enter Open", "", "app.open"))
        if self.view == "live" and board.running:
            hints += [BarItem("Tab Window", "", "app.focus_next"), BarItem("Enter Open", "", "app.open")]
        if self.filter_text and self.picks.has_focus and self.view != "live":
            hints.append(BarItem("Esc No filter", "", "app.clear_filter"))
        always = [("n Next", "next"), ("? Help", "help"), ("q Quit", "leave"), (self._slash_words(), "filter")]
        always += [("^p Commands", "palette")]
        if self.details and self.pane.tab == "diff" and self.pane.has_several("file:"):
            always.insert(1, ("[ ] File", "jump(1, 'file:')"))
        if not self.picks.display:
            always.insert(-3, ("Esc List", "go_back"))
        if self.details and self.pane.tab == "diff" and self.diff and self.diff.files:
            always.insert(-3, ("V Viewed", "mark_viewed"))
        if board.ready > 1 and self.number in [entry.task.id for entry in board.ready_entries]:
            always.insert(0, (f"M Merge all {board.ready}", "merge_all"))
        hints += [BarItem(label, "", f"app.{action}") for label, action in always]
        return hints + [BarItem(f"{key} {label}", "", f"app.act('{key}')") for key, label in acts if key in _LAST_KEYS]

    def _slash_words(self) -> str:
        return "/ Search" if self.searched_view else "/ Filter"

    @property
    def searched_view(self) -> LineView | None:
        """The page or window that has the focus: `/` searches it. In a list it filters."""
        # also behind a box
        view = self.screen_stack[0].focused
        return view if isinstance(view, LineView) and not isinstance(view, PickList) else None

    def _run_words(self) -> str:
        if self.run_of is None:
            return ""
        if self.run_of.process is None:
            return "run starts "
        return "run ended: q prints its results " if self.run_of.is_over else "run under way "

    def _draw_list(self) -> None:
        build = rows.inbox_rows if self.view == "inbox" else rows.task_rows
        self.picks.show_fitted(build(self.board, self.filter_text, self._kept_row()))
        self._draw_bars()
        self._redrawn_at = time.monotonic()

    def _kept_row(self) -> rows.KeptRow | None:
        keys = [line.key for line in self.picks.lines if line.key]
        is_here = self.acted_on and self.acted_on == self.number and self.picks.key in keys
        return rows.KeptRow(self.acted_on, keys.index(self.picks.key)) if is_here else None

    def say(self, what: str, hint: str = "", style: str = "", *, is_brief: bool = False) -> None:
        """A message above the keys, until the next one; with `is_brief` until the next key."""
        self._is_brief, self.is_act_message, self.named_next = is_brief, False, 0
        line = self.query_one("#message", Static)
        what, hint = message_line(what), message_line(hint)
        text = styled(what, style) + styled(f"  {hint}" if hint else "", "dim")
        text.no_wrap = False
        line.update(text)
        line.set_class(bool(what), "shown")

    async def on_event(self, event: events.Event) -> None:
        """What a message is not needed for any more, when the person goes on, has its row again."""
        goes_on = isinstance(event, events.Key | events.MouseScrollDown | events.MouseScrollUp)
        # a key for a box is about the box: what was said behind it was not read yet
        if goes_on:
            self.is_next_wanted = False
        if self._is_brief and goes_on and not self.screen.is_modal:
            self.call_if_open(self.say, "")
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._typed_at[event] = self.screen, self.focused
        await super().on_event(event)

    async def _on_key(self, event: events.Key) -> None:
        """Nothing that had the key knows it. A key before it may have opened or closed a box or a field meanwhile."""
        screen, part = self._typed_at.pop(event, (self.screen, self.focused))
        if screen is self.screen and (part is self.focused or not isinstance(self.focused, FilterField)):
            return  # to the bindings
        event.prevent_default()
        if self.screen.is_modal:
            from burnish.tui.dialogs import Dialog

            if isinstance(self.screen, Dialog):
                self.screen.take_typed(event)
        elif not screen.is_modal:
            self.post_message(events.Key(event.key, event.character))

    # reading

    def _in_background(self, work: Callable[[], T], then: Callable[[T], None], group: str) -> None:
        """Read or act in a thread; errors that a user can act on are shown."""

        def job() -> None:
            try:
                result = work()
            except BurnishError as error:
                self._back(self._fail, group, error)
            else:
                self._back(then, result)

        self.run_worker(job, thread=True, group=group)

    def _back(self, function: Callable[..., Any], *values: Any) -> None:
        """Call it in the thread of the screen, which may be closed by now."""
        if self.is_running:
            with suppress(RuntimeError):
                self.call_from_thread(self.call_if_open, function, *values)

    def after_drawing(self, function: Callable[[], None]) -> None:
        """Call it when the changes so far are on the screen."""
        self.call_after_refresh(self.call_if_open, function)

    def call_if_open(self, function: Callable[..., Any], *values: Any) -> None:
        if self.is_open:
            function(*values)

    def _fail(self, group: str, error: BurnishError) -> None:
        self._is_loading = self._is_loading and group != "board"
        self._is_following = self._is_following and group != "follow"
        if group == "page":
            if self.is_beginning_asked:
                self.is_beginning_asked = False
                self.say("")
            self.pane.draw([*pages.trouble(error.what, error.hint)], ("trouble", self.number, error.what))
        elif isinstance(error, NotMerged):
            # another than the one that is on the screen already
            shown_id = self.details.task.id if self.details else 0
            following_id = next((number for number in error.ids if number != shown_id), 0)
            next_words = f"n: T{following_id}" if following_id else self.next_hint
            self.say(error.what, " · ".join(words for words in (next_words, error.hint) if words), "red")
            self.named_next = following_id
        else:
            details = self.pane.details
            self.say(error.what, with_keys(error.hint, details) if details else error.hint, "red")
        if group == "act":
            # what was refused may have changed the task nevertheless
            self._load_state()

    def _poll(self) -> None:
        """Ten microseconds if nothing has changed."""
        if not self.is_open:
            return
        if self.run_of and self.run_of.process and self.run_of.is_over and not self._has_ended:
            self._has_ended = True
            if self.run_of.is_interrupted:
                self.exit("")
                return
            self.say("The run has ended.", "q closes the screen and prints the results.", "bold")
            self._draw_bars()
            self._draw_live()
        version = self.data.store.version
        if version != self._version and not self._is_loading:
            self._version = version
            self._load_state()
        elif self.board.running or self.view == "inbox":
            seconds = _WORK_SECONDS if self.board.running else _AGE_SECONDS
            if time.monotonic() - self._redrawn_at > seconds:
                self._draw_list()

    def _load_state(self) -> None:
        self._is_loading = True
        self._in_background(self.data.state, self._take_state, "board")

    def _take_state(self, state: BoardState) -> None:
        self._is_loading = False
        # the first screen is drawn without the inbox: its first task may not be the first one now
        is_first = not self.board.has_inbox and self.picks.key == self._first_key
        # also of runs that others have started
        if not self.pending:
            running = {card.id for card in state.running}
            # the message of an act that checks or reviews the task itself, such as a merge, stays
            self.awaited |= {card.id for card in self.board.running} - running - self.acted_tasks
            self.acted_tasks &= running
        self.board = state
        self._note_place()
        self._draw_list()
        if is_first:
            self.picks.action_move(-len(state.cards))
        self._draw_live()
        self._load_details()
        self._say_end()
        if self.is_next_wanted:
            self.is_next_wanted = False
            self.action_next()

    def _say_end(self) -> None:
        """Say how runs ended that acts have started; of a task that is not on the screen until the next key."""
        cards = [one for one in self.board.cards if one.id in self.awaited and one.status in _ENDS]
        for card in sorted(cards, key=lambda one: one.id == self.number):
            self.awaited.discard(card.id)
            words, tone = _ENDS[card.status]
            is_shown = card.id == self.number
            self.say(f"Task {card.id} {words}.", self.next_hint if is_shown else "", tone, is_brief=not is_shown)

    @property
    def next_hint(self) -> str:
        others = [entry for entry in self.board.entries if entry.task.id != self.number]
        need_count = sum(entry.kind != "ready" for entry in others)
        if need_count:
            return f"n: next ({need_count} left)"
        return f"n: next to merge ({len(others)} left)" if others else ""

    @property
    def waiting_ids(self) -> list[int]:
        """What needs the person, oldest first; if there is nothing, what is ready to be merged."""
        needed_ids = [entry.task.id for entry in self.board.entries if entry.kind != "ready"]
        return needed_ids or [entry.task.id for entry in self.board.entries]

    def _note_place(self) -> None:
        """Where the selected task is in the inbox: when it has left or come back elsewhere, the next one is known."""
        ids = self.waiting_ids
        if self.number in ids and self.number != self.acted_on:
            at = ids.index(self.number)
            self.following_ids = ids[at + 1 :] + ids[:at]

    def _load_details(self) -> None:
        number, board = self.number, self.board
        if number != self._loaded:
            # of the task that was shown before
            self.since_review = self.is_beginning_asked = False
            self.next_line, self.diff = "", None
            self.marked.clear()
            self.unfolded.clear()
            self.step_to_take = 0
        self._wanted = self._loaded = number
        if number:
            self._in_background(lambda: self.data.details(number, board), self._take_details, "details")
        else:
            self.pane.clear("No task is selected.")

    def _take_details(self, details: TaskDetails) -> None:
        if details.task.id != self._wanted:
            return  # the cursor has moved on
        self.pane.show_head(details)
        self._draw_page()
        self._draw_bars()
        if details.head.commit:
            self._in_background(
                lambda: self.data.size_words(details.task), partial(self._take_size, details.task.id), "size"
            )
        if self.notice is not None:
            notice, self.notice = self.notice, None
            if notice.is_current:
                notice.answer("read")

    def _take_size(self, number: int, words: str) -> None:
        if number == self._wanted:
            self.pane.size_words = words
            self.pane.show_tabs()

    def _draw_page(self) -> None:
        details, tab = self.pane.details, self.pane.tab
        if details is None:
            return
        number = details.task.id
        if tab == "overview":
            self.pane.draw(pages.overview(details), (tab, number, details))
        elif tab == "findings":
            self.pane.draw(pages.findings_page(details.findings), (tab, number, details.findings))
            self._go_to_next_line()
        elif tab == "diff":
            blobs = self.data.viewed(details.task)
            unfolded_paths = frozenset(self.unfolded)
            token = (tab, number, details.head.commit, details.findings, self.since_review, blobs, unfolded_paths)
            if self.pane.is_drawn(token):
                self._say_beginning()
            else:
                if not self.pane.shows_diff_of(number):
                    self.pane.draw(prose("Reading the diff…", "dim"), ("reading", number))
                self._in_background(
                    partial(self._read_diff, details.task, blobs, token),
                    lambda read: self._take_diff(*read, token),
                    "page",
                )
        else:
            self._begin_transcript(details)

    def _go_to_next_line(self) -> None:
        if self.next_line:
            self.pane.jump_to(self.next_line)
            self.next_line = ""

    def _read_diff(
        self, task: Task, viewed_blobs: Mapping[str, str], token: tuple[Any, ...]
    ) -> tuple[Diff, list[ShownLine], bool]:
        from burnish.features.tasks.inspect import file_texts

        since_review = token[_SINCE]
        app, diff, is_all = self.data.diff(task.id, since_review=since_review)
        about = _NOTHING_EARLIER if since_review else ""
        about = about if is_all else "only what changed since the last review; u shows all"
        try:
            texts = partial(file_texts, app)
            hints = ["V viewed", *["u since the review"] * (task.cycle > 1), "e comment"]
            show_first = partial(self._back, self._take_first_lines, diff, token)
            numbers = viewed_files(diff, viewed_blobs)
            nothing = "Nothing was changed." if task.commit else NOT_COMMITTED
            return diff, pages.diff_page(diff, texts, about, numbers, token[-1], hints, nothing, show_first), is_all
        finally:
            app.store.close()

    def _take_first_lines(self, diff: Diff, token: tuple[Any, ...], lines: list[ShownLine]) -> None:
        """Until a very large diff is complete; an older one of the task is complete already."""
        if self._is_asked_for(token) and not self.pane.shows_diff_of(token[1]):
            self.diff = diff
            self.pane.draw(lines, (*token[:2], "first lines"))
            self._draw_bars()
            self.query_one("#find", SearchField).search_again()

    def _is_asked_for(self, token: tuple[Any, ...]) -> bool:
        """Whether this diff is still wanted: `u` may have been pressed again meanwhile."""
        return self.pane.tab == "diff" and self._wanted == token[1] and self.since_review == token[_SINCE]

    def _take_diff(self, diff: Diff, lines: list[ShownLine], is_all: bool, token: tuple[Any, ...]) -> None:
        if self._is_asked_for(token):
            self._say_beginning(is_all=is_all)
            self.diff = diff
            self.marked.clear()
            place = self.pane.page.place_key()
            self.pane.draw(lines, token)
            self._go_to_next_line()
            self._draw_bars()
            if self.step_to_take:
                self._search_from = self.pane.page.line_of(*place) + 1
            step, self.step_to_take = self.step_to_take, 0
            self.query_one("#find", SearchField).search_again(step)

    def _say_beginning(self, *, is_all: bool = False) -> None:
        """Answer `u`, when the diff that it asked for is on the screen."""
        if not self.is_beginning_asked:
            return
        self.is_beginning_asked = False
        if not self.since_review:
            self.say(WHOLE_CHANGE, is_brief=True)
        elif is_all:
            self.say(NO_REVIEW, is_brief=True)
        else:
            self.say(*SINCE_REVIEW)

    def _begin_transcript(self, details: TaskDetails) -> None:
        follower = follower_of(self.data.tasks_folder, details.task)
        if self._follower is None or self._follower.folder != follower.folder or not self.pane.is_drawn(self._follower):
            self._follower = follower
            self.pane.draw([], follower)
            self._follow()

    def _follow(self) -> None:
        """Show what agents wrote since the last look."""
        if self._is_following or not self.is_open:
            return
        follower = self._follower
        if self.view == "live":
            pane = self.query_one(LivePane)
            followers = dict(pane.followers)
            self._is_following = bool(followers)
            if followers:
                read = {number: one.more for number, one in followers.items()}
                self._in_background(
                    lambda: {number: more() for number, more in read.items()}, self._take_live, "follow"
                )
        elif follower and self.pane.tab == "transcript" and self.pane.display:
            self._is_following = True
            self._in_background(follower.more, lambda lines: self._take_lines(follower, lines), "follow")

    def _take_live(self, lines: dict[int, list[ShownLine]]) -> None:
        self._is_following = False
        self.query_one(LivePane).add(lines)

    def _take_lines(self, follower: Follower, lines: list[ShownLine]) -> None:
        self._is_following = False
        if follower is self._follower and self.pane.is_drawn(follower) and (lines or not follower.lines):
            self.pane.follow(lines)

    def _draw_live(self) -> None:
        if self.view == "live" and not self.query_one(LivePane).is_ready:
            self.set_timer(_WINDOW_SECONDS, partial(self.call_if_open, self._draw_live))
        elif self.view == "live":
            open_follower = lambda number: follower_of(self.data.tasks_folder, self.data.task(number), is_brief=True)  # noqa: E731
            is_run_going = self.run_of and not (self.run_of.process and self.run_of.is_over)
            self.query_one(LivePane).show(
                self.board.running, open_follower, RUN_STARTS if is_run_going else NO_AGENT_WORKS
            )

    @on(Worker.StateChanged)
    def _see_end(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            self._is_loading = self._is_following = False

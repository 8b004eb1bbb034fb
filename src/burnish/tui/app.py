"""`burnish tui`: what the keys do. Each act calls one feature."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.binding import Binding
from textual.widgets import Input

from burnish.errors import BurnishError
from burnish.tui import pages
from burnish.tui.acts import (
    KEYS_WITH_TEXT,
    LABELS,
    STARTED,
    STARTING,
    Order,
    act_for_key,
    acts_of,
    key_of,
    keys_of,
    label_of,
    opposite,
    why_not,
)
from burnish.tui.fields import FilterField, SearchField
from burnish.tui.lines import LineView, PickList
from burnish.tui.orders import carry_out, review_in_editor
from burnish.tui.panes import TAB_KEYS, TABS, LivePane
from burnish.tui.project import START_SECONDS
from burnish.tui.screen import READING, ProjectScreen, viewed_files

if TYPE_CHECKING:
    from burnish.core.task import Task
    from burnish.tui.project import TaskDetails
    from burnish.views.diff import FileDiff

# the cursor rests on a task for so long before it is read, and the old one is shown for so long
_REST_SECONDS = 0.06
_SLOW_SECONDS = 0.5
_NO_MORE_IN_FILTER = "The filter shows nothing else that waits for you: it is ended."


class BurnishTui(ProjectScreen):
    """Returns what to do with the run that it belongs to: `go-on`, or nothing."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("1", "view('tasks')", show=False),
        Binding("2", "view('inbox')", show=False),
        Binding("3", "view('live')", show=False),
        Binding("n", "next", show=False),
        Binding("slash", "filter", show=False),
        Binding("question_mark,f1", "help", show=False),
        Binding("ctrl+p,colon", "palette", show=False),
        Binding("escape", "go_back", show=False),
        Binding("enter", "enter", show=False),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
        Binding("o", "tab('overview')", show=False),
        Binding("t", "tab('transcript')", show=False),
        Binding("i", "tab('findings')", show=False),
        Binding("d", "tab('diff')", show=False),
        Binding("u", "since_review", show=False),
        Binding("V", "mark_viewed", show=False),
        Binding("left", "turn(-1)", show=False),
        Binding("right", "turn(1)", show=False),
        Binding("right_square_bracket", "jump(1, 'file:')", show=False),
        Binding("left_square_bracket", "jump(-1, 'file:')", show=False),
        Binding("full_stop", "jump(1, 'finding:')", show=False),
        Binding("comma", "jump(-1, 'finding:')", show=False),
        *(Binding(key, f"act('{key}')", show=False) for key in "arfscegpxmvwR"),
        Binding("M", "merge_all", show=False),
        Binding("z", "undo", show=False),
        Binding("q,ctrl+q", "leave", show=False, priority=False),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
    ]

    # where the person goes

    def action_view(self, name: str) -> None:
        self.view, self.acted_on = name, 0
        self.say("")
        self._adapt(self.size.width)
        self.screen_stack[0].remove_class("task-open")
        self._draw_list()
        if name == "live":
            self.query_one(LivePane).prepare()
            self.after_drawing(self._draw_live)
        else:
            self.picks.focus()
            # the other list may have the same task further down
            self.after_drawing(lambda: self.picks.move_to(self.picks.key))

    def action_enter(self) -> None:
        """On a page, show a finding in the diff; elsewhere open what is selected."""
        if self.pane.page.has_focus and self.pane.tab != "diff" and (finding := self.pane.chosen_finding):
            self.next_line = finding
            self.action_tab("diff")
        else:
            self.action_open()

    def action_open(self) -> None:
        """Show the selected task; where there is room for both, move to it."""
        if self.view == "live":
            if number := self.query_one(LivePane).focused_task:
                self.action_open_task(number)
            elif self.board.running:
                self.say("Choose a window first.", "Tab: from one to the next", is_brief=True)
        elif self.number:
            self.screen_stack[0].add_class("task-open")
            # at once: `focus()` comes after the keys that are typed already
            self.screen_stack[0].set_focus(self.pane.page)
            self.after_drawing(self._draw_page)
            self.after_drawing(self._draw_bars)

    def action_open_task(self, number: int) -> None:
        if self.filter_text and not self._is_listed(number):
            self.filter_text = ""
            self._draw_list()
        if not self._is_listed(number) or self.view == "live":
            self.action_view("tasks")
        self.picks.move_to(f"task:{number}")
        self.action_open()

    def _is_listed(self, number: int) -> bool:
        return f"task:{number}" in [line.key for line in self.picks.lines]

    def action_go_back(self) -> None:
        main = self.screen_stack[0]
        if self.filter_text and self.picks.has_focus:
            self.action_clear_filter()
        elif self.view == "live":
            self.action_view("tasks")
        else:
            self.say("")
            main.remove_class("task-open")
            self.picks.focus()
            self.after_drawing(self._draw_bars)

    def action_next(self) -> None:
        """The next entry of the inbox after the one on the screen; in a list that hides it, the selected one."""
        ids = self.waiting_ids
        if not self.board.has_inbox:
            self.say("Reading the inbox…", style="dim", is_brief=True)
            self.is_next_wanted = True
            return
        if not ids:
            self.say("Nothing waits for you.")
            return
        if self.named_next:
            number, self.named_next = self.named_next, 0
            self.pane.tab = "overview"
            self.action_open_task(number)
            return
        # a task that was decided may be back already, at another place: go on from where it was
        is_seen = self.pane.display and self.view != "live"
        if self.filter_text and any(self._is_listed(one) for one in ids if one != self.number or not is_seen):
            # first what the filter shows
            ids = [one for one in ids if self._is_listed(one)]
        is_decided = self.number == self.acted_on or self.number not in ids
        if is_seen and ids == [self.number]:
            # it stays for later: what is ready to be merged comes next
            ids = [entry.task.id for entry in self.board.entries]
        if is_seen and ids == [self.number]:
            self.say("Nothing else waits for you.")
            return
        if is_decided:
            number = next((one for one in self.following_ids if one in ids and one != self.number), ids[0])
        else:
            number = ids[(ids.index(self.number) + is_seen) % len(ids)]
        if is_seen and number == self.number:
            number = next(one for one in ids if one != self.number)
        is_filter_over = bool(self.filter_text) and not self._is_listed(number)
        self.said_on_arrival = (number, _NO_MORE_IN_FILTER) if is_filter_over else (0, "")
        self.pane.tab = "overview"
        self.action_open_task(number)

    def action_tab(self, name: str) -> None:
        if self.number and self.view != "live":
            if name in ("findings", "diff") and name != self.pane.tab:
                self.next_line = self.next_line or self.pane.marked_finding
            self.pane.tab = name
            self.pane.show_tabs()
            if not self.acted_on:
                self.say("")
            self.action_open()

    def action_since_review(self) -> None:
        """The diff from the last review on, or all of it again."""
        self.since_review = not self.since_review
        self.action_tab("diff")
        if self.number and self.view != "live":
            self.is_beginning_asked = True
            self.say("Reading the diff…", style="dim")

    @property
    def is_diff_awaited(self) -> bool:
        return self.details is not None and self.pane.is_drawn(("reading", self.number))

    def action_mark_viewed(self) -> None:
        """Mark the file at the top of the diff, or the next one that is not marked, and go to the file after it."""
        if self.is_diff_awaited:
            self.say("The diff is not read yet.", is_brief=True)
            return
        if not self.details or self.pane.tab != "diff" or not self.diff or self.view == "live":
            self.say("V marks a file as viewed in the diff.", "d shows the diff.", is_brief=True)
            return
        task = self.details.task
        numbers = viewed_files(self.diff, self.data.viewed(task)) | self.marked
        marked_file = self.pane.marked_file
        if marked_file in numbers and marked_file != self.left_at and not self.next_line:
            self._unfold(task, self.diff.files[marked_file or 0])
            return
        kind, _, place = self.next_line.partition(":")
        first = int(place) if kind == "file" else self.pane.file_number
        file = next((one for one in self.diff.files[first:] if one.number not in numbers), None)
        if file is None:
            words = f"{len(numbers)} of {len(self.diff.files)} files are viewed."
            words = words if len(numbers) < len(self.diff.files) else "All files are viewed."
            self.say(words, self.next_hint, is_brief=True)
            return
        order = Order("viewed", task.id, text=f"{file.path}\n{file.file.new_blob}")
        self.marked.add(file.number)
        self.unfolded.discard(file.path)
        following = (one.number for one in self.diff.files[file.number + 1 :] if one.number not in numbers)
        self.left_at = next(following, min(file.number + 1, len(self.diff.files) - 1))
        self.next_line = f"file:{self.left_at}"
        about = f"{len(numbers) + 1} of {len(self.diff.files)}."
        self._in_background(lambda: carry_out(self.data.start, order), partial(self._take_viewed, order, about), "act")

    def _unfold(self, task: Task, file: FileDiff) -> None:
        """Show a file again that was viewed, and stay at it."""
        order = Order("unviewed", task.id, text=f"{file.path}\n{file.file.new_blob}")
        self.left_at, self.next_line = file.number, f"file:{file.number}"
        self._in_background(lambda: carry_out(self.data.start, order), partial(self._take_viewed, order, ""), "act")

    def _take_viewed(self, order: Order, about: str, words: str) -> None:
        self.undo_order = replace(order, act="unviewed" if order.act == "viewed" else "viewed")
        self.say(f"{words} {about}".rstrip(), "z: undo", "green", is_brief=True)
        self._draw_page()

    def action_turn(self, step: int) -> None:
        names = list(TABS)
        self.action_tab(names[(names.index(self.pane.tab) + step) % len(names)])

    def action_jump(self, step: int, prefix: str) -> None:
        self.left_at = None
        if self.is_diff_awaited:
            self.say("The diff is not read yet.", is_brief=True)
        elif self.details and not self.pane.page.next_key(step, prefix):
            what = "file" if prefix == "file:" else "finding"
            has_any = any(line.key.startswith(prefix) for line in self.pane.page.lines)
            order = "" if not has_any else "further " if step > 0 else "earlier "
            self.say(f"There is no {order}{what} on this page.", is_brief=True)
        self.pane.show_tabs()

    def action_filter(self) -> None:
        """Search the page that has the focus, or narrow the list."""
        if view := self.searched_view:
            field = self.query_one("#find", SearchField)
            self._search_from, field.beside = view.top_line(), f"#{view.id}"
            field.open("")
            self.after_drawing(self._draw_bars)
            return
        if self.view == "live":
            self.action_view("tasks")
        self.screen_stack[0].remove_class("task-open")
        self._filtered_from = self.picks.key
        self.query_one("#filter", FilterField).open(self.filter_text)
        self.after_drawing(self._draw_bars)

    @on(Input.Changed, "#find")
    def _search(self) -> None:
        self._find(0)

    @on(SearchField.Stepped)
    def _search_on(self, event: SearchField.Stepped) -> None:
        self._find(event.step)

    def _find(self, step: int) -> None:
        field = self.query_one("#find", SearchField)
        if not field.has_class("shown"):
            return
        folded = self._folded_lines(field.value)
        if step and folded:
            # a search ends at the words, also in files that were viewed
            self.unfolded |= folded.keys()
            self.step_to_take = step
            self._draw_page()
            return
        number, count = self.query_one(field.beside, LineView).find(field.value, step, self._search_from)
        if not field.value:
            self.say("")
        elif self.is_diff_awaited:
            self.say("The diff is not read yet.")
        else:
            nothing = "No line that is shown has these words." if folded else "No line has these words."
            words = f"{number} of {count} line{'s' * (count != 1)}" if count else nothing
            more = f"{sum(folded.values())} {'more ' * bool(count)}in viewed files, which are folded: Enter shows them."
            # words for the list, that were typed on a page beside it
            elsewhere = "" if count or self.view == "live" else "To filter the list: Esc, Esc, /"
            more = more if folded else elsewhere
            self.say(words, more, "" if count else "yellow")
        self.pane.show_tabs()

    def _folded_lines(self, words: str) -> dict[str, int]:
        """How many lines of each viewed file that is folded have the words; without files that have none."""
        if not words or not self.details or self.pane.tab != "diff" or not self.diff or self.view == "live":
            return {}
        files = [self.diff.files[number] for number in viewed_files(self.diff, self.data.viewed(self.details.task))]
        lines = {file.path: [line for block in file.blocks for line in block.lines] for file in files}
        counts = {
            path: sum(words.casefold() in line.text.casefold() for line in lines[path])
            for path in lines.keys() - self.unfolded
        }
        return {path: number for path, number in counts.items() if number}

    def action_end_search(self) -> None:
        self.query_one("#find", SearchField).close()

    @on(Input.Changed, "#filter")
    def _narrow(self, event: Input.Changed) -> None:
        self.filter_text = event.value
        self._draw_list()
        # letters that match nothing yet do not take the cursor away
        if self._filtered_from in [line.key for line in self.picks.lines]:
            self.picks.move_to(self._filtered_from)
        else:
            self.picks.action_move(-len(self.board.cards))

    @on(SearchField.Closed)
    def _end_search(self) -> None:
        self.query_one(self.query_one("#find", SearchField).beside, LineView).end_search()
        self.say("")

    @on(FilterField.Closed)
    def action_end_filter(self) -> None:
        if (field := self.query_one("#filter", FilterField)).has_class("shown"):
            field.close()
        self._draw_bars()

    def action_clear_filter(self) -> None:
        self.query_one("#filter", FilterField).value = self.filter_text = ""
        self.action_end_filter()
        self._draw_list()

    @on(PickList.Moved, "#list")
    def _select(self) -> None:
        if not self.is_open:
            return
        number, words = self.said_on_arrival
        if number != self.number:
            self.said_on_arrival, words = (0, ""), ""
        if self.number != self.acted_on:
            self.say(words, is_brief=True)
            if self.acted_on:
                # the list does not keep it any longer
                self.acted_on = 0
                self._draw_list()
        self._note_place()
        # not for each row that the cursor passes
        self._wanted = self.number
        self.set_timer(_REST_SECONDS, partial(self.call_if_open, self._load_if_resting))
        self.set_timer(_SLOW_SECONDS, partial(self.call_if_open, self._clear_if_slow))
        self._draw_bars()

    def _load_if_resting(self) -> None:
        if self._wanted == self.number and self._loaded != self.number:
            self._load_details()

    def _clear_if_slow(self) -> None:
        """No other task than the selected one stays on the screen."""
        details = self.pane.details
        if self.number and (details is None or details.task.id != self.number):
            self.pane.clear(READING)

    @on(PickList.Chosen, "#list")
    def _choose(self) -> None:
        self.action_open()

    @on(LineView.Pressed, "#page")
    def _press(self, event: LineView.Pressed) -> None:
        """A click on a finding shows it in the diff, or all of it; on a file in the list of files, the file."""
        kind, _, name = event.key.partition(":")
        if kind == "index":
            self.pane.jump_to(f"file:{name}")
            self.pane.show_tabs()
        elif kind == "finding":
            self.next_line = event.key
            self.action_tab("diff" if self.pane.tab == "findings" else "findings")

    # what the person does

    def action_act(self, key: str) -> None:
        if self.view == "live":
            self.say(f"{key}: not in this view.", "Tab and Enter open one of these tasks; 1 shows all of them.")
            return
        if self.details is None:
            if self.number:
                self._act_later(key)
            else:
                self.say("No task is selected.")
            return
        if self.pending:
            self._wait_to_act(key, f"{LABELS.get(self.pending[-1], self.pending[-1])}: under way…")
            return
        act = act_for_key(key, self.details)
        if act:
            self.begin(act)
        else:
            self._refuse(key, self.details)

    def _refuse(self, key: str, details: TaskDetails) -> None:
        what = why_not(key, details)
        possible = "Possible: " + ", ".join(f"{one} {label}" for one, label in keys_of(details)) + "."
        if key in KEYS_WITH_TEXT:
            # the text may be typed already: its letters are keys, too
            from burnish.tui.dialogs import NoticeDialog

            self.push_screen(NoticeDialog(what, possible))
        else:
            self.say(what, possible, is_brief=True)

    def _act_later(self, key: str) -> None:
        """Nothing is decided on a task that is not on the screen, also not by a note that is typed already."""
        from burnish.tui.dialogs import NoticeDialog

        main = self.screen_stack[0]
        # not `display`, which follows a moment after the key that opened the task
        if main.has_class("narrow") and not main.has_class("task-open"):
            self.action_open()
            self.push_screen(NoticeDialog("Look at the task first.", f"Then press {key} again."))
            return
        self._wait_to_act(key, READING)

    def _wait_to_act(self, key: str, words: str) -> None:
        """Do it when the task is read; what is typed meanwhile is the beginning of the text that it asks for."""
        from burnish.tui.dialogs import Dialog, NoticeDialog

        self.notice = notice = NoticeDialog(words, is_waiting=True)

        def act(answer: str | None) -> None:
            if answer:
                self.action_act(key)
                if isinstance(self.screen, Dialog) and key in KEYS_WITH_TEXT:
                    self.screen.text += notice.text

        self.push_screen(notice, act)

    def begin(self, act: str) -> None:
        """Ask what the act needs, then do it."""
        from burnish.tui.dialogs import ask

        if self.details and act == "edit":
            self._edit_review(self.details.task.id)
        elif self.details:
            task = self.details.task
            first = self.pane.marked_finding.removeprefix("finding:")
            then = lambda order: self._order(order, opposite(order, task))  # noqa: E731
            ask(self, act, self.details, then, self.unsent, first)

    def _order(self, order: Order, undo: Order | None = None) -> None:
        self.pending.append(order.act)
        # a merge of all of them is not about the task on the screen
        self.acted_on = self.number if order.act == "merge-all" else order.task
        self.undo_order, self.last_label = None, order.label
        self.awaited.discard(order.task)
        self.acted_tasks.add(order.task)
        about = "each task in turn" if order.act == "merge-all" else f"task {order.task}"
        self.say(f"{order.label}: {about}…", style="dim")
        self.is_act_message = True
        if order.act in STARTING:
            self.data.expect_start(order.task)
        else:
            self.data.expect_no_start(order.task)
        self._in_background(lambda: self._carry_out(order), partial(self._report, order, undo), "act")

    def _edit_review(self, number: int) -> None:
        """The editor has the terminal, and the screen waits for it."""
        from burnish.tui.dialogs import NoticeDialog

        words, error = "", None
        with self.suspend():
            # on the screen again when the editor has closed, until what was written is read
            print("burnish reads your review when the editor is closed.", flush=True)
            # textual takes the terminal back only if nothing is raised here
            try:
                words = review_in_editor(self.data.start, number)
            except Exception as exception:
                error = exception
        if isinstance(error, BurnishError):
            # with the name of the file that has the text: too long for a message
            self.push_screen(NoticeDialog(error.what, error.hint))
        elif error:
            raise error
        else:
            if words.endswith(STARTED):
                self.data.expect_start(number)
                self.awaited.add(number)
            self.say(words, f"e: edit it again · {self.next_hint}" if "draft" in words else self.next_hint, "green")
        self._load_state()

    def action_merge_all(self) -> None:
        """Merge everything that only has to be merged."""
        from burnish.tui.dialogs import ask_to_merge_all

        entries = self.board.ready_entries
        if self.pending:
            self._say_busy()
        elif not entries:
            self.say("No task is ready to be merged.", is_brief=True)
        else:
            ask_to_merge_all(self, entries, self._order)

    def action_undo(self) -> None:
        """Take the last act back, if the server can."""
        if self.undo_order:
            self._order(self.undo_order)
            self.last_label = ""
        else:
            last = f"{self.last_label} cannot be undone." if self.last_label else "There is no act that can be undone."
            self.say(last, is_brief=True)

    def _carry_out(self, order: Order) -> str:
        words = ""
        try:
            words = carry_out(self.data.start, order, partial(self._back, self._say_progress))
        finally:
            if not words.endswith(STARTED):
                self.data.expect_no_start(order.task)
            self.pending.remove(order.act)
            self.progress = ""
        return words

    def _say_progress(self, words: str) -> None:
        """How far an act is that takes long: at the top, and in place of the message that it began."""
        self.progress = words
        if self.is_act_message:
            self.say(words, style="dim")
            self.is_act_message = True
        self._draw_bars()

    def _report(self, order: Order, undo: Order | None, words: str) -> None:
        self.undo_order = undo
        if words.endswith(STARTED):
            self.awaited.add(order.task)
        is_shown = order.task == self.number or order.act == "merge-all"
        hints = ["z: undo"] * bool(undo) + [self.next_hint] * bool(self.next_hint and is_shown)
        self.say(words, " · ".join(hints), "green")
        self._load_state()
        if self.awaited:
            # a run that did not start changes nothing that would be noticed
            self.set_timer(START_SECONDS, partial(self.call_if_open, self._load_state))

    def action_palette(self) -> None:
        """Everything that can be done now, by name."""
        from burnish.tui.dialogs import Choice, ChooseDialog

        choices = (
            [
                Choice(f"act:{act}", label_of(act, self.details), key_of(act, self.details), about)
                for act, about in acts_of(self.details)
            ]
            if self.details
            else []
        )
        views = enumerate({"tasks": "the tasks", "inbox": "the inbox", "live": "the agents at work"}.items(), 1)
        choices += [Choice(f"view:{name}", f"Show {label}", str(number)) for number, (name, label) in views]
        tabs = TABS.items() if self.number else ()
        choices += [Choice(f"tab:{name}", f"Show the page {label}", TAB_KEYS[name]) for name, label in tabs]
        choices += [
            Choice("next", "Next that needs me", "n"),
            *([Choice("merge-all", "Merge all that are ready", "M")] if self.board.ready else []),
            *([Choice("undo", "Undo the last act", "z")] if self.undo_order else []),
            *([Choice("since-review", "Show what changed since the review", "u")] if self.number else []),
            Choice("filter", "Search the page" if self.searched_view else "Filter the list", "/"),
            Choice("help", "Help", "?"),
            Choice("leave", "Quit", "q"),
        ]
        choices += [Choice(f"task:{card.id}", f"Go to T{card.id}: {card.title}") for card in self.board.cards]
        self.push_screen(ChooseDialog("Commands", choices, is_searchable=True), self._command)

    def _command(self, value: str | None) -> None:
        name, _, argument = (value or "").partition(":")
        match name:
            case "act":
                self.begin(argument)
            case "view":
                self.action_view(argument)
            case "tab":
                self.action_tab(argument)
            case "task":
                self.action_open_task(int(argument))
            case "merge-all":
                self.action_merge_all()
            case "next":
                self.action_next()
            case "undo":
                self.action_undo()
            case "since-review":
                self.action_since_review()
            case "filter":
                self.action_filter()
            case "help":
                self.action_help()
            case "leave":
                self.action_leave()

    def action_help(self) -> None:
        from burnish.tui.dialogs import HelpDialog

        self.push_screen(HelpDialog("Keys", pages.help_lines()))

    # the end

    def action_leave(self) -> None:
        from burnish.tui.dialogs import Choice, ChooseDialog

        if self.pending:
            self._say_busy()
        elif self.run_of and not self.run_of.is_over:
            choices = [
                Choice("go-on", "Let the run go on in the background", "b"),
                Choice("stop", "Stop the run; its work is kept", "s"),
            ]
            self.push_screen(
                ChooseDialog("The run is under way.", choices, "Esc goes back to the screen."), self._leave
            )
        else:
            self.exit("")

    def _say_busy(self) -> None:
        self.say("Still busy: " + ", ".join(LABELS.get(act, act) for act in self.pending), "Wait until it has ended.")

    def _leave(self, value: str | None) -> None:
        if value == "go-on":
            self.exit("go-on")
        elif value == "stop":
            self.action_interrupt()

    def action_interrupt(self) -> None:
        """Ctrl-C: stops the run as it does in `burnish run`, twice at once; without a run it closes the screen."""
        if self.run_of is None or self.run_of.is_over:
            self.exit("")
            return
        self.say(self.run_of.interrupt(), style="yellow")

"""Questions in front of the screen: choose one of several, type a text, give the reasons of an override."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from burnish.core.override import QUESTIONS, OverrideReasons, override_reasons
from burnish.core.status import Status
from burnish.errors import BadInput
from burnish.tui.acts import Order, label_of, opposite, question_of, what_reasons_are_for
from burnish.tui.lines import LineView, PickList, ShownLine, message_line, plain, prose, styled

if TYPE_CHECKING:
    from burnish.tui.project import TaskDetails
    from burnish.views.inbox import InboxEntry

T = TypeVar("T")
# columns of a box, as in style.tcss
_WIDTH = 76
# the part of the rows of a screen that a box may take, as in style.tcss, and the rows of its frame
_TALLEST, _FRAME = 0.9, 2
# more findings than these are searched for
_MAX_PLAIN_CHOICES = 8
# rows of a screen that has room for spaces in a box
_TALL = 22
# letters that move in a list
_MOVES = ("j", "k", "space")


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of a question. `key` chooses it at once; in a list to search, it is only shown."""

    value: str
    label: str
    key: str = ""
    about: str = ""

    def line(self, *, has_key_column: bool) -> ShownLine:
        text = styled(f" {self.key:<7} " if has_key_column else "  ", "bold cyan") + styled(plain(self.label))
        return ShownLine(text + styled(f"  {plain(self.about)}" if self.about else "", "dim"), key=self.value)


class Dialog(ModalScreen[T | None], Generic[T]):
    """A box in the middle. Esc leaves everything as it is."""

    BINDINGS = [Binding("escape", "leave", show=False)]  # noqa: RUF012 - as textual has it

    def __init__(self, title: str, words: str = "") -> None:
        super().__init__()
        self.heading, self.words = title, words
        # what a field for a text begins with
        self.text = ""
        # what was typed into such boxes before Esc, by their titles
        self.unsent: dict[str, str] = {}
        self._first_text = ""
        self._is_answered = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(classes="title")
            if self.words:
                text = LineView(classes="words")
                text.can_focus = False
                yield text
            yield from self.body()

    def on_mount(self) -> None:
        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        size = self.app.size
        self.set_class(size.height < _TALL, "short")
        title = styled(message_line(self.heading), "bold")
        title.truncate(min(_WIDTH, int(size.width * 0.96)) - 4, overflow="ellipsis")
        self.query_one(".title", Static).update(title)
        if self.words:
            self.query_one(".words", LineView).show(prose(self.words))
            self.call_after_refresh(self._fit_words)

    def _fit_words(self) -> None:
        """As many rows as the box has left for them; where that is not enough, how many lines are missing."""
        view, box = self.query_one(".words", LineView), self.query_one(".box")
        others = sum(
            child.outer_size.height + child.styles.margin.height for child in box.children if child is not view
        )
        room = max(3, int(self.size.height * _TALLEST) - others - _FRAME - view.styles.margin.height)
        rows = view.virtual_size.height
        if rows > room:
            lines = prose(self.words)
            count = len(lines)
            while count > 1 and sum(len(list(line.rows(view.size.width))) for line in lines[:count]) > room - 1:
                count -= 1
            rest = ShownLine(styled(f"and {len(lines) - count} more", "dim"))
            view.show([*lines[:count], rest])
        view.styles.height = min(max(1, rows), room)

    def body(self) -> Iterable[Widget]:
        raise NotImplementedError

    def answer(self, result: T | None) -> None:
        """Close the box. The first answer counts: further keys may be on their way to it already."""
        if not self._is_answered:
            self._is_answered = True
            self.dismiss(result)

    def on_key(self, event: events.Key) -> None:
        """Drop keys that the box does not know, and pass on those that were typed after the answer."""
        if self._is_answered:
            event.stop()
            self.app.post_message(events.Key(event.key, event.character))
        elif self.use_key(event) or event.key not in self.active_bindings:
            event.stop()

    def use_key(self, event: events.Key) -> bool:
        """Whether it did something that no binding does."""
        return False

    def take_typed(self, event: events.Key) -> None:
        """A letter that was typed before the box was there belongs to its text. Enter sends nothing that early."""
        if self._is_answered:
            self.app.post_message(events.Key(event.key, event.character))
        elif event.key == "escape":
            self._is_answered = True
            # when it is there: only then it can be closed
            self.call_later(self._close)
        elif event.character and event.is_printable:
            if area := next(iter(self.query(NoteArea)), None):
                area.insert(event.character)
            else:
                self.text += event.character

    def _close(self) -> None:
        self.dismiss(None)

    def action_leave(self) -> None:
        area = next(iter(self.query(NoteArea)), None)
        if area and area.text.strip() and area.text != self._first_text:
            self.unsent[self.heading] = area.text
        self.answer(None)

    def begin_with_unsent(self, unsent: dict[str, str]) -> Self:
        """Begin with what was typed into such a box before, and keep there what Esc leaves behind."""
        self._first_text, self.unsent = self.text, unsent
        self.text = unsent.pop(self.heading, self.text)
        return self


class ChooseDialog(Dialog[str]):
    """One of several. With `is_searchable`, typing narrows the list."""

    def __init__(self, title: str, choices: Sequence[Choice], words: str = "", *, is_searchable: bool = False) -> None:
        super().__init__(title, words)
        self.choices, self.is_searchable = choices, is_searchable

    def body(self) -> Iterable[Widget]:
        if self.is_searchable:
            yield Input(placeholder="Type to search", id="search")
        yield PickList(id="choices", is_short=not self.is_searchable)
        if not self.is_searchable:
            yield Static(styled(self._keys_words(), "dim"), id="hint")

    def _keys_words(self) -> str:
        keys = " or ".join(one.key for one in self.choices if one.key)
        return f"{f'Press {keys}.' if keys else 'Enter chooses.'} Esc cancels."

    def on_mount(self) -> None:
        super().on_mount()
        self._list("")
        self.query_one("#search" if self.is_searchable else "#choices").focus()
        if not self.is_searchable:
            self.query_one("#choices").styles.height = len(self.choices)

    def _list(self, text: str) -> None:
        words = text.lower().split()
        # not in what is said about them: "merge" would find *Reject*, after which nothing is merged
        found = [one for one in self.choices if all(word in one.label.lower() for word in words)]
        has_key_column = any(one.key for one in self.choices)
        lines = [one.line(has_key_column=has_key_column) for one in found]
        self.query_one("#choices", PickList).show(
            lines or [ShownLine(styled("  Nothing that is possible now matches.", "dim"))]
        )

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        event.stop()
        self._list(event.value)

    @on(Input.Submitted)
    def _take(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one("#choices", PickList).action_choose()

    @on(PickList.Chosen)
    def _choose(self, event: PickList.Chosen) -> None:
        event.stop()
        self.answer(event.key)

    def use_key(self, event: events.Key) -> bool:
        steps = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10} if self.is_searchable else {}
        if event.key in steps:
            self.query_one("#choices", PickList).action_move(steps[event.key])
            return True
        choice = next((one for one in self.choices if one.key and one.key == event.key), None)
        if choice and not self.is_searchable:
            self.answer(choice.value)
            return True
        if event.is_printable and event.key not in _MOVES and not self.is_searchable:
            words = f"{event.character} answers nothing here. {self._keys_words()}"
            self.query_one("#hint", Static).update(styled(words, "yellow"))
            if any(one.value == "no" for one in self.choices):
                # a text was meant for another box: the Enter after it must not decide
                self.query_one("#choices", PickList).move_to("no")
        return False


class NoteArea(TextArea):
    """Enter sends; Ctrl-J begins a new line."""

    class Sent(Message):
        """The text is complete."""

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Sent())
        elif event.key in ("ctrl+j", "shift+enter"):
            event.stop()
            event.prevent_default()
            self.insert("\n")
        else:
            await super()._on_key(event)


_SEND = "Enter sends · Ctrl-J new line · Esc cancels"
_SEND_NOTE = f"{_SEND}, and keeps the text"


class NoteDialog(Dialog[str]):
    """A text of a person."""

    def __init__(
        self,
        title: str,
        words: str = "",
        *,
        text: str = "",
        is_required: bool = False,
        problem_of: Callable[[str], str] = lambda text: "",
    ) -> None:
        super().__init__(title, words)
        self.text, self.is_required = text, is_required
        # why a text cannot be taken; "" if it can
        self.problem_of = problem_of

    def body(self) -> Iterable[Widget]:
        yield NoteArea(self.text, soft_wrap=True, tab_behavior="focus", id="note")
        yield Static(styled(_SEND_NOTE, "dim"), id="hint")

    def on_mount(self) -> None:
        super().on_mount()
        area = self.query_one("#note", NoteArea)
        area.focus()
        area.move_cursor(area.document.end)

    @on(NoteArea.Changed)
    def _hint(self) -> None:
        self.query_one("#hint", Static).update(styled(_SEND_NOTE, "dim"))

    @on(NoteArea.Sent)
    def _send(self) -> None:
        text = self.query_one("#note", NoteArea).text
        problem = "A text is needed." if self.is_required and not text.strip() else self.problem_of(text)
        if problem:
            self.query_one("#hint", Static).update(styled(f"{problem} Esc cancels.", "yellow"))
        else:
            self.answer(text)


class CheckList(PickList):
    """Lines to tick."""

    BINDINGS = [  # noqa: RUF012 - as textual has it
        Binding("space", "choose", show=False),
        Binding("enter", "send", show=False),
    ]

    def __init__(self, labels: Sequence[str], *, id: str) -> None:
        super().__init__(id=id, is_short=True)
        self.labels = labels
        self.ticks = [False] * len(labels)

    def on_mount(self) -> None:
        self.draw()

    def draw(self) -> None:
        pairs = enumerate(zip(self.ticks, self.labels, strict=True))
        self.show(ShownLine(styled(f" [{'x' if tick else ' '}] {label}"), key=str(n)) for n, (tick, label) in pairs)

    def action_choose(self) -> None:
        self.ticks[int(self.key)] ^= True
        self.draw()

    def action_send(self) -> None:
        self.post_message(NoteArea.Sent())


class ReasonsDialog(Dialog[OverrideReasons]):
    """The questions of an override."""

    def body(self) -> Iterable[Widget]:
        yield CheckList([question.words for question in QUESTIONS], id="questions")
        yield Static(styled("Explain (needed if none of the first four applies):"), classes="label")
        yield NoteArea(self.text, soft_wrap=True, tab_behavior="focus", id="note")
        yield Static(styled(f"Space ticks · Tab moves · {_SEND}", "dim"), id="hint")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#note" if self.text else "#questions").focus()

    def use_key(self, event: events.Key) -> bool:
        """A letter begins the explanation, wherever the cursor is; a space that was typed after it belongs to it."""
        note = self.query_one("#note", NoteArea)
        if event.character and event.character.isprintable() and (event.key != "space" or self.focused is note):
            self._explain(event.character)
            return True
        return False

    def on_paste(self, event: events.Paste) -> None:
        """A text that is pasted is the explanation, too."""
        if self.focused is not self.query_one("#note"):
            event.stop()
            self._explain(event.text)

    def _explain(self, text: str) -> None:
        note = self.query_one("#note", NoteArea)
        # at once: `focus()` comes after the keys that are typed already
        self.set_focus(note)
        note.insert(text)

    @on(NoteArea.Sent)
    def _send(self) -> None:
        ticks = self.query_one("#questions", CheckList).ticks
        answers = {question.flag: tick for question, tick in zip(QUESTIONS, ticks, strict=True)}
        try:
            self.answer(override_reasons(answers, self.query_one("#note", NoteArea).text))
        except BadInput:
            words = "Tick a reason (Space), or explain it. Enter sends · Esc cancels"
            self.query_one("#hint", Static).update(styled(words, "yellow"))


class NoticeDialog(Dialog[str]):
    """Takes every key until Enter or Esc, or until it is dismissed: no key that is typed meanwhile acts."""

    BINDINGS = [Binding("enter", "leave", show=False)]  # noqa: RUF012 - as textual has it

    def __init__(self, title: str, words: str = "", *, is_waiting: bool = False) -> None:
        super().__init__(title, words)
        # until the task is read; what is typed meanwhile belongs to the box that comes then
        self.is_waiting = is_waiting

    def body(self) -> Iterable[Widget]:
        yield Static(styled("Esc cancels." if self.is_waiting else "Enter or Esc closes this.", "dim"), id="hint")

    def use_key(self, event: events.Key) -> bool:
        if self.is_waiting:
            self.take_typed(event)
        return self.is_waiting and event.key == "enter"


class HelpDialog(Dialog[None]):
    """Lines to read."""

    BINDINGS = [Binding("q,question_mark,enter", "leave", show=False)]  # noqa: RUF012 - as textual has it

    def __init__(self, title: str, lines: Sequence[ShownLine]) -> None:
        super().__init__(title)
        self.lines = lines

    def body(self) -> Iterable[Widget]:
        yield LineView(id="lines")
        yield Static(styled("Space and ↑ ↓ scroll · Esc closes", "dim"), id="hint")

    def on_mount(self) -> None:
        super().on_mount()
        view = self.query_one("#lines", LineView)
        view.show(self.lines)
        view.focus()


# -- what an act needs ----------------------------------------------------------------------------


def ask(
    app: App[Any],
    act: str,
    details: TaskDetails,
    then: Callable[[Order], None],
    unsent: dict[str, str],
    first: str = "",
) -> None:
    """Ask the person what the act needs, and give the order. Esc gives none.

    `unsent` has the texts that Esc left behind; `first` is the finding to begin with.
    """
    task, commit = details.task, details.shown_commit
    label = label_of(act, details)
    order = Order(act, task.id, commit, task.status, is_answer=label == "Answer", shown_label=label)
    name = f"{label}: T{task.id} {task.spec.title}"
    gate = details.gate.shown if details.gate else None

    def with_text(text: str | None) -> None:
        if text is not None:
            then(replace(order, text=text))

    def with_reasons(reasons: OverrideReasons | None) -> None:
        if reasons is not None:
            then(replace(order, grounds=reasons))

    def if_sure(answer: str | None) -> None:
        if answer == "yes":
            then(order)

    if (
        act == "override"
        or (act == "approve" and gate and gate.against)
        or (act == "skip" and gate and gate.skip_against)
    ):
        reasons_dialog = ReasonsDialog(name, what_reasons_are_for(details))
        app.push_screen(reasons_dialog.begin_with_unsent(unsent), with_reasons)
    elif act in _NOTES:
        words, is_required = _NOTES[act]
        if act == "fix" and gate and not (gate.findings or gate.against):
            words, is_required = "The agent works on it again, and a review follows. Describe what to fix:", True
        if act == "comment" and task.status is Status.WAITING_APPROVAL:
            words = "Recorded with the task, which still waits for your decision. To send it back with a note: f."
        question = question_of(details)
        if act == "fix" and question:
            words, is_required = f"{question}\n\nThe agent gets your answer, beside the findings.", True
        words = f"{details.head.note}\n\n{words}" if act == "improve" and details.head.note else words
        # what is typed behind the last tag is another one
        tags = "".join(f"{tag} " for tag in task.spec.tags)
        text = {"describe": task.spec.description, "tag": tags}.get(act, "")
        dialog = NoteDialog(name, words, text=text, is_required=is_required)
        app.push_screen(dialog.begin_with_unsent(unsent), with_text)
    elif act == "raise" and details.head.answer:
        answer = details.head.answer
        unit, dollars, name_of_unit = ("tokens ", "", "tokens") if answer.is_tokens else ("", "$", "USD")
        words = f"{answer.effect} The limit was {dollars}{answer.limit}. The new limit in {name_of_unit}:"
        words = f"{details.head.note}\n\n{words}"
        problem_of = partial(_problem_of_limit, whole=answer.is_tokens)
        dialog = NoteDialog(name, words, text=answer.proposal, is_required=True, problem_of=problem_of)
        app.push_screen(dialog, lambda text: with_text(f"{unit}{text.strip()}" if text else None))
    elif act == "waive":
        _ask_waiver(app, name, details, with_text, unsent, first)
    elif act in _SURE and not opposite(order, task):
        words = _SURE[act].format(commit=commit[:12], target=task.target or "its target")
        notes = [*gate.warnings, *(f"No reviewer saw {file.path}." for file in gate.unseen_files)] if gate else []
        alive = ", ".join(view.finding.id for view in details.findings if view.finding.alive)
        notes += [f"Open findings stay open: {alive}."] if gate and alive else []
        rest = [f"and {len(notes) - 10} more: see the overview"] if len(notes) > 10 else []
        words = "\n".join([words, *map(plain, notes[:10]), *rest]) if act in ("approve", "skip") else words
        choices = [Choice("yes", label_of(act, details), "y"), Choice("no", "Do nothing", "n")]
        app.push_screen(ChooseDialog(name, choices, words), if_sure)
    else:
        then(order)


def _problem_of_limit(text: str, *, whole: bool) -> str:
    try:
        limit = int(text) if whole else float(text)
    except ValueError:
        example = "30000" if whole else "12.50"
        return f"{plain(text)[:20]!r} is not a number: type one such as {example}."
    return "" if isfinite(limit) and limit > 0 else "The limit must be more than 0."


_NOTES = {
    "reject": ("The task stops, and its work is kept. Why? (may be empty)", False),
    "fix": ("The agent fixes what the review found. A note for it (may be empty):", False),
    "improve": ("The agent gets one more cycle with your note.", False),
    "comment": ("The agent settles it next. An approval becomes void.", True),
    "describe": ("What is wanted? The agent gets this description.", True),
    "tag": ("Words with spaces between them; empty: none.", False),
}
_SURE = {
    "approve": "Approve commit {commit}?",
    "skip": "Accept commit {commit} without a review?",
    "review": "Run the checks and the review again? An approval becomes void.",
    "merge": "Merge commit {commit} into {target}? If {target} has moved and no check can test both together, "
    "the task is reviewed again and may ask you.",
    "stop": "Stop the agent? Its call ends, and the work so far is kept.",
    "rebase": "Merge {target} into the task's branch? The agent resolves the conflicts, and a review follows.",
    "restart": "Start a new run from the current base? The commits so far stay under a rescue ref.",
    "cancel": "End the work on the task? The work so far is kept.",
}


def ask_to_merge_all(app: App[Any], entries: Sequence[InboxEntry], then: Callable[[Order], None]) -> None:
    """Ask whether to merge these tasks, in this order; those that become ready meanwhile are not merged with them."""
    from burnish.features.merge.merge import merge_order

    tasks = {entry.task.id: entry.task for entry in entries}
    numbers = merge_order(tasks)
    titles = [f"T{number} {plain(tasks[number].spec.title)}" for number in numbers]
    about = "If no check can test a task with the merges before it, it is reviewed again and may ask you."
    count = "1 approved task" if len(titles) == 1 else f"{len(titles)} approved tasks, one after the other"
    words = "\n".join([f"Merge {count}?", about, *titles])
    order = Order("merge-all", numbers[0], text=" ".join(map(str, numbers)))
    choices = [Choice("yes", "Merge all", "y"), Choice("no", "Do nothing", "n")]
    app.push_screen(ChooseDialog("Merge all", choices, words), lambda answer: then(order) if answer == "yes" else None)


def _ask_waiver(
    app: App[Any],
    name: str,
    details: TaskDetails,
    then: Callable[[str | None], None],
    unsent: dict[str, str],
    first: str,
) -> None:
    alive = [view.finding for view in details.findings if view.finding.alive]
    alive.sort(key=lambda one: one.id != first)
    titles = {one.id: one.remark.title for one in alive}

    def ask_reason(finding: str | None) -> None:
        if finding:
            heading = f"Waive {finding} of T{details.task.id}: {titles[finding]}"
            dialog = NoteDialog(heading, "Why is it acceptable?", is_required=True)
            app.push_screen(dialog.begin_with_unsent(unsent), lambda text: then(f"{finding} {text}" if text else None))

    if len(alive) == 1:
        ask_reason(alive[0].id)
    else:
        choices = [Choice(one.id, f"{one.id} {one.remark.severity.value}: {one.remark.title}") for one in alive]
        app.push_screen(ChooseDialog(name, choices, is_searchable=len(choices) > _MAX_PLAIN_CHOICES), ask_reason)

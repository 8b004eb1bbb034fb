"""The lists: a row for each task, an entry for each thing in the inbox, and the filter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from burnish.core.cost import UNKNOWN_COST
from burnish.core.status import Status
from burnish.tui.lines import ShownLine, plain, styled
from burnish.tui.markdown import inline
from burnish.tui.project import TITLES, BoardState, since
from burnish.views.board import TaskCard
from burnish.views.status import MARKS, status_words

if TYPE_CHECKING:
    from burnish.views.inbox import InboxEntry

# colours of the marks, as the commands have them
COLOURS = {
    Status.BACKLOG: "dim",
    Status.IN_PROGRESS: "cyan",
    Status.CODE_REVIEW: "blue",
    Status.WAITING_APPROVAL: "magenta",
    Status.VERIFIED: "green",
    Status.COMPLETED: "green",
    Status.BLOCKED: "yellow",
    Status.FAILED: "red",
    Status.CANCELLED: "dim",
}
# from this width on, a row shows the cost and the cycle, too
_WIDE = 64
_MIN_TITLE = 16
_HOURS_OF_TWO_DAYS = 48
# with this, the note of a task whose cycles are used up leads to what the review said
_NOT_APPROVED = "still not approved: "
# before the places of secrets, which a row has no room for otherwise
_SECRET_FOUND = "Nothing was committed, because the change contains what looks like a secret: "
_SENTENCE_END = re.compile(r"(?<=[.;!?]) ")


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A task that stays in the list though it does not belong there any more."""

    id: int
    # among the tasks of the list
    place: int


def task_rows(state: BoardState, filter_text: str, kept: KeptRow | None = None) -> Callable[[int], list[ShownLine]]:
    """The list of tasks in their groups, for a width."""
    matches_filter = matcher(filter_text, kept)
    conflicting_ids = {entry.task.id for entry in state.entries if entry.kind == "conflict"}

    def build(width: int) -> list[ShownLine]:
        lines: list[ShownLine] = []
        for name, cards in state.grouped(matches_filter):
            lines.append(_heading(name, len(cards)))
            lines += [
                _task_row(card, "conflict", width, Status.BLOCKED)
                if card.id in conflicting_ids
                else _task_row(card, _words(card), width, card.status)
                for card in cards
            ]
        if not lines:
            words = f"No task matches {plain(filter_text)!r}." if filter_text else "There are no tasks."
            lines.append(ShownLine(styled(words, "dim")))
        return lines

    return build


def _heading(name: str, count: int) -> ShownLine:
    return ShownLine(styled(f"{name} ", "bold") + styled(str(count), "dim"))


def _task_row(card: TaskCard, words: str, width: int, shown_as: Status) -> ShownLine:
    """`shown_as`: an approved task in conflict has the mark of a blocked one."""
    mark = f"{'⏸' if card.standing == 'paused' else MARKS[shown_as]} "
    number = f"{f'T{card.id}':<4} "
    facts = [words]
    if width >= _WIDE:
        tags = " ".join(f"#{tag}" for tag in card.tags)
        # the titles need the room more than what is not known
        cost = card.cost if card.cost != UNKNOWN_COST else ""
        facts = [tags, card.cycle, words, f"{card.open_findings} open" if card.open_findings else "", cost]
    title = styled(plain(card.title))
    room = max(_MIN_TITLE, width - len(mark) - len(number) - 3)
    facts = [plain(fact) for fact in facts if fact]
    # a long title takes the room of tags and cycle
    while len(facts) > 1 and facts[0] != plain(words) and title.cell_len + cell_len("  ".join(facts)) > room:
        del facts[0]
    right = "  ".join(facts)[: max(0, width - len(number) - _MIN_TITLE - 6)]
    room = max(_MIN_TITLE, room - cell_len(right))
    title.truncate(room, overflow="ellipsis", pad=True)
    text = styled(f" {mark}", COLOURS[shown_as]) + styled(number, "dim") + title + styled(f"  {right}", "dim")
    return ShownLine(text, key=f"task:{card.id}")


def _words(card: TaskCard) -> str:
    """Where the task stands, in two or three words."""
    if card.limit:
        # without a word, so that the time fits beside the title in a pane of half a screen
        return card.limit.removeprefix("waits for ")
    if card.doing:
        return f"{card.doing} {since(card.since)}" if card.since else card.doing
    if card.standing in ("paused", "queued", "interrupted"):
        return card.standing
    if card.status is Status.BACKLOG:
        return f"waits for {', '.join(f'T{number}' for number in card.unmet)}" if card.unmet else "ready"
    if card.status in (Status.BLOCKED, Status.FAILED):
        return card.why.removeprefix("human ") or card.verdict or card.status.value
    return status_words(card.status)


def inbox_rows(state: BoardState, filter_text: str, kept: KeptRow | None = None) -> Callable[[int], list[ShownLine]]:
    """The inbox: a row for each entry, and below it why it waits."""
    matches_filter = matcher(filter_text, kept)
    cards = {card.id: card for card in state.cards}

    def build(width: int) -> list[ShownLine]:
        entries = [e for e in state.entries if e.task.id not in cards or matches_filter(cards[e.task.id])]
        found = [list(_entry_rows(entry, width)) for entry in entries]
        sections = [entry.section for entry in entries]
        for title in dict.fromkeys(sections):
            found[sections.index(title)].insert(0, _heading(title, sections.count(title)))
        if kept and kept.id in cards and kept.id not in [entry.task.id for entry in entries]:
            card = cards[kept.id]
            below = ShownLine(styled("        does not wait for you any more", "dim"))
            found.insert(kept.place, [_task_row(card, _words(card), width, card.status), below])
        lines = [line for group in found for line in group]
        if not lines:
            words = "Nothing in the inbox matches." if filter_text else "Nothing waits for you."
            lines.append(ShownLine(styled(words if state.has_inbox else "Reading the inbox…", "dim")))
        return lines

    return build


def _entry_rows(entry: InboxEntry, width: int) -> Iterator[ShownLine]:
    task = entry.task
    kind = status_words(task.status) if entry.kind == "waiting_approval" else entry.kind.replace("_", " ")
    kind = "question" if entry.is_question else kind
    # beside a task there is room for the title alone: the heading says most of the rest
    right = f"{kind}  {age(entry.since)}" if width >= _WIDE else age(entry.since)
    number = f"{f'T{task.id}':<4} "
    title = styled(plain(task.spec.title))
    title.truncate(max(_MIN_TITLE, width - len(number) - len(right) - 5), overflow="ellipsis", pad=True)
    shown_as = Status.BLOCKED if entry.kind == "conflict" else task.status
    mark = styled(f" {MARKS[shown_as]} ", COLOURS[shown_as])
    yield ShownLine(mark + styled(number, "dim") + title + styled(f"  {right}", "dim"), key=f"task:{task.id}")
    # the right side names the failure already
    why = plain(_why(entry)).removeprefix(f"{task.error}: ")
    yield ShownLine(styled(" " * 8) + inline(why, "dim"))


def _why(entry: InboxEntry) -> str:
    """What differs between the entries comes first; the bar names the keys."""
    task = entry.task
    if entry.kind != "waiting_approval" or not task.note:
        return _without_commands(entry.why.replace(_SECRET_FOUND, ""))
    _, is_used_up, summary = task.note.partition(_NOT_APPROVED)
    if is_used_up and not task.open_findings:
        return f"no open finding; it said: {summary}"
    return f"not approved: {summary}" if is_used_up else _without_commands(task.note)


def _without_commands(text: str) -> str:
    """The sentences that name no command; if all do, the text as it is."""
    sentences = [one for one in _SENTENCE_END.split(text) if "burnish " not in one]
    return " ".join(sentences).rstrip(" ;") or text


def age(moment: str) -> str:
    """`3m`, `2h05m`, `4d`: the time since then, without seconds, which would be wrong a moment later."""
    words = since(moment)
    if not words:
        return ""
    hours, has_hours, _ = words.partition("h")
    if has_hours:
        return words if int(hours) < _HOURS_OF_TWO_DAYS else f"{int(hours) // 24}d"
    minutes, has_minutes, _ = words.partition("m")
    return f"{minutes}m" if has_minutes else "<1m"


def matcher(filter_text: str, kept: KeptRow | None = None) -> Callable[[TaskCard], bool]:
    """Every word must be in the task; `status:blocked` names a status or a group, `tag:login` a tag."""
    words = filter_text.lower().split()

    def matches(card: TaskCard) -> bool:
        status, group = card.status.value, TITLES[card.group]
        tags = " ".join(f"#{tag}" for tag in card.tags)
        text = f"t{card.id} {card.title} {status} {group} {card.agent} {card.why} {card.standing} {tags}".lower()
        for word in words:
            name, has_value, value = word.partition(":")
            if name == "status" and has_value:
                if not (status.startswith(value) or card.group.startswith(value)):
                    return False
            elif name == "tag" and has_value:
                # without a value it is still being typed
                if value and not any(tag.startswith(value) for tag in card.tags):
                    return False
            elif word not in text:
                return False
        return True

    return lambda card: (kept is not None and card.id == kept.id) or matches(card)

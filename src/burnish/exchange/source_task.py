"""A task as another tool has written it down, and what became of each of its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from burnish.core.finding import COMMENT_RULE, Category, Finding, FindingState, Remark, Severity
from burnish.core.task import Item, TaskType

UNKNOWN_FIELD = "burnish has no such field"
# a task with more is a mistake, or not a task
MAX_TEXT = 100_000
MAX_FINDING_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class FieldNote:
    """One field that a reader found: taken over, or left with the reason."""

    name: str
    reason: str = ""

    @property
    def is_taken(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class SourceTask:
    # what the tool calls it: unique within the source, and the same in the next import
    key: str
    title: str
    description: str = ""
    type: TaskType = TaskType.IMPLEMENT
    scope: str = ""
    criteria: tuple[str, ...] = ()
    checklist: tuple[Item, ...] = ()
    plan: str = ""
    # keys of other tasks of the source
    depends_on: tuple[str, ...] = ()
    priority: int = 0
    agent: str | None = None
    model: str | None = None
    base_ref: str | None = None
    skip_tests: bool = False
    auto_review: bool | None = None
    max_cycles: int | None = None
    tags: tuple[str, ...] = ()
    # of its reviews in the other tool
    findings: tuple[Finding, ...] = ()
    # the tool has finished it, or given it up: there is nothing to do
    is_finished: bool = False
    # why it cannot be a task of burnish
    problem: str = ""
    notes: tuple[FieldNote, ...] = ()


# of one task; what is above is left
MAX_FINDINGS = 50
_MAX_TITLE = 120


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One problem that a review in the other tool has named."""

    title: str
    text: str = ""
    file: str | None = None
    severity: Severity = Severity.ERROR
    category: Category = Category.CODE
    # why it is not open any more
    settled: str = ""


def as_findings(items: Sequence[ReviewItem], tool: str) -> tuple[tuple[Finding, ...], tuple[FieldNote, ...]]:
    """The items as findings that block like a person's comment, and a note for each of them."""
    findings = []
    # an open problem is worth more than the record of a settled one
    in_order = items if len(items) <= MAX_FINDINGS else sorted(items, key=lambda item: bool(item.settled))
    for number, item in enumerate(in_order[:MAX_FINDINGS], 1):
        title = " ".join(item.title.split())
        is_long = len(title) > _MAX_TITLE
        remark = Remark(
            item.category,
            item.severity,
            f"{title[: _MAX_TITLE - 1].rstrip()}…" if is_long else title,
            "\n\n".join(filter(None, (title if is_long else "", item.text.strip())))[:MAX_FINDING_TEXT],
            file=item.file,
            rule=COMMENT_RULE,
            source=f"import:{tool}",
        )
        state = FindingState.RESOLVED if item.settled else FindingState.OPEN
        finding = Finding(f"F{number}", remark, state, 0, 0, (remark.source,), note=item.settled)
        findings.append(finding)
    left_over = f"a task takes over {MAX_FINDINGS} findings at most"
    notes = [FieldNote("finding", left_over if number >= MAX_FINDINGS else "") for number in range(len(items))]
    return tuple(findings), tuple(notes)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read tasks from. The name is relative to the repository, so that it is the same in every clone."""

    name: str
    text: str


class Fields:
    """The fields of one task: each is taken once, and what is not taken is left."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self._values = {name: value for name, value in found.items() if value not in (None, "", [], {}, ())}
        self._reasons: dict[str, str] = {}

    def take(self, name: str, *others: str) -> Any:
        """The value of the first of these names; None if it has none of them."""
        for one in (name, *others):
            if one in self._values and one not in self._reasons:
                self._reasons[one] = ""
                return self._values[one]
        return None

    def text(self, name: str, *others: str) -> str:
        value = self.take(name, *others)
        return str(value).strip()[:MAX_TEXT] if isinstance(value, str | int | float) else ""

    def texts(self, name: str, *others: str) -> tuple[str, ...]:
        """A list of texts, or one text with commas between them."""
        value = self.take(name, *others)
        values = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
        found = (str(one).strip() for one in values if isinstance(one, str | int | float))
        return tuple(text for text in found if text)

    def whole_number(self, name: str, *others: str) -> int | None:
        value = self.take(name, *others)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,7}", value.strip()) else None

    def flag(self, name: str, *others: str) -> bool | None:
        value = self.take(name, *others)
        return bool(value) if isinstance(value, bool | int) else None

    def leave(self, name: str, reason: str) -> None:
        if name in self._values:
            self._reasons[name] = reason

    def notes(self) -> tuple[FieldNote, ...]:
        return tuple(FieldNote(name, self._reasons.get(name, UNKNOWN_FIELD)) for name in self._values)


def first_line(text: str, longest: int = 100) -> str:
    """A title for a text that has none."""
    line = next((words for line in text.splitlines() if (words := line.strip("# \t"))), "")
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def tag(text: str) -> str:
    """A word that burnish accepts as a tag, or an empty text."""
    return re.sub(r"[^\w./+-]+", "-", text.strip().casefold()).strip("-./+")[:40]


def tags(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for text in texts if (word := tag(text))))[:20]


def circle_of(tasks: Sequence[SourceTask]) -> list[str]:
    """The keys of tasks that wait for each other, the first one again at the end; empty if there are none."""
    needs = {task.key: task.depends_on for task in tasks}
    finished_keys: set[str] = set()
    for start in needs:
        # in order, from the start to the task that is looked at
        trail: dict[str, Iterator[str]] = {start: iter(needs[start])} if start not in finished_keys else {}
        while trail:
            last = next(reversed(trail))
            other = next((key for key in trail[last] if key in needs and key not in finished_keys), None)
            if other is None:
                finished_keys.add(last)
                del trail[last]
            elif other in trail:
                keys = list(trail)
                return [*keys[keys.index(other) :], other]
            else:
                trail[other] = iter(needs[other])
    return []


def in_order(tasks: Sequence[SourceTask]) -> list[SourceTask]:
    """The tasks with each one behind those that it depends on; otherwise in their order. There must be no circle."""
    by_key, order = {task.key: task for task in tasks}, dict[str, SourceTask]()
    trail = [task.key for task in reversed(tasks)]
    while trail:
        missing = [key for key in by_key[trail[-1]].depends_on if key in by_key and key not in order]
        if missing and trail[-1] not in order:
            trail += reversed(missing)
        else:
            key = trail.pop()
            order.setdefault(key, by_key[key])
    return list(order.values())


def with_known_dependencies(tasks: Sequence[SourceTask], is_done: frozenset[str] = frozenset()) -> list[SourceTask]:
    """Each dependency as a field of its own; one on a finished or unknown task is left, with the reason."""
    states = {task.key: task.is_finished or bool(task.problem) for task in tasks} | dict.fromkeys(is_done, True)
    return [_with_dependency_notes(task, states) for task in tasks]


def _with_dependency_notes(task: SourceTask, states: Mapping[str, bool]) -> SourceTask:
    notes = []
    for key in task.depends_on:
        reason = "" if states.get(key) is False else "it is finished" if key in states else "it is not in the source"
        notes.append(FieldNote("dependency", f"{key}: {reason}" if reason else ""))
    needs = tuple(dict.fromkeys(key for key in task.depends_on if states.get(key) is False))
    return replace(task, depends_on=needs, notes=(*task.notes, *notes))

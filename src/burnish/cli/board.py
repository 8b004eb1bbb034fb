"""One line per task, as people like to see them under each other, and what to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from burnish.cli.paint import BY_STATUS, paint
from burnish.cli.text import count, cut, duration, money, one_line, pad, since, width
from burnish.core.status import Reason, Status
from burnish.core.task import Task
from burnish.errors import BadInput

MARKS = {
    Status.BACKLOG: "·",
    Status.IN_PROGRESS: "→",
    Status.CODE_REVIEW: "→",
    Status.WAITING_APPROVAL: "?",
    Status.VERIFIED: "✓",
    Status.COMPLETED: "✓",
    Status.BLOCKED: "!",
    Status.FAILED: "✗",
    Status.CANCELLED: "-",
}
DOING = {
    "implement": "implementing",
    "improve": "improving",
    "check": "checking",
    "review": "reviewing",
    "gate": "at the gate",
}
MET = (Status.VERIFIED, Status.COMPLETED)
# reasons that the final verdict says already
_SAID = (Reason.MAX_CYCLES, Reason.NEEDS_DISCUSSION, Reason.REJECTED)
_LEAST_TITLE = 12


@dataclass(frozen=True, slots=True)
class Line:
    mark: str
    id: str
    title: str
    status: str
    details: str


def board(
    tasks: Sequence[Task], *, room: int, colour: bool, now: datetime | None = None, among: Sequence[Task] = ()
) -> list[str]:
    """The tasks as aligned lines of at most `room` columns. `among` holds the tasks they may depend on."""
    unmet = _unmet(among or tasks)
    lines = [_line(task, unmet(task), now) for task in tasks]
    ids = max((len(line.id) for line in lines), default=1)
    # A status followed by brackets stands outside the column: "in_progress (cycle 2/3 …" needs no alignment.
    states = max([10, *(len(line.status) for line in lines if line.details[:1] not in ("", "("))])
    tails = [f"{line.status:<{states}} {line.details}".rstrip() for line in lines]
    left = room - (2 + 2 + ids + 1 + 3)
    titles = min(
        max((width(line.title) for line in lines), default=0),
        max(_LEAST_TITLE, left - max((width(tail) for tail in tails), default=0)),
    )
    return [
        _join(line, cut(tail, left - titles), ids=ids, titles=titles, colour=colour)
        for line, tail in zip(lines, tails, strict=True)
    ]


def _join(line: Line, tail: str, *, ids: int, titles: int, colour: bool) -> str:
    tone = BY_STATUS[line.status]
    title = pad(cut(line.title, titles), titles)
    rest = tail[len(line.status) :]
    painted = paint(tail[: len(line.status)], tone, on=colour) + rest
    return f"  {paint(line.mark, tone, on=colour)} {line.id:>{ids}} {title}   {painted}"


def _line(task: Task, unmet: list[int], now: datetime | None) -> Line:
    words = [word for word in _details(task, unmet, now) if word]
    return Line(
        MARKS[task.status], str(task.id), one_line(task.spec.title), task.status.value, "  ".join(words)
    )


def _details(task: Task, unmet: list[int], now: datetime | None) -> list[str]:
    if task.status is Status.BACKLOG:
        return [f"waits for {', '.join(map(str, unmet))}" if unmet else "ready"]
    if task.status in (Status.IN_PROGRESS, Status.CODE_REVIEW):
        return [f"({_at(task, now)})", _override(task)]
    if task.status is Status.FAILED:
        return [f"{task.error or 'failed'} ({_at(task, None)})", money(task.cost_usd)]
    if task.status is Status.CANCELLED:
        return []
    cycles = f" ({count(task.cycle, 'cycle')})" if task.cycle else ""
    outcome = f"{task.final_verdict or task.reason or ''}{cycles}".strip()
    reason = task.reason if task.final_verdict and task.reason and task.reason not in _SAID else ""
    review = (
        f"review: {task.review_status}" if task.review_status and task.status is not Status.BLOCKED else ""
    )
    still = f"{task.open_findings} open" if task.open_findings else ""
    cost = money(task.cost_usd)
    return [outcome, str(reason), review, still, _override(task), f" {cost}" if cost else ""]


def _at(task: Task, now: datetime | None) -> str:
    """`cycle 2/3, improving 1m12s`"""
    cycle = max(task.cycle, 1)
    where = (
        f"cycle {cycle}/{task.max_cycles}"
        if cycle <= task.max_cycles
        else f"cycle {cycle} (max {task.max_cycles})"
    )
    if not task.phase:
        return where
    if task.status is Status.FAILED:
        return f"{where}, {task.phase}"
    seconds = since(task.phase_started, now)
    spent = "" if seconds is None else f" {duration(seconds)}"
    return f"{where}, {DOING.get(task.phase, task.phase)}{spent}"


def _override(task: Task) -> str:
    return count(task.overrides, "override") if task.overrides else ""


def _unmet(tasks: Sequence[Task]) -> Callable[[Task], list[int]]:
    """A function that names the dependencies a task still waits for."""
    met = {task.id for task in tasks if task.status in MET}
    return lambda task: [other for other in task.spec.depends_on if other not in met]


def pick(
    tasks: Sequence[Task], *, statuses: Sequence[str], ready: bool, blocked: bool, agent: str | None
) -> list[Task]:
    """The tasks that fit every filter that was given."""
    for name in statuses:
        if name not in list(Status):
            raise BadInput(f"{name!r} is not a status.", hint=f"The statuses are: {', '.join(Status)}.")
    unmet = _unmet(tasks)
    return [
        task
        for task in tasks
        if (not statuses or task.status in statuses)
        and (not ready or (task.status is Status.BACKLOG and not unmet(task)))
        and (not blocked or task.status in (Status.BLOCKED, Status.WAITING_APPROVAL))
        and (agent is None or task.spec.agent == agent)
    ]


def summary(tasks: Sequence[Task]) -> str:
    """`3 tasks: 1 verified, 1 blocked, 1 in progress. Next: burnish show 30`"""
    counts = Counter(task.status for task in tasks)
    parts = ", ".join(f"{counts[s]} {s.replace('_', ' ')}" for s in Status if counts[s])
    spent = sum(task.cost_usd or 0 for task in tasks)
    cost = f", {money(spent)} spent" if spent else ""
    return f"{count(len(tasks), 'task')}: {parts}{cost}. {next_step(tasks)}".rstrip()


def next_step(tasks: Sequence[Task]) -> str:
    """The one command that helps most now."""
    for status, words in (
        (Status.BLOCKED, "Next: burnish show {}"),
        (Status.WAITING_APPROVAL, "Next: burnish show {}"),
        (Status.FAILED, "Next: burnish retry {}"),
    ):
        for task in tasks:
            if task.status is status:
                return words.format(task.id)
    unmet = _unmet(tasks)
    if any(task.status is Status.BACKLOG and not unmet(task) for task in tasks):
        return "Next: burnish run --all"
    verified = next((task for task in tasks if task.status is Status.VERIFIED), None)
    return f"Next: burnish diff {verified.id}" if verified else ""

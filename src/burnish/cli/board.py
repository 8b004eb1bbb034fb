"""One line per task, laid out under each other to fit the terminal, and what to type next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from burnish.cli.paint import BY_STATUS, mark, paint
from burnish.cli.text import LONGEST_TITLE, count, cut, one_line, pad, width
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import BadInput
from burnish.views import status_line, summary
from burnish.views.status import dollars

MET = (Status.VERIFIED, Status.COMPLETED)
_LEAST_TITLE = 12

Alive = Callable[[str], bool] | None


@dataclass(frozen=True, slots=True)
class Row:
    mark: str
    id: str
    title: str
    status: str
    details: str


def board(
    tasks: Sequence[Task],
    *,
    room: int,
    colour: bool,
    among: Sequence[Task] = (),
    now: datetime | None = None,
    alive: Alive = None,
) -> list[str]:
    """The tasks as aligned lines of at most `room` columns. `among` holds the tasks they may depend on."""
    unmet = _unmet(among or tasks)
    moment = now or datetime.now(UTC)
    rows = [_row(task, unmet(task), moment, alive) for task in tasks]
    ids = max((len(row.id) for row in rows), default=1)
    # A status followed by brackets stands outside the column: "in_progress (cycle 2/3 …" needs no alignment.
    states = max([10, *(len(row.status) for row in rows if row.details[:1] not in ("", "("))])
    tails = [f"{row.status:<{states}} {row.details}".rstrip() for row in rows]
    signs = max((len(row.mark) for row in rows), default=1)
    left = room - (2 + signs + 1 + ids + 1 + 3)
    titles = min(
        LONGEST_TITLE,
        max((width(row.title) for row in rows), default=0),
        max(_LEAST_TITLE, left - max(map(width, tails), default=0)),
    )
    return [
        _join(row, cut(tail, left - titles), signs=signs, ids=ids, titles=titles, colour=colour)
        for row, tail in zip(rows, tails, strict=True)
    ]


def _join(row: Row, tail: str, *, signs: int, ids: int, titles: int, colour: bool) -> str:
    tone = BY_STATUS[row.status]
    title = pad(cut(row.title, titles), titles)
    split = len(row.status)
    painted = paint(tail[:split], tone, on=colour) + tail[split:]
    return f"  {paint(f'{row.mark:<{signs}}', tone, on=colour)} {row.id:>{ids}} {title}   {painted}"


def _row(task: Task, unmet: list[int], now: datetime, alive: Alive) -> Row:
    line = status_line(task, now, alive=alive)
    pieces = list(line.after_status[:-1] if line.cost else line.after_status)
    if task.overrides:
        # beside the verdict, which it explains
        pieces.insert(1 if line.detail else 0, count(task.overrides, "override"))
    details = "  ".join(pieces)
    if task.status is Status.BACKLOG:
        details = f"waits for {', '.join(map(str, unmet))}" if unmet else "ready"
    if line.cost:
        details += f"   {line.cost}"
    return Row(mark(line.mark), line.id, one_line(line.title), line.status, details.strip())


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
        and (agent is None or agent == (task.agent or task.spec.agent))
    ]


def closing_line(tasks: Sequence[Task]) -> str:
    """`3 tasks: 1 verified, 1 blocked, 1 in progress; $0.42. Next: burnish show 30`"""
    total = summary(tasks)
    parts = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in total.counts.items())
    cost = f"; {dollars(total.cost_usd)}" if total.cost_usd else ""
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

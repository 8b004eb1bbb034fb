"""The three tasks, and how each should end if burnish works."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from burnish.core.status import Reason, Status
from burnish.core.task import Spec, Task


@dataclass(frozen=True, slots=True)
class Planned:
    spec: Spec
    status: Status
    cycles: int
    reason: Reason | None = None


TASKS = (
    Planned(
        Spec("Print 5.25, not 525", "The command prints cents; people are used to whole money."),
        Status.VERIFIED,
        cycles=1,
    ),
    Planned(
        Spec("Refuse zero weight", "Zero grams or less is a slip of the finger: no price for that."),
        Status.VERIFIED,
        cycles=2,
    ),
    Planned(
        Spec("Round up for islands", "One test has failed for a while: 701.25 cents should cost 702."),
        Status.BLOCKED,
        cycles=2,
        reason=Reason.GUARD,
    ),
)


def surprises(tasks: Iterable[Task]) -> list[str]:
    """Where it did not go as planned, in words; nothing is what one hopes for."""
    ended = {task.id: task for task in tasks}
    return [words for number, plan in enumerate(TASKS, 1) if (words := _surprise(number, plan, ended.get(number)))]


def _surprise(number: int, plan: Planned, task: Task | None) -> str:
    wanted = _words(plan.status, plan.reason, plan.cycles)
    if task is None:
        return f"task {number} is gone and should be {wanted}"
    came = _words(task.status, task.reason, task.cycle)
    return "" if came == wanted else f"task {number} is {came} and should be {wanted}"


def _words(status: Status, reason: Reason | None, cycles: int) -> str:
    return f"{status}{f' ({reason})' if reason else ''} in cycle {cycles}"

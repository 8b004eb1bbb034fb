"""The three tasks and the expected outcome of each."""

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


def unexpected_outcomes(tasks: Iterable[Task]) -> list[str]:
    """Descriptions of unexpected outcomes; empty if all ended as expected."""
    tasks_by_id = {task.id: task for task in tasks}
    return [
        words for number, plan in enumerate(TASKS, 1) if (words := _surprise(number, plan, tasks_by_id.get(number)))
    ]


def _surprise(number: int, plan: Planned, task: Task | None) -> str:
    expected_outcome = _words(plan.status, plan.reason, plan.cycles)
    if task is None:
        return f"task {number} is missing and should be {expected_outcome}"
    actual_outcome = _words(task.status, task.reason, task.cycle)
    return (
        ""
        if actual_outcome == expected_outcome
        else f"task {number} is {actual_outcome} and should be {expected_outcome}"
    )


def _words(status: Status, reason: Reason | None, cycles: int) -> str:
    return f"{status}{f' ({reason})' if reason else ''} in cycle {cycles}"

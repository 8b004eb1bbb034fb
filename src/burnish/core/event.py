"""Facts that happened, in order, never changed: the one authority on state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TYPES = frozenset(
    """
    task.created task.edited task.removed task.status task.merged task.done task.cancelled
    run.started run.finished
    phase.started phase.progress phase.finished phase.failed phase.rescued
    baseline.captured check.finished
    review.started review.progress review.completed review.approved review.rejected review.failed review.max_cycles
    finding.opened finding.resolved finding.reopened finding.waived finding.disputed finding.reanchored finding.replied
    gate.opened decision.made override.recorded approval.voided
    budget.warned budget.reached lock.taken_over guard.breach notify.failed
    trust.granted trust.revoked
    project.relinked
    """.split()
)


@dataclass(frozen=True, slots=True)
class Event:
    """A fact about to be recorded."""

    type: str
    data: Mapping[str, Any] = field(default_factory=dict)
    run: int = 0
    cycle: int = 0

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise ValueError(f"unknown event type {self.type}")


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One entry of the event log."""

    id: int
    ts: str
    project: str
    task: int | None
    run: int
    cycle: int
    type: str
    data: Mapping[str, Any]

    def envelope(self) -> dict[str, Any]:
        """As the outside sees it. The event's own number stays a number: it is what `--since` counts by."""
        return {
            "id": self.id,
            "ts": self.ts,
            "project": self.project,
            "task": None if self.task is None else str(self.task),
            "run": self.run,
            "cycle": self.cycle,
            "type": self.type,
            "data": self.data,
        }

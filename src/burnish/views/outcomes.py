"""How runs ended: each run counts once, by its last status. A run that waits for a person has not ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from burnish.core.status import Status
from burnish.store.tally import Of, Tally

APPROVED = (Status.VERIFIED, Status.COMPLETED)
STOPPED = (Status.BLOCKED, Status.FAILED, Status.CANCELLED)


@dataclass(frozen=True, slots=True)
class End:
    approved: bool
    cycle: int
    ts: str
    # approved by a person, not by burnish
    by_person: bool = False


@dataclass(frozen=True, slots=True)
class Ends:
    """The runs that ended."""

    approved: int
    stopped: int

    @property
    def total(self) -> int:
        return self.approved + self.stopped

    @property
    def success_rate(self) -> float | None:
        """None: none has ended."""
        return self.approved / self.total if self.total else None

    def as_json(self) -> dict[str, Any]:
        rate = self.success_rate
        rounded_rate = None if rate is None else round(rate, 4)
        return {"ended": self.total, "approved": self.approved, "stopped": self.stopped, "success_rate": rounded_rate}


@dataclass(frozen=True, slots=True)
class Cycles:
    """Accepted runs by the cycle of their acceptance."""

    by_burnish: dict[int, int]
    by_person: dict[int, int]

    @property
    def each(self) -> list[int]:
        both = Counter(self.by_burnish) + Counter(self.by_person)
        return sorted(both.elements())

    @property
    def average(self) -> float | None:
        return mean(self.each) if self.each else None

    @property
    def middle(self) -> float | None:
        return median(self.each) if self.each else None

    @property
    def most(self) -> int:
        return max(self.each, default=0)


def ended(tally: Tally, since: str) -> list[End]:
    """One entry for each run that ended since then and was not continued, without removed tasks."""
    removed_tasks = {task.of for task in tally.tasks if task.removed}
    accepted_by = {(d.of, d.run): d.by for d in tally.decisions if d.action == "accept"}
    found: dict[tuple[Of, int], End] = {}
    for move in tally.moves:
        run = move.of, move.run
        if Status.BACKLOG in (move.before, move.to):
            continue  # between two runs: the one before stays as it ended
        if move.to not in (*APPROVED, *STOPPED):
            found.pop(run, None)
            continue
        good = move.to in APPROVED
        # a merged run keeps the time of its approval
        if run not in found or found[run].approved is not good:
            found[run] = End(good, move.cycle, move.ts, accepted_by.get(run) != "burnish")
    return [end for (of, _), end in found.items() if end.ts >= since and of not in removed_tasks]


def counted(ends: Sequence[End]) -> Ends:
    approved_count = sum(end.approved for end in ends)
    return Ends(approved_count, len(ends) - approved_count)


def cycles(ends: Sequence[End]) -> Cycles:
    own = Counter(end.cycle for end in ends if end.approved and not end.by_person)
    people = Counter(end.cycle for end in ends if end.approved and end.by_person)
    return Cycles(dict(sorted(own.items())), dict(sorted(people.items())))

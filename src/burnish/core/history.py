"""What is on record about a task's current run: enough to know the next step after any crash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from burnish.core.finding import Finding
from burnish.core.status import Reason
from burnish.core.task import Task


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """One row of the phase journal."""

    run: int
    cycle: int
    phase: str  # implement, improve, check, review, review:<step>, gate
    attempt: int  # counts from 1 within (run, cycle, phase)
    state: str  # started, finished, failed
    started_at: str = ""
    finished_at: str | None = None
    runner: str = ""
    # phase.finished's or phase.failed's data
    result: Mapping[str, Any] = field(default_factory=dict)
    # a later decision said "do this one again"
    superseded: bool = False
    cost_usd: float | None = None
    tokens: int = 0


REVIEW_FIX = "review-fix"


def review_phase(step: str = "") -> str:
    """The journal's name for the review, or for a step of the pipeline after it."""
    return f"review:{step}" if step else "review"


def is_review(phase: str) -> bool:
    return phase == "review" or phase.startswith("review:")


def fixed_by_reviewer(history: History, cycle: int) -> Mapping[str, Any]:
    """The result of a review of this cycle that changed the code (`review.may_fix`); empty where there is none."""
    record = history.finished(cycle, REVIEW_FIX)
    return record.result if record and record.result.get("changed") else {}


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision.made event."""

    run: int
    cycle: int
    action: str  # accept, revise, escalate, wait, again
    by: str
    data: Mapping[str, Any] = field(default_factory=dict)


# Stops that say nothing about the work: no review of it could be read, or there was nothing to review.
_WITHOUT_JUDGEMENT = frozenset({
    Reason.UNREADABLE_REVIEW, Reason.INCOMPLETE_REVIEW, Reason.NO_CHANGES, Reason.SECRET, Reason.BUDGET,
    Reason.BRANCH_GONE,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class History:
    """The current run of a task, oldest first."""

    task: Task
    phases: tuple[PhaseRecord, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()
    findings: tuple[Finding, ...] = ()

    def phase(self, cycle: int, *names: str) -> PhaseRecord | None:
        """The newest attempt that still counts."""
        for record in reversed(self.phases):
            if record.cycle == cycle and record.phase in names and not record.superseded:
                return record
        return None

    def attempt(self, cycle: int, phase: str) -> tuple[int, bool]:
        """The attempt to go on with, and whether it is a new one: numbers are never used twice."""
        last = self.phase(cycle, phase)
        if last and last.state == "started":
            return last.attempt, False
        tried = [p.attempt for p in self.phases if (p.cycle, p.phase) == (cycle, phase)]
        return max(tried, default=0) + 1, True

    def kept_under(self, cycle: int, phase: str, attempt: int) -> int:
        """The attempt whose folder holds the calls: after a stop it stays, so who had answered is not asked again."""
        tried = {p.attempt: p for p in self.phases if (p.cycle, p.phase) == (cycle, phase) and not p.superseded}
        while (before := tried.get(attempt - 1)) and before.result.get("error") == "INTERRUPTED":
            attempt -= 1
        return attempt

    def finished(self, cycle: int, *names: str) -> PhaseRecord | None:
        record = self.phase(cycle, *names)
        return record if record and record.state == "finished" else None

    def decision(self, cycle: int) -> DecisionRecord | None:
        """The decision on that cycle that still stands."""
        for record in reversed(self.decisions):
            if record.cycle == cycle:
                return None if record.action == "again" else record
        return None

    def open_finding_ids(self) -> list[str]:
        return [finding.id for finding in self.findings if finding.alive]

    def tip(self, cycle: int) -> PhaseRecord | None:
        """The phase that made the code of that cycle: the author's, or the fix of a reviewer (`review.may_fix`)."""
        fix = self.finished(cycle, REVIEW_FIX)
        return fix if fix and fix.result.get("changed") else self.work(cycle)

    def reviews(self, cycle: int) -> tuple[PhaseRecord, ...]:
        """Every finished review of that cycle that still counts: the review itself, then the steps after it."""
        names = dict.fromkeys(p.phase for p in self.phases if p.cycle == cycle and is_review(p.phase))
        done = (self.finished(cycle, name) for name in names)
        return tuple(record for record in done if record)

    def superseded_reviews(self, cycle: int, phase: str) -> tuple[PhaseRecord, ...]:
        """Finished reviews of that cycle that another one takes the place of; `phase` is the one that is held now."""
        said = (p for p in self.phases if p.cycle == cycle and is_review(p.phase) and p.state == "finished")
        return tuple(p for p in said if p.superseded or p.phase == phase)

    def rejected_by_person(self, tree: object) -> bool:
        """Has a person rejected this very tree? Then no reviewer's word alone brings it forward."""
        said = (d.data for d in self.decisions if d.data.get("reason") == "human_rejected")
        return any(data.get("tree") == tree for data in said)

    @property
    def sent_back(self) -> bool:
        """Did the newest review or check that judged the work ask for changes?"""
        judged = (d.data for d in reversed(self.decisions) if d.data.get("reason") not in _WITHOUT_JUDGEMENT)
        statuses = (data["review_status"] for data in judged if data.get("review_status"))
        return next(statuses, "") in ("failed", "rejected")

    @property
    def cycle(self) -> int:
        return max([1, *(p.cycle for p in self.phases), *(d.cycle for d in self.decisions)])

    def work(self, cycle: int) -> PhaseRecord | None:
        return self.finished(cycle, "implement", "improve")

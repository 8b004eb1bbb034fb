"""The recorded history of a task's current run, from which the next step follows after a crash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from burnish.core.finding import Finding
from burnish.core.journal import (
    REVIEW_FIX,
    CheckResult,
    DecisionData,
    Failure,
    PhaseResult,
    ReviewFixResult,
    ReviewResult,
    WorkResult,
    is_review,
    phase_result,
    read,
)
from burnish.core.status import Reason
from burnish.core.task import Task

Result_co = TypeVar("Result_co", bound=PhaseResult | None, covariant=True)
Result = TypeVar("Result", bound=PhaseResult)


@dataclass(frozen=True, slots=True)
class PhaseRecord(Generic[Result_co]):
    """One row of the phase journal."""

    run: int
    cycle: int
    phase: str  # implement, improve, check, review, review:<step>, review-fix, gate
    attempt: int  # counts from 1 within (run, cycle, phase)
    state: str  # started, finished, failed
    # None while the phase runs
    result: Result_co
    started_at: str = ""
    finished_at: str | None = None
    runner: str = ""
    # a later decision requested this phase again
    superseded: bool = False
    cost_usd: float | None = None
    tokens: int = 0


AnyPhase = PhaseRecord[PhaseResult | None]
# A review or the work that it is about: both have a commit and a tree.
JudgedPhase = PhaseRecord[WorkResult] | PhaseRecord[ReviewResult]


def phase_record(
    run: int, cycle: int, phase: str, attempt: int, state: str, payload: Mapping[str, Any], **more: Any
) -> AnyPhase:
    """The record of a phase with its result decoded."""
    result = phase_result(phase, state, payload)
    return PhaseRecord(run, cycle, phase, attempt, state, result, **more)


def with_result(phases: Iterable[AnyPhase], kind: type[Result]) -> tuple[PhaseRecord[Result], ...]:
    """The phases that ended with this kind of result."""
    return tuple(cast(PhaseRecord[Result], record) for record in phases if isinstance(record.result, kind))


def review_phase(step: str = "") -> str:
    """The journal's name for the review, or for a step of the pipeline after it."""
    return f"review:{step}" if step else "review"


def fixed_by_reviewer(history: History, cycle: int) -> ReviewFixResult | None:
    """The result of a review of this cycle that changed the code (`review.may_fix`)."""
    record = history.review_fix(cycle)
    return record.result if record and record.result.changed else None


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision.made event."""

    run: int
    cycle: int
    action: str  # accept, revise, escalate, wait, ask, again
    by: str
    data: DecisionData = field(default_factory=DecisionData)


def decision_record(run: int, cycle: int, action: str, by: str, payload: Mapping[str, Any]) -> DecisionRecord:
    """The record of a decision with its data decoded."""
    return DecisionRecord(run, cycle, action, by, read(DecisionData, payload))


# Stops that say nothing about the work: no review of it could be read, or there was nothing to review.
_WITHOUT_JUDGEMENT = frozenset({
    Reason.UNREADABLE_REVIEW, Reason.INCOMPLETE_REVIEW, Reason.NO_CHANGES, Reason.SECRET, Reason.BUDGET,
    Reason.BRANCH_GONE, Reason.CONFLICT,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class History:
    """The current run of a task, oldest first."""

    task: Task
    phases: tuple[AnyPhase, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()
    findings: tuple[Finding, ...] = ()
    # of earlier runs, too
    all_decisions: tuple[DecisionRecord, ...] = ()

    def phase(self, cycle: int, *names: str) -> AnyPhase | None:
        """The newest attempt that still counts."""
        for record in reversed(self.phases):
            if record.cycle == cycle and record.phase in names and not record.superseded:
                return record
        return None

    def attempt(self, cycle: int, phase: str) -> tuple[int, bool]:
        """The attempt to continue with, and whether it is new. Numbers are never reused."""
        last = self.phase(cycle, phase)
        if last and last.state == "started":
            return last.attempt, False
        numbers = [p.attempt for p in self.phases if (p.cycle, p.phase) == (cycle, phase)]
        return max(numbers, default=0) + 1, True

    def kept_under(self, cycle: int, phase: str, attempt: int) -> int:
        """The attempt whose folder holds the calls. A retried phase keeps it: answered calls are not repeated."""
        attempts = {p.attempt: p for p in self.phases if (p.cycle, p.phase) == (cycle, phase) and not p.superseded}
        while (before := attempts.get(attempt - 1)) and _keeps_answers(before):
            attempt -= 1
        return attempt

    def finished(self, cycle: int, *names: str) -> AnyPhase | None:
        record = self.phase(cycle, *names)
        return record if record and record.state == "finished" else None

    def _ended(self, kind: type[Result], cycle: int, *names: str) -> PhaseRecord[Result] | None:
        record = self.finished(cycle, *names)
        return next(iter(with_result([record], kind)), None) if record else None

    def work(self, cycle: int) -> PhaseRecord[WorkResult] | None:
        return self._ended(WorkResult, cycle, "implement", "improve")

    def check(self, cycle: int) -> PhaseRecord[CheckResult] | None:
        return self._ended(CheckResult, cycle, "check")

    def review(self, cycle: int, step: str = "") -> PhaseRecord[ReviewResult] | None:
        return self._ended(ReviewResult, cycle, review_phase(step))

    def review_fix(self, cycle: int) -> PhaseRecord[ReviewFixResult] | None:
        return self._ended(ReviewFixResult, cycle, REVIEW_FIX)

    def decision(self, cycle: int) -> DecisionRecord | None:
        """The current decision on that cycle."""
        for record in reversed(self.decisions):
            if record.cycle == cycle:
                return None if record.action == "again" else record
        return None

    def open_finding_ids(self) -> list[str]:
        return [finding.id for finding in self.findings if finding.alive]

    def has_something_to_fix(self) -> bool:
        """Whether an author can be sent back without a note: a finding is open, or a review that rejects has words."""
        decision = self.decision(self.cycle)
        is_rejected = decision is not None and decision.action in ("ask", "escalate", "revise")
        summaries = [review.result.summary for review in self.reviews(self.cycle)]
        return bool(self.open_finding_ids()) or (is_rejected and any(summaries))

    def tip(self, cycle: int) -> PhaseRecord[WorkResult] | None:
        """The phase that produced the code of that cycle: the author's, or a reviewer's fix (`review.may_fix`)."""
        fix = self.review_fix(cycle)
        return fix if fix and fix.result.changed else self.work(cycle)

    def reviews(self, cycle: int) -> tuple[PhaseRecord[ReviewResult], ...]:
        """Every finished review of that cycle that still counts: the review itself, then the steps after it."""
        names = dict.fromkeys(p.phase for p in self.phases if p.cycle == cycle and is_review(p.phase))
        return with_result((record for name in names if (record := self.finished(cycle, name))), ReviewResult)

    def superseded_reviews(self, cycle: int, phase: str) -> tuple[PhaseRecord[ReviewResult], ...]:
        """Finished reviews of that cycle that are superseded, or that a new review `phase` replaces."""
        reviews = with_result((p for p in self.phases if p.cycle == cycle), ReviewResult)
        return tuple(p for p in reviews if p.superseded or p.phase == phase)

    def failures(self) -> tuple[PhaseRecord[Failure], ...]:
        return with_result(self.phases, Failure)

    def rejected_by_person(self, tree: str) -> bool:
        """Whether a person rejected this tree, in any run. Reviewers alone cannot approve it then."""
        decisions = (*self.all_decisions, *self.decisions)
        return any(d.data.tree == tree for d in decisions if d.data.reason == Reason.HUMAN_REJECTED)

    @property
    def sent_back(self) -> bool:
        """Whether the newest review or check of the work asked for changes."""
        judgements = (d.data for d in reversed(self.decisions) if d.data.reason not in _WITHOUT_JUDGEMENT)
        statuses = (data.review_status for data in judgements if data.review_status)
        return next(statuses, "") in ("failed", "rejected")

    @property
    def cycle(self) -> int:
        return max([1, *(p.cycle for p in self.phases), *(d.cycle for d in self.decisions)])


def _keeps_answers(record: AnyPhase) -> bool:
    return isinstance(record.result, Failure) and record.result.keeps_answers

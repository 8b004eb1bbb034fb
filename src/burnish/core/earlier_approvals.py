"""Approvals that were taken back because the settings or the task changed: they count again when those are back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from burnish.core.approval import Approval, VoidCause, approval_from
from burnish.core.event import RecordedEvent
from burnish.core.journal import PhaseResult, is_review, read
from burnish.core.journal_events import DecisionMade

# The phases of a cycle on which an approval rests.
JUDGING = ("check", "review")
_REVERSIBLE = frozenset({VoidCause.CRITERIA, VoidCause.TASK, VoidCause.BRANCH})
# Someone has judged otherwise since, or asked for another judgement.
_OTHERWISE = frozenset({"revise", "escalate", "ask"})


@dataclass(frozen=True, slots=True)
class EarlierApproval:
    approval: Approval
    run: int
    cycle: int
    # (phase, attempt) of the checks and reviews that it rests on
    phases: tuple[tuple[str, int], ...]


@dataclass
class _ApprovalWalk:
    found: list[EarlierApproval] = field(default_factory=list)
    # cycle and phase → the attempt that counts at this point of the log
    standing: dict[tuple[int, str], int] = field(default_factory=dict)


def earlier_approvals(events: Sequence[RecordedEvent]) -> tuple[EarlierApproval, ...]:
    """Those that nothing but a change of settings or of the task has taken back, newest first."""
    walk = _ApprovalWalk()
    for event in events:
        _take(walk, event)
    return tuple(reversed(walk.found))


def _take(walk: _ApprovalWalk, event: RecordedEvent) -> None:
    match event.type:
        case "run.started":
            walk.found.clear()
            walk.standing.clear()
        case "phase.finished" if _judges((result := read(PhaseResult, event.data)).phase):
            walk.standing[event.cycle, result.phase] = result.attempt
        case "review.rejected" | "review.max_cycles":
            walk.found.clear()
        case "approval.voided" if VoidCause.of(event.data) not in _REVERSIBLE:
            walk.found.clear()
        case "finding.reopened":
            # one that reviewers gave is weighed with the open findings; a person's counts as it was given
            walk.found = [one for one in walk.found if not one.approval.by]
        case "review.approved":
            phases = [(phase, number) for (cycle, phase), number in walk.standing.items() if cycle == event.cycle]
            walk.found.append(EarlierApproval(approval_from(event), event.run, event.cycle, tuple(sorted(phases))))
        case "decision.made":
            _decision(walk, event)


def _decision(walk: _ApprovalWalk, event: RecordedEvent) -> None:
    decision = read(DecisionMade, event.data)
    again = set(decision.supersede)
    for cycle, phase in [key for key in walk.standing if key[0] == event.cycle]:
        if phase in again or (is_review(phase) and "review" in again):
            del walk.standing[cycle, phase]
    for phase, attempt in decision.reinstate:
        walk.standing[event.cycle, phase] = attempt
    by_person = decision.action == "again" and decision.by != "burnish"
    if decision.action in _OTHERWISE or decision.proposed in _OTHERWISE or by_person:
        walk.found.clear()


def _judges(phase: str) -> bool:
    return phase in JUDGING or is_review(phase)

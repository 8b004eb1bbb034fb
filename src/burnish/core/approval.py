"""An approval, and what it depends on."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from burnish.core.codec import decode
from burnish.core.event import RecordedEvent
from burnish.core.journal import PhaseResult, is_review, read
from burnish.core.journal_events import DecisionMade
from burnish.core.task import Spec


class VoidCause(StrEnum):
    """Why an approval is void."""

    TREE = "tree"
    BASE = "base"
    CRITERIA = "criteria"
    TASK = "task"
    BRANCH = "branch"

    @property
    def words(self) -> str:
        return _WORDS[self]

    @staticmethod
    def of(data: Mapping[str, Any]) -> VoidCause | None:
        """The cause in an `approval.voided` event; older events only have its text. None: another cause."""
        if "cause" in data:
            return next((cause for cause in VoidCause if cause == data["cause"]), None)
        return next((cause for cause in VoidCause if cause.words == data.get("why")), None)


_WORDS = {
    VoidCause.TREE: "the branch has moved since it was approved",
    VoidCause.BASE: "the base has changed since it was approved",
    VoidCause.CRITERIA: "the checks, reviewers or prompts that judged it have changed since",
    VoidCause.TASK: "what the task asks for has changed since it was approved",
    VoidCause.BRANCH: "its branch or its commit is gone",
}


@dataclass(frozen=True, slots=True)
class Approval:
    """The newest approval of a task. It is void once the base, the tree, the criteria or the task text differ."""

    base: str
    tree: str
    judge: str
    commit: str
    valid: bool
    ts: str
    # number of the `review.approved` event that gave it
    event_id: int
    # `asked_for` of the judged task; "" in older approvals, which stay valid
    asked: str = ""
    # the person who approved; "": approved by reviewers
    by: str = ""
    # who approved by which rules; None in older approvals, which are compared by hash
    criteria: ApprovalCriteria | None = None

    def changed(
        self,
        *,
        base: str,
        tree: str,
        judge: str,
        asked: str,
        judge_before: Collection[str] = (),
        criteria: ApprovalCriteria | None = None,
    ) -> VoidCause | None:
        """Why the approval is void, or None. `judge_before` are hashes of the same criteria in earlier forms."""
        if tree != self.tree:
            return VoidCause.TREE
        if base != self.base:
            return VoidCause.BASE
        if not self.judged_by(judge, judge_before, criteria):
            return VoidCause.CRITERIA
        return VoidCause.TASK if self.asked and asked != self.asked else None

    def judged_by(self, judge: str, judge_before: Collection[str], criteria: ApprovalCriteria | None) -> bool:
        """Whether the approval covers these criteria. A person's approval does not depend on reviewers."""
        if self.by or self.judge == judge or self.judge in judge_before:
            return True
        return self.criteria is not None and criteria is not None and self.criteria.cover(criteria)


def approval_from(event: RecordedEvent, *, valid: bool = True) -> Approval:
    """The approval that a `review.approved` event gave."""
    data = event.data
    return Approval(
        base=data["base"],
        tree=data["tree"],
        judge=data["judge"],
        commit=data["commit"],
        valid=valid,
        ts=event.ts,
        event_id=event.id,
        **optional_fields(data),
    )


def optional_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """What only newer `review.approved` events have."""
    criteria = data.get("criteria")
    return {
        "asked": str(data.get("asked", "")),
        "by": str(data.get("by", "")),
        "criteria": decode(ApprovalCriteria, criteria) if criteria else None,
    }


def asked_for(spec: Spec) -> str:
    """A hash of the task text that reviews judge by, without ticks, priority, agents and dependencies."""
    items = [item.text for item in spec.checklist]
    words = [spec.title, spec.description, spec.scope, list(spec.criteria), items, spec.plan]
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()


# -- approval criteria ----------------------------------------------------------------------------
# What judges a change, in parts: a reviewer that was removed differs from one that was changed or added.

# The way in which the hashes are made. A stored one is compared in the form it was made with, or not at all.
CRITERIA_FORM = 1


@dataclass(frozen=True, slots=True)
class StepCriteria:
    """The review itself (no name) or a step of the pipeline."""

    name: str
    # hash of what all its reviewers are given: quorum and prompt
    rules: str
    # one hash for each reviewer
    reviewers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApprovalCriteria:
    # hash of the checks, block_on and the prompts that every review uses
    rules: str
    steps: tuple[StepCriteria, ...]
    form: int = CRITERIA_FORM

    def cover(self, now: ApprovalCriteria) -> bool:
        """Whether an approval by these criteria holds for `now`: the same rules and no additional reviewer."""
        if (self.form, self.rules) != (now.form, now.rules) or not now.steps:
            return False
        steps_by_name = {step.name: step for step in self.steps}
        return all(step.name in steps_by_name and _covers(steps_by_name[step.name], step) for step in now.steps)

    def approved_by(self, name: str, places: Collection[int]) -> ApprovalCriteria:
        """The criteria with only the approving reviewers of one step; `places` are their indices."""

        def only(step: StepCriteria) -> StepCriteria:
            reviewers = tuple(one for place, one in enumerate(step.reviewers) if place in places)
            return replace(step, reviewers=reviewers) if step.name == name else step

        return replace(self, steps=tuple(map(only, self.steps)))


def _covers(before: StepCriteria, now: StepCriteria) -> bool:
    same = before.rules == now.rules
    return same and bool(now.reviewers) and Counter(now.reviewers) <= Counter(before.reviewers)


# -- earlier approvals ----------------------------------------------------------------------------
# Approvals that were taken back because the settings or the task changed: they count again when those are back.

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

"""An approval, and what it depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from burnish.core.approval_criteria import ApprovalCriteria
from burnish.core.codec import decode
from burnish.core.event import RecordedEvent
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

"""An approval, and exactly what it is bound to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass

from burnish.core.task import Spec


@dataclass(frozen=True, slots=True)
class Approval:
    """The newest approval of a task. Void as soon as base, tree, judge or what was asked for differ."""

    base: str
    tree: str
    judge: str
    commit: str
    valid: bool
    ts: str
    # number of the `review.approved` event that gave it
    event_id: int
    # `asked_for` of the task that was judged; "" in approvals of before this was kept: they hold all the same
    asked: str = ""

    def void_because(
        self, *, base: str, tree: str, judge: str, asked: str, judge_before: Collection[str] = ()
    ) -> str | None:
        """Why it no longer holds, or None; `judge_before` are the same criteria in earlier forms of the hash."""
        if tree != self.tree:
            return "the branch has moved since it was approved"
        if base != self.base:
            return "the base has changed since it was approved"
        if self.judge != judge and self.judge not in judge_before:
            return "the checks, reviewers or prompts that judged it have changed since"
        if self.asked and asked != self.asked:
            return "what the task asks for has changed since it was approved"
        return None


def asked_for(spec: Spec) -> str:
    """A hash of what the work is measured by. Ticks, priority, agents and dependencies are no part of that."""
    items = [item.text for item in spec.checklist]
    words = [spec.title, spec.description, spec.scope, list(spec.criteria), items, spec.plan]
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()

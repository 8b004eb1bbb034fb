"""An approval, and exactly what it is bound to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Approval:
    """The newest approval of a task. Void as soon as base, tree or judge differ."""

    base: str
    tree: str
    judge: str
    commit: str
    valid: bool
    ts: str
    # number of the `review.approved` event that gave it
    event_id: int

    def void_because(self, *, base: str, tree: str, judge: str) -> str | None:
        """Why it no longer holds, or None."""
        if tree != self.tree:
            return "the branch has moved since it was approved"
        if base != self.base:
            return "the base has changed since it was approved"
        if judge != self.judge:
            return "the checks, reviewers or prompts that judged it have changed"
        return None

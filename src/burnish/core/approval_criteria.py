"""What judges a change, in parts: a reviewer that was removed differs from one that was changed or added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace

# The way in which the hashes are made. A stored one is compared in the form it was made with, or not at all.
FORM = 1


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
    form: int = FORM

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

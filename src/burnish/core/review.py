"""What a reviewer concluded, or that we could not understand it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from burnish.core.cost import CostSource
from burnish.core.finding import Remark


class Verdict(StrEnum):
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    NEEDS_DISCUSSION = "needs_discussion"
    REJECTED = "rejected"


class RulingState(StrEnum):
    RESOLVED = "resolved"
    OPEN = "open"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a review says of an earlier finding."""

    id: str
    state: RulingState
    note: str = ""


@dataclass(frozen=True, slots=True)
class Compliance:
    """Was an acceptance criterion or checklist item met? None = not judged."""

    item: str  # the criterion or checklist item
    met: bool | None  # null: it was not judged
    note: str = ""  # the reviewer's note


@dataclass(frozen=True, slots=True)
class Review:
    """A review that could be read."""

    verdict: Verdict
    summary: str
    inspected: tuple[str, ...] = ()
    rulings: tuple[Ruling, ...] = ()
    compliance: tuple[Compliance, ...] = ()
    remarks: tuple[Remark, ...] = ()
    blocking: bool = False
    rejection_reason: str = ""
    # what was odd about it: unknown keys, mapped severities, unknown ids
    notes: tuple[str, ...] = ()
    # False: read by the strict reader of old markers; such an approval still needs a person
    signed: bool = True


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A reviewer's reply that could not be read. Never an approval."""

    why: str
    reply: str


@dataclass(frozen=True, slots=True)
class ReviewerResult:
    """One reviewer's part in a cycle's review."""

    agent: str
    model: str | None
    reading: Review | Unreadable
    reviewed_at: str
    raw_sha256: str
    # where the raw text lies in the burnish home
    raw_path: str = ""
    command: str = ""
    provider: str = ""
    cost_usd: float | None = None
    # None: it costs nothing, as a person or the static reviewer
    cost_source: CostSource | None = None
    tokens: int = 0
    # what it wrote around its verdict block
    prose: str = ""
    # of the pipeline, where there is one: `review` or the step's name
    step: str = ""


@dataclass(frozen=True, slots=True)
class UnseenFile:
    """A changed file whose content no reviewer can be shown; a person is asked instead."""

    path: str  # path in the repository
    # type, size, executable bit and hash, in one line
    description: str


@dataclass(frozen=True, slots=True)
class PanelResult:
    """All reviewers' results of one review, and the combined verdict."""

    results: tuple[ReviewerResult, ...]
    verdict: Verdict | None  # None = unreadable
    summary: str
    why: str = ""
    # changed paths that no reviewer saw
    uncovered: tuple[str, ...] = ()
    # changed files with content that cannot be shown, without those that the user's settings allow
    unseen_files: tuple[UnseenFile, ...] = ()
    blocking: bool = False
    rejection_reason: str = ""
    compliance: tuple[Compliance, ...] = ()
    rulings: tuple[Ruling, ...] = ()
    remarks: tuple[Remark, ...] = ()
    signed: bool = True
    # every reviewer was a program that cannot judge criteria
    mechanical: bool = False
    # earlier findings that were still open and that no reviewer mentioned
    not_ruled: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


PERSON = "user:"


def is_person(reviewer: str) -> bool:
    """Whether the review is a person's, signed `user:ada`, and not an agent's."""
    return reviewer.startswith(PERSON)

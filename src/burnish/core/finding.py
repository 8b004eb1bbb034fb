"""A finding: one problem in the change, with an id that lives across cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Category(StrEnum):
    COMPLIANCE = "compliance"
    CODE = "code"
    TEST = "test"
    ARCHITECTURE = "architecture"
    PERFORMANCE = "performance"
    SECURITY = "security"
    GUARD = "guard"


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 is the worst."""
        return ("error", "warning", "info").index(self.value)


class FindingState(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"
    REOPENED = "reopened"
    WAIVED = "waived"
    DISPUTED = "disputed"


# of a person's comment (`burnish comment`), and of one that asks for nothing
COMMENT_RULE = "comment"
REMARK_RULE = "remark"
# rules by which burnish itself recognizes a finding: a criterion, a group of failures, a collection of remarks
_OWN_PREFIXES = ("criterion:", "group:", "more-remarks:")
ALIVE = frozenset({FindingState.OPEN, FindingState.REOPENED, FindingState.DISPUTED})


@dataclass(frozen=True, slots=True)
class Remark:
    """A problem as somebody raised it, before it has an identity."""

    category: Category  # what it is about
    severity: Severity  # the setting `block_on` names what blocks
    title: str  # the problem in one line
    description: str = ""  # the problem in full
    suggestion: str = ""  # how to fix it
    file: str | None = None  # path in the repository
    line: int | None = None  # its first line, from 1
    end_line: int | None = None  # its last line
    quote: str = ""  # the code that it is about
    rule: str = ""  # rule of the linter or check that raised it
    confidence: float | None = None  # how sure the reviewer is, 0 to 1
    # who raised it: an agent's name, or `check:test`
    source: str = ""
    # how many equal problems it stands for (`failure_groups`)
    count: int = 1
    examples: tuple[str, ...] = ()  # some of those problems by name
    # hashes of the names of all that fail now, then `.` and of those that failed earlier
    members: str = ""
    # hash of what the guard reports: a waiver covers no other content
    content: str = ""


@dataclass(frozen=True, slots=True)
class Waiver:
    """A person accepts that a finding stays."""

    by: str  # the person who waived it
    reason: str  # the person's reason
    at: str  # when, ISO 8601, UTC
    until: str | None = None  # the day on which the waiver ends
    # the cycle in which it was waived; 0: not on record
    cycle: int = 0
    # the tree whose code the person saw; "": not on record
    tree: str = ""
    gone: bool = False  # the code that the person saw was removed since: the waiver covers nothing any more


@dataclass(frozen=True, slots=True)
class Reply:
    """A person's answer to a finding. It does not change the finding's state."""

    by: str  # the person
    text: str  # the answer, in Markdown
    at: str  # when, ISO 8601, UTC


@dataclass(frozen=True, slots=True)
class Finding:
    """A remark that has been given an id, and its life so far."""

    id: str  # `F1`, `F2`, …, within the run
    # the problem; in JSON its keys are those of the finding
    remark: Remark = field(metadata={"flat": True})
    state: FindingState = FindingState.OPEN  # `open`, `reopened` and `disputed` count as open
    first_cycle: int = 1  # the cycle that it was raised in
    last_cycle: int = 1  # the last cycle that it was raised in
    # everyone who raised it; the same remark of two reviewers is one finding
    reviewers: tuple[str, ...] = ()
    waiver: Waiver | None = None  # who waived it, and why
    disputes: int = 0  # how often the author disputed it
    evidence: str = ""  # the author's reason for the last dispute
    # why it is in this state, in the words of who put it there
    note: str = ""
    replies: tuple[Reply, ...] = ()  # what people answered, oldest first

    @property
    def alive(self) -> bool:
        return self.state in ALIVE

    @property
    def number(self) -> int:
        return int(self.id[1:])

    @property
    def event_type(self) -> str:
        """The event by which a ledger that does not know the finding yet takes it up as it is."""
        return "finding.opened" if self.alive else f"finding.{self.state}"


def outside_rule(rule: str) -> str:
    """A rule that a reviewer, a report or a test names. It must not pass for one of burnish's own."""
    is_own = rule in (COMMENT_RULE, REMARK_RULE) or rule.startswith(_OWN_PREFIXES)
    return f"reported:{rule}" if is_own else rule


def blocks(finding: Finding, block_on: Severity) -> bool:
    """Whether it blocks approval."""
    return finding.alive and finding.remark.severity.rank <= block_on.rank


def is_from_person(finding: Finding) -> bool:
    """Whether a person raised it by a comment."""
    return finding.remark.rule in (COMMENT_RULE, REMARK_RULE)


def is_withdrawn(finding: Finding) -> bool:
    """Whether its reviewer withdrew it, because it was not a problem (`ledger.py` writes the note)."""
    return finding.state is FindingState.RESOLVED and finding.note.startswith("withdrawn")


def is_unread_comment(finding: Finding, cycle: int) -> bool:
    """Whether a person said this while the author's work of this cycle was done, or later."""
    return finding.alive and finding.remark.rule == COMMENT_RULE and finding.first_cycle >= cycle


def worst_first(findings: tuple[Finding, ...]) -> list[Finding]:
    return sorted(findings, key=lambda f: (f.remark.severity.rank, f.number))


def listed(ids: Sequence[str], most: int = 20) -> str:
    """The ids in one line: `F1, F2`, and how many more there are."""
    more = len(ids) - most
    return ", ".join(ids[:most]) + (f" and {more} more" if more > 0 else "")

"""A finding: one problem in the change, with an id that lives across cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


ALIVE = frozenset({FindingState.OPEN, FindingState.REOPENED, FindingState.DISPUTED})


@dataclass(frozen=True, slots=True)
class Remark:
    """A problem as somebody raised it, before it has an identity."""

    category: Category
    severity: Severity
    title: str
    description: str = ""
    suggestion: str = ""
    file: str | None = None
    line: int | None = None
    end_line: int | None = None
    quote: str = ""
    rule: str = ""
    confidence: float | None = None
    # who says so: an agent's name, or `check:test`
    source: str = ""
    # how many equal problems it stands for, some of them by name, and the hashes of all names (`failure_groups`)
    count: int = 1
    examples: tuple[str, ...] = ()
    members: str = ""


@dataclass(frozen=True, slots=True)
class Waiver:
    by: str
    reason: str
    at: str
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A remark that has been given an id, and its life so far."""

    id: str
    remark: Remark
    state: FindingState = FindingState.OPEN
    first_cycle: int = 1
    last_cycle: int = 1
    # everyone who raised it; two voices are one finding
    reviewers: tuple[str, ...] = ()
    waiver: Waiver | None = None
    disputes: int = 0
    evidence: str = ""
    # why it is in this state, in the words of who put it there
    note: str = ""

    @property
    def alive(self) -> bool:
        return self.state in ALIVE

    @property
    def number(self) -> int:
        return int(self.id[1:])


def blocks(finding: Finding, block_on: Severity) -> bool:
    """Does it stand in the way of approval?"""
    return finding.alive and finding.remark.severity.rank <= block_on.rank


def worst_first(findings: tuple[Finding, ...]) -> list[Finding]:
    return sorted(findings, key=lambda f: (f.remark.severity.rank, f.number))


def listed(ids: Sequence[str], most: int = 20) -> str:
    """The ids in one line: `F1, F2`, and how many more there are."""
    more = len(ids) - most
    return ", ".join(ids[:most]) + (f" and {more} more" if more > 0 else "")

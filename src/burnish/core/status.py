"""The status of a task, and the table of allowed transitions."""

from __future__ import annotations

from enum import StrEnum

from burnish.errors import Refused


class Status(StrEnum):
    BACKLOG = "backlog"
    IN_PROGRESS = "in_progress"
    CODE_REVIEW = "code_review"
    WAITING_APPROVAL = "waiting_approval"
    VERIFIED = "verified"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Reason(StrEnum):
    """Why a task is blocked: a person is needed."""

    MAX_CYCLES = "max_cycles"
    NEEDS_DISCUSSION = "needs_discussion"
    REJECTED = "rejected"
    HUMAN_REJECTED = "human_rejected"
    STALLED = "stalled"
    BUDGET = "budget"
    UNREADABLE_REVIEW = "unreadable_review"
    INCOMPLETE_REVIEW = "incomplete_review"
    GUARD = "guard"
    NO_CHANGES = "no_changes"
    SECRET = "secret"
    BRANCH_GONE = "branch_gone"
    CONFLICT = "conflict"


class ErrorCode(StrEnum):
    """Why a task failed: it could not be run."""

    AGENT_FAILED = "AGENT_FAILED"
    AGENT_MISSING = "AGENT_MISSING"
    TIMEOUT = "TIMEOUT"
    CHECK_ERROR = "CHECK_ERROR"
    SETUP_FAILED = "SETUP_FAILED"
    GIT_ERROR = "GIT_ERROR"
    CONFIG_ERROR = "CONFIG_ERROR"
    DISK_FULL = "DISK_FULL"
    DATABASE_LOCKED = "DATABASE_LOCKED"
    INTERRUPTED = "INTERRUPTED"
    REVIEW_REJECTED = "REVIEW_REJECTED"


class FinalVerdict(StrEnum):
    APPROVED = "APPROVED"
    CHANGES_REQUESTED = "CHANGES_REQUESTED"
    MAX_CYCLES_REACHED = "MAX_CYCLES_REACHED"
    NEEDS_DISCUSSION = "NEEDS_DISCUSSION"
    REJECTED = "REJECTED"


class ReviewStatus(StrEnum):
    PASSED = "passed"
    FIXED = "fixed"
    FAILED = "failed"
    SKIPPED = "skipped"
    REJECTED = "rejected"


_S = Status

# docs/tasks.md holds this table in words; a test compares the two.
MOVES: dict[Status, frozenset[Status]] = {
    _S.BACKLOG: frozenset({_S.IN_PROGRESS, _S.CANCELLED}),
    _S.IN_PROGRESS: frozenset({_S.CODE_REVIEW, _S.BLOCKED, _S.FAILED, _S.CANCELLED}),
    _S.CODE_REVIEW: frozenset(
        {
            _S.IN_PROGRESS,
            _S.WAITING_APPROVAL,
            _S.VERIFIED,
            _S.COMPLETED,
            _S.BLOCKED,
            _S.FAILED,
            _S.CANCELLED,
        }
    ),
    _S.WAITING_APPROVAL: frozenset({_S.VERIFIED, _S.IN_PROGRESS, _S.BLOCKED, _S.CODE_REVIEW, _S.CANCELLED}),
    _S.VERIFIED: frozenset({_S.COMPLETED, _S.CODE_REVIEW, _S.IN_PROGRESS, _S.BLOCKED}),
    _S.COMPLETED: frozenset(),
    _S.BLOCKED: frozenset({_S.IN_PROGRESS, _S.CODE_REVIEW, _S.BACKLOG, _S.VERIFIED, _S.CANCELLED}),
    _S.FAILED: frozenset({_S.IN_PROGRESS, _S.CODE_REVIEW, _S.BACKLOG, _S.CANCELLED}),
    _S.CANCELLED: frozenset({_S.BACKLOG}),
}


def check_move(task: str, old: Status, new: Status) -> None:
    """Raise `Refused` unless the table allows the move."""
    if new in MOVES[old]:
        return
    next_statuses = ", ".join(sorted(MOVES[old]))
    hint = (
        f"From {old} it may become: {next_statuses}. `burnish show {task}` names the commands."
        if next_statuses
        else f"A {old} task does not change any more. To add a new one: burnish add"
    )
    what = f"Task {task} is already {old}." if old is new else f"Task {task} is {old} and cannot become {new}."
    raise Refused(what, hint=hint)

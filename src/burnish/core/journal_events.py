"""What each type of event holds, as types. Phase results and decisions are in `core/journal.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from burnish.core.finding import Finding
from burnish.core.journal import (
    UPCASTERS,
    CheckRecord,
    DecisionData,
    Failure,
    PhaseResult,
    ReviewerRecord,
    nested,
    stored_as,
)


@dataclass(frozen=True, slots=True)
class TaskCreated:
    """The task exists, in `backlog`."""

    # all fields of the task as it was asked for
    spec: Mapping[str, Any] = field(default_factory=dict)
    max_cycles: int = 3
    auto_review: bool = True


@dataclass(frozen=True, slots=True)
class TaskEdited:
    """Fields of the task have new values."""

    # field of the spec, `max_cycles` or `auto_review` → new value
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskRemoved:
    """The task is in no list any more; its events stay."""


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """The status changed. `reason`, `error` and `note` are cleared unless given."""

    before: str = stored_as("from", "")
    to: str = ""
    reason: str | None = None
    error: str | None = None
    note: str = ""
    # the end of what a command printed that could not be run
    output: str = ""
    # changes only when present
    final_verdict: str | None = None
    # changes only when present
    review_status: str | None = None


@dataclass(frozen=True, slots=True)
class TaskMerged:
    """The task's change is on its target."""

    # the branch
    into: str = ""
    commit: str = ""
    # merge, squash or fast-forward
    how: str = ""
    by: str = ""
    # the commit that the target was at
    before: str = ""
    # the commit that was approved
    approved: str = ""
    # the checks ran on the merged tree
    rechecked: bool = False
    # the merged tree is the approved one
    same_tree: bool = False


@dataclass(frozen=True, slots=True)
class TaskClosed:
    """A person called the task done or cancelled it."""

    by: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins, or has new values from now on."""

    run: int = 0
    branch: str = ""
    target: str = ""
    base: str = ""
    max_cycles: int | None = None
    auto_review: bool | None = None
    agent: str | None = None
    model: str | None = None
    runner: str = ""


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The task came to rest."""

    status: str = ""


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """A phase began."""

    phase: str = ""
    attempt: int = 1
    runner: str = ""
    agent: str = ""
    # what agents and checks are confined by
    sandbox: str = ""
    # no agent works: what is on the branch is judged
    by_hand: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """An agent could not answer: it is asked again, or its fallback takes over."""

    phase: str = ""
    message: str = ""
    agent: str = ""
    what: str = ""
    kind: str = ""
    # seconds until the next attempt
    again_in: float | None = None
    attempt: int | None = None
    # attempts in all
    of: int | None = None
    # the agent that takes over
    fallback: str = ""
    # nothing has failed yet, but may
    warning: bool = False


@dataclass(frozen=True, slots=True)
class PhaseRescued:
    """Files that a phase left were saved."""

    phase: str = ""
    ref: str = ""
    folder: str = ""
    # the folder of what may not get into git, at a restart
    withheld: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BaselineCaptured:
    """A check ran on the base."""

    check: str = ""
    commit: str = ""
    tree: str = ""
    command: str = ""
    status: str = ""
    # how many tests failed
    failed: int | None = None
    error: str = ""
    flaky: tuple[str, ...] = ()
    environment: str = ""
    # package → where it was imported from
    origins: Mapping[str, str] = field(default_factory=dict)
    # another task ran it
    shared: bool = False


@dataclass(frozen=True, slots=True)
class ReviewStarted:
    """Reviewers are asked."""

    agents: tuple[str, ...] = ()
    step: str = ""


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """A reviewer is at work."""

    agent: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ReviewCompleted:
    """A review was held to its end; the phase's result has all of it."""

    # the verdict that counts
    verdict: str | None = None
    # the reviewers' own verdict
    own_verdict: str | None = stored_as("said", None)
    # why the two differ
    caveat: str = stored_as("but", "")
    summary: str = ""
    review_ref: str = ""
    reviewers: tuple[ReviewerRecord, ...] = ()
    commit: str = ""
    step: str = ""
    # ids of the findings that it gave
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewApproved:
    """The approval, bound to exactly these."""

    base: str = ""
    tree: str = ""
    commit: str = ""
    # hash of the checks, reviewers and prompts that judged
    criteria_hash: str = stored_as("judge", "")
    # the same in parts
    criteria: Mapping[str, Any] | None = None
    # hash of what the task asks for
    spec_hash: str = stored_as("asked", "")
    why: str = ""
    # the person whose own approval it is
    by: str = ""
    # number of the event that gave it first
    restored: int | None = None


@dataclass(frozen=True, slots=True)
class ReviewStopped:
    """Changes were requested, the review could not be carried out, or the cycles are used up."""

    why: str = ""
    # ids of the findings that stand in the way
    blockers: tuple[str, ...] = ()
    by: str = ""
    commit: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class FindingChanged:
    """The finding as it is from now on."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class GateOpened:
    """A person is asked about this commit."""

    base: str = ""
    tree: str = ""
    commit: str = ""
    criteria_hash: str = stored_as("judge", "")
    criteria: Mapping[str, Any] | None = None
    spec_hash: str = stored_as("asked", "")
    by: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class DecisionMade(DecisionData):
    """The decision on a cycle. Phases in `supersede` are done again; after `wait` a person starts the next step."""

    # accept, revise, escalate, wait, ask or again
    action: str = ""
    # `burnish` or a person
    by: str = ""


@dataclass(frozen=True, slots=True)
class OverrideRecorded:
    """A person accepted the change against its review."""

    by: str = ""
    via: str = ""
    category: str = ""
    explanation: str = ""
    # question → answer
    answers: Mapping[str, bool] = field(default_factory=dict)
    # status of the task before
    before: str = stored_as("from", "")
    verdict: str | None = None
    # ids of the findings that it accepts; None: not on record
    findings: tuple[str, ...] | None = None
    review_ref: str = ""
    # the task for what is left
    follow_up: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalVoided:
    """The approval is void."""

    why: str = ""
    # tree, base, criteria, task or branch; missing for others
    cause: str | None = None
    tree: str = ""
    approved_tree: str = ""


@dataclass(frozen=True, slots=True)
class BudgetNotice:
    """A budget is nearly spent, cannot be counted, or is spent."""

    why: str = ""
    # the setting
    budget: str = ""
    # a cost is not known, so that the budget cannot be counted
    uncounted: bool = False


@dataclass(frozen=True, slots=True)
class LockTakenOver:
    """The runner that held the task is dead, another one continues."""

    before: str = stored_as("from", "")
    by: str = ""


@dataclass(frozen=True, slots=True)
class GuardBreach:
    """Files changed that the phase may not touch."""

    what: str = ""
    why: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotifyFailed:
    """A notification could not be sent."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class TrustGranted:
    """A person trusts the settings of a checkout (an event of the project, not of a task)."""

    root: str = ""
    by: str = ""
    # `burnish trust`, an answer on the terminal, `burnish init`, or an edit through burnish
    how: str = ""
    # hash of the accepted content
    digest: str = ""
    # where the settings are
    settings: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrustRevoked:
    """A person no longer trusts a checkout (an event of the project, not of a task)."""

    root: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class ProjectRelinked:
    """The project's checkout is at another place (an event of the project, not of a task)."""

    before: str = stored_as("from", "")
    to: str = ""


def _merge_with_target(data: dict[str, Any]) -> dict[str, Any]:
    """The first version of `task.merged` had the branch under `target`."""
    return {"into": data.get("target"), **data}


UPCASTERS.update(
    {
        TaskMerged: (_merge_with_target,),
        ReviewCompleted: (nested("reviewers", ReviewerRecord),),
    }
)

# Each type of event, in the order of `docs/events.md`.
EVENTS: dict[str, type[Any]] = {
    "task.created": TaskCreated,
    "task.edited": TaskEdited,
    "task.removed": TaskRemoved,
    "task.status": TaskStatus,
    "task.merged": TaskMerged,
    "task.done": TaskClosed,
    "task.cancelled": TaskClosed,
    "run.started": RunStarted,
    "run.finished": RunFinished,
    "phase.started": PhaseStarted,
    "phase.progress": PhaseProgress,
    "phase.finished": PhaseResult,
    "phase.failed": Failure,
    "phase.rescued": PhaseRescued,
    "lock.taken_over": LockTakenOver,
    "budget.warned": BudgetNotice,
    "budget.reached": BudgetNotice,
    "baseline.captured": BaselineCaptured,
    "check.finished": CheckRecord,
    "review.started": ReviewStarted,
    "review.progress": ReviewProgress,
    "review.completed": ReviewCompleted,
    "review.approved": ReviewApproved,
    "review.rejected": ReviewStopped,
    "review.failed": ReviewStopped,
    "review.max_cycles": ReviewStopped,
    "approval.voided": ApprovalVoided,
    "guard.breach": GuardBreach,
    "finding.opened": FindingChanged,
    "finding.resolved": FindingChanged,
    "finding.reopened": FindingChanged,
    "finding.waived": FindingChanged,
    "finding.disputed": FindingChanged,
    "finding.reanchored": FindingChanged,
    "gate.opened": GateOpened,
    "decision.made": DecisionMade,
    "override.recorded": OverrideRecorded,
    "notify.failed": NotifyFailed,
    "trust.granted": TrustGranted,
    "trust.revoked": TrustRevoked,
    "project.relinked": ProjectRelinked,
}

"""What each type of event holds, as types. Phase results and decisions are in `core/journal.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from burnish.core.event import Event
from burnish.core.finding import Finding
from burnish.core.journal import (
    UPCASTERS,
    CheckRecord,
    DecisionData,
    Failure,
    PhaseResult,
    ReviewerRecord,
    nested,
    optional,
    stored_as,
    written,
)


@dataclass(frozen=True, slots=True)
class TaskCreated:
    """The task exists, in `backlog`."""

    # all fields of the task as it was asked for
    spec: Mapping[str, Any] = field(default_factory=dict)
    max_cycles: int = 3
    auto_review: bool = True  # whether it is reviewed without being asked for


@dataclass(frozen=True, slots=True)
class TaskEdited:
    """A person changed the task; those fields have new values."""

    # field of the spec, `max_cycles` or `auto_review` → new value
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskRemoved:
    """A person removed the task: it is in no list any more; its events stay."""


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """The status changed, by a move in `docs/tasks.md`. `reason`, `error` and `note` are cleared unless given."""

    before: str = stored_as("from", "")  # status of the task before; the event is refused if that is no longer so
    to: str = ""  # status of the task from now on
    reason: str | None = optional(None)  # why it is `blocked`
    error: str | None = optional(None)
    note: str = optional("")  # one line for people
    # the end of what a command printed that could not be run
    output: str = optional("")
    # `APPROVED`, `CHANGES_REQUESTED`, `MAX_CYCLES_REACHED`, …; changes only when present, null clears it
    final_verdict: str | None = optional(None)
    # changes only when present, null clears it
    review_status: str | None = optional(None)


@dataclass(frozen=True, slots=True)
class TaskMerged:
    """The task's change is on its target. A `task.status` is beside it."""

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
    same_tree: bool = optional(False)


@dataclass(frozen=True, slots=True)
class TaskClosed:
    """A person closed the task. A `task.status` is beside it."""

    by: str = optional("")
    why: str = optional("")


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins, or has new values from now on. A new number begins at cycle 0 and without findings."""

    run: int = 0  # number of the run
    branch: str = optional("")  # the task's branch
    target: str | None = optional("")  # the branch that it is to be merged into
    base: str = optional("")
    max_cycles: int | None = optional(None)
    auto_review: bool | None = optional(None)  # whether it is reviewed without being asked for
    agent: str | None = optional(None)
    model: str | None = optional(None)
    runner: str = optional("")


# What a new run has on record even if it is null, so that nothing of the run before stays.
RUN_SETTINGS = ("max_cycles", "auto_review", "agent", "model")


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The task came to rest."""

    status: str = ""  # status of the task


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """A phase began: the task has its cycle and phase, and an earlier `INTERRUPTED` is cleared."""

    phase: str = ""
    attempt: int = 1
    runner: str = ""
    agent: str = optional("")
    # what agents and checks are confined by
    sandbox: str = optional("")
    # no agent works: what is on the branch is judged
    by_hand: bool = optional(False)
    why: str = optional("")
    # the machine whose burnish home has the output, if machines share a database
    machine: str = optional("")


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """An agent could not answer: it is asked again, or its fallback takes over."""

    phase: str = ""
    message: str = ""  # all of it in one line
    agent: str = ""
    what: str = ""  # what happened, in the agent's words
    kind: str = ""  # what that comes to, e.g. `was rate limited`
    # seconds until the next attempt
    again_in: float | None = None
    attempt: int | None = None
    # attempts in all
    of: int | None = None
    # the agent that takes over
    fallback: str = ""
    # nothing has failed yet, but may
    warning: bool = False
    until: str = optional("")  # the plan of the agent is used up until then, and the phase waits


@dataclass(frozen=True, slots=True)
class PhaseRescued:
    """Files that a phase left were saved."""

    phase: str = ""
    ref: str = optional("")  # the ref that holds the files
    folder: str = optional("")  # the folder that holds the files
    # the folder of what may not get into git, at a restart
    withheld: str = optional("")
    names: tuple[str, ...] = optional(())  # the files that may not get into git


@dataclass(frozen=True, slots=True)
class BaselineCaptured:
    """A check ran on the base."""

    check: str = ""  # name of the check
    commit: str = ""
    tree: str = ""
    command: str = ""
    status: str = ""  # `passed`, `failed` or `error`
    # how many tests failed
    failed: int | None = None
    error: str = ""  # why it could not be run
    flaky: tuple[str, ...] = ()  # tests that failed and passed on the same commit
    environment: str = ""  # hash of the environment that it ran in
    # package → where it was imported from
    origins: Mapping[str, str] = field(default_factory=dict)
    # another task ran it
    shared: bool = optional(False)


@dataclass(frozen=True, slots=True)
class ReviewStarted:
    """Reviewers are asked."""

    agents: tuple[str, ...] = ()  # the reviewers
    step: str = optional("")


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """A reviewer is at work."""

    agent: str = ""
    message: str = ""  # the newest line of its output


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
    reviewers: tuple[ReviewerRecord, ...] = ()  # the reviewers, in the order of the settings
    commit: str = ""
    step: str = ""
    # ids of the findings that it gave
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Binding:
    """What an approval is bound to."""

    base: str | None = ""
    tree: str = ""
    commit: str = ""
    # hash of the checks, reviewers and prompts that judged
    criteria_hash: str = stored_as("judge", "")
    # the same in parts
    criteria: Mapping[str, Any] | None = optional(None)
    # hash of what the task asks for
    spec_hash: str = stored_as("asked", "", optional=True)
    # the person whose own approval it is
    by: str = optional("")

    def values(self) -> dict[str, Any]:
        """The fields by name, for the events that hold them."""
        return {one.name: getattr(self, one.name) for one in fields(Binding)}


@dataclass(frozen=True, slots=True)
class ReviewApproved(Binding):
    """The approval, bound to exactly these."""

    why: str = ""
    # number of the event that gave it first
    restored: int | None = optional(None)


@dataclass(frozen=True, slots=True)
class ReviewStopped:
    """A review does not lead to an approval."""

    why: str = ""
    # ids of the blocking findings
    blockers: tuple[str, ...] = ()
    by: str = optional("")
    commit: str = optional("")
    error: str = optional("")


@dataclass(frozen=True, slots=True)
class FindingChanged:
    """The finding as it is from now on; the task's open findings are counted again. Run 0: of the current run."""

    finding: Finding  # all of the finding


@dataclass(frozen=True, slots=True)
class GateOpened(Binding):
    """A person is asked about this commit."""

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
    """A person accepted the change against its review. The task's overrides are counted."""

    by: str = ""
    via: str = ""
    category: str = ""  # `pre_existing`, `wrong_context`, `cross_scope`, `infra` or `custom`
    explanation: str = ""  # the person's own words
    # question → answer
    answers: Mapping[str, bool] = field(default_factory=dict)
    # status of the task before
    before: str = stored_as("from", "")
    verdict: str | None = None
    # ids of the findings that it accepts; None: not on record
    findings: tuple[str, ...] | None = None
    review_ref: str = optional("")
    # the task for what is left
    follow_up: str = optional("")


@dataclass(frozen=True, slots=True)
class ApprovalVoided:
    """The approval is void: what it was bound to has changed, or a person asked for more."""

    why: str = ""
    # tree, base, criteria, task or branch; missing for others
    cause: str | None = optional(None)
    tree: str = optional("")  # the git tree on the branch now
    approved_tree: str = optional("")  # the git tree that was approved


@dataclass(frozen=True, slots=True)
class BudgetNotice:
    """About a budget."""

    why: str = ""
    # the setting
    budget: str = optional("")
    # a cost is not known, so that the budget cannot be counted
    uncounted: bool = optional(False)


@dataclass(frozen=True, slots=True)
class LockTakenOver:
    """The runner that held the task is dead, another one continues."""

    before: str = stored_as("from", "")  # the runner that is dead
    by: str = ""


@dataclass(frozen=True, slots=True)
class GuardBreach:
    """Files changed that the phase may not touch."""

    what: str = ""  # what happened, in words
    paths: tuple[str, ...] = ()  # the files, up to 50
    why: str = optional("")


@dataclass(frozen=True, slots=True)
class NotifyFailed:
    """A notification could not be sent."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class TrustGranted:
    """A person trusts the settings of a checkout (an event of the project, not of a task)."""

    root: str = ""  # the checkout
    by: str = ""
    # `burnish trust`, an answer on the terminal, `burnish init`, or an edit through burnish
    how: str = ""
    # hash of the accepted content
    digest: str = ""
    # where the settings are
    settings: str = ""
    files: tuple[str, ...] = ()  # the files that were accepted


@dataclass(frozen=True, slots=True)
class TrustRevoked:
    """A person no longer trusts a checkout (an event of the project, not of a task)."""

    root: str = ""  # the checkout
    by: str = ""


@dataclass(frozen=True, slots=True)
class ProjectRelinked:
    """The project's checkout is at another place (an event of the project, not of a task)."""

    before: str = stored_as("from", "")  # where the checkout was
    to: str = ""  # where the checkout is


def _merge_with_target(data: dict[str, Any]) -> dict[str, Any]:
    """The first version of `task.merged` had the branch under `target`."""
    return {"into": data.get("target"), **data}


UPCASTERS.update(
    {
        TaskMerged: (_merge_with_target,),
        ReviewCompleted: (nested("reviewers", ReviewerRecord),),
        FindingChanged: (nested("finding", Finding),),
    }
)

# Each type of event, in the order of `docs/events.md`.
EVENTS: dict[str, type[Any]] = {
    "task.created": TaskCreated,
    "task.edited": TaskEdited,
    "task.removed": TaskRemoved,
    "task.status": TaskStatus,
    "task.merged": TaskMerged,
    "task.done": TaskClosed,  # a person called it done
    "task.cancelled": TaskClosed,  # a person cancelled it
    "run.started": RunStarted,
    "run.finished": RunFinished,
    "phase.started": PhaseStarted,
    "phase.progress": PhaseProgress,
    "phase.finished": PhaseResult,
    "phase.failed": Failure,
    "phase.rescued": PhaseRescued,
    "lock.taken_over": LockTakenOver,
    "budget.warned": BudgetNotice,  # it is nearly spent, or cannot be counted
    "budget.reached": BudgetNotice,  # it is spent: the task is blocked
    "baseline.captured": BaselineCaptured,
    "check.finished": CheckRecord,
    "review.started": ReviewStarted,
    "review.progress": ReviewProgress,
    "review.completed": ReviewCompleted,
    "review.approved": ReviewApproved,
    "review.rejected": ReviewStopped,  # changes are requested, or the change is rejected
    "review.failed": ReviewStopped,  # the review could not be carried out
    "review.max_cycles": ReviewStopped,  # the cycles are used up
    "approval.voided": ApprovalVoided,
    "guard.breach": GuardBreach,
    "finding.opened": FindingChanged,  # it is new
    "finding.resolved": FindingChanged,  # a later review or check no longer has it
    "finding.reopened": FindingChanged,  # it was resolved or waived, and is open again
    "finding.waived": FindingChanged,  # a person waived it
    "finding.disputed": FindingChanged,  # the author disputes it
    "finding.reanchored": FindingChanged,  # its line moved
    "finding.replied": FindingChanged,  # a person answered it
    "gate.opened": GateOpened,
    "decision.made": DecisionMade,
    "override.recorded": OverrideRecorded,
    "notify.failed": NotifyFailed,
    "trust.granted": TrustGranted,
    "trust.revoked": TrustRevoked,
    "project.relinked": ProjectRelinked,
}


def new_event(type: str, data: Any, *, run: int = 0, cycle: int = 0, explicit: Collection[str] = ()) -> Event:
    """An event about to be recorded. `explicit`: optional fields that are written although they hold their default."""
    if not isinstance(data, EVENTS[type]):
        raise TypeError(f"{type} holds {EVENTS[type].__name__}, not {data.__class__.__name__}")
    return Event(type, written(data, explicit), run=run, cycle=cycle)

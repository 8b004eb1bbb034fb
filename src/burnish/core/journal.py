"""Phase results and decisions as types: the one place that knows which keys the journal has on disk.

What is stored is never rewritten. Data of earlier versions pass through upcasters, one for each type and version.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar, cast

from burnish.core.codec import decode, encode, key_of
from burnish.core.finding import Finding, Remark
from burnish.core.images import Evidence
from burnish.core.review import Compliance, UnseenFile

T = TypeVar("T")
Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

REVIEW_FIX = "review-fix"


def is_review(phase: str) -> bool:
    return phase == "review" or phase.startswith("review:")


def stored_as(key: str, default: Any, *, optional: bool = False) -> Any:
    """A field whose key on disk is not its name."""
    return field(default=default, metadata={"key": key, "optional": optional})


def optional(default: Any) -> Any:
    """A field that is not written while it holds its default."""
    return field(default=default, metadata={"optional": True})


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """A phase ended, with this result. Cost and tokens are added to the task; the commit is the task's."""

    phase: str = ""
    # counts from 1 within run, cycle and phase
    attempt: int = 1
    # None: not known, which is not zero
    cost_usd: float | None = None
    # None: the phase uses nothing that has a price; "": from before sources were recorded
    cost_source: str | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class WorkResult(PhaseResult):
    """Implement or improve."""

    commit: str = ""
    tree: str = ""
    # None: not on record
    changed: bool | None = None
    agent: str = ""
    model: str | None = None
    seconds: float | None = None  # how long the agent worked
    call_dir: str = ""  # folder with the prompt and the output of the call
    session: str | None = None  # id of the agent's session, to continue it
    session_usage: Mapping[str, int] | None = None  # tokens that the session has used so far, by kind
    # ids of the findings that the author disputes
    disputes: tuple[str, ...] = ()
    # files that git ignores by their name
    left_out: tuple[str, ...] = ()
    # files outside of the workspace that changed meanwhile
    touched: tuple[str, ...] = ()
    last_words: str = ""  # the end of the agent's last message
    # no agent worked: a person committed on the branch
    by_hand: bool = optional(False)
    why: str = optional("")


@dataclass(frozen=True, slots=True)
class ReviewerRecord:
    """One reviewer's part in a review."""

    agent: str = ""
    model: str | None = None
    provider: str = ""  # maker of the model
    command: str = ""
    reviewed_at: str = ""  # when, ISO 8601, UTC
    # None: the reply could not be read
    verdict: str | None = None
    # the reviewer asks for a person; None: the reply could not be read
    blocking: bool | None = None
    # of an unreadable reply, why it could not be read
    summary: str = ""
    raw_sha256: str = ""  # hash of the reply
    raw_path: str = ""  # file that holds the reply
    cost_usd: float | None = None
    cost_source: str | None = None
    tokens: int = 0
    # what the reviewer wrote around its verdict
    prose: str = ""
    # False in records from before each reviewer's own cost was stored
    has_own_cost: bool = field(default=True, metadata={"derived": True})


@dataclass(frozen=True, slots=True)
class ReviewFixResult(WorkResult):
    """A review that may fix what it finds (`review.may_fix`)."""

    verdict: str | None = None
    summary: str = ""
    fixers: tuple[ReviewerRecord, ...] = stored_as("mended_by", ())  # the reviewers that made the fixes
    # ids of the findings that were fixed
    issues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedCounts:
    """Tests of one run of a check; null: not known."""

    total: int | None = None  # tests that ran or were skipped
    passed: int | None = None  # tests that passed
    failed: int | None = None  # tests that failed
    skipped: int | None = None  # tests that were skipped


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """A check ended. The result of the phase `check` holds the same."""

    name: str = ""  # its name in the settings, e.g. `test`
    check: str = ""  # the same as `name`
    command: str = ""
    # passed, failed, error, not_run
    status: str = ""
    # of a check that was not run
    why: str = optional("")
    seconds: float | None = None  # how long it ran
    exit_code: int | None = None  # exit code of the command
    blocking: bool = True  # whether new failures block an approval
    # None: only its exit code is known
    counts: RecordedCounts | None = None
    # tests that fail and did not on the base, up to 50
    new: tuple[str, ...] = ()
    new_count: int = 0  # how many tests fail that passed on the base
    new_messages: Mapping[str, str] = field(default_factory=dict)  # name of a test → its message
    old: tuple[str, ...] = ()  # tests that failed on the base as well, up to 50
    old_count: int = 0  # how many of those there are
    fixed: tuple[str, ...] = ()  # tests that failed on the base and pass now, up to 50
    fixed_count: int = 0  # how many of those there are
    problems: int = 0  # how many problems are new that have a place in a file
    broken: bool = False  # it passed on the base and cannot be run now
    # was there a run on the base to compare with?
    baseline: bool = False
    # why new failures cannot be distinguished from old ones
    uncountable: str = ""
    # why only a part of its tests ran
    partial: str = ""
    flaky: tuple[str, ...] = ()  # tests that failed and passed on the same commit
    error: str = ""  # why it could not be run
    tail: str = ""  # the end of its output
    output_path: str = ""  # file that holds its output
    base_failures: tuple[str, ...] = optional(())  # tests of the base that fail with the change, which edits tests
    base_note: str = optional("")  # the same in one line, or why it is unknown
    # files that it left to be looked at: `path`, `name` of the stored file, `kind`, `bytes`
    evidence: tuple[Evidence, ...] = optional(())


@dataclass(frozen=True, slots=True)
class CheckResult(PhaseResult):
    """All checks of one commit."""

    commit: str = ""
    checks: tuple[CheckRecord, ...] = ()  # the checks, in the order of the settings
    warnings: tuple[str, ...] = ()  # what a person should know about them
    untested: tuple[str, ...] = optional(())  # tests of changed files that were not run, with the reason
    untested_files: tuple[str, ...] = optional(())  # changed files none of whose tests was run
    flaky: tuple[str, ...] = ()  # tests that failed and passed on the same commit


@dataclass(frozen=True, slots=True)
class RecordedRemark(Remark):
    """What a review says against an approval, and the id of the finding that it became."""

    finding: str = stored_as("id", "")  # id of that finding

    @classmethod
    def of(cls, remark: Remark, finding: str) -> RecordedRemark:
        return cls(**{one.name: getattr(remark, one.name) for one in fields(Remark)}, finding=finding)

    def as_remark(self) -> Remark:
        return Remark(**{one.name: getattr(self, one.name) for one in fields(Remark)})


@dataclass(frozen=True, slots=True)
class ReviewResult(PhaseResult):
    """The review of a cycle, or a step of the pipeline after it."""

    commit: str = ""
    tree: str = ""
    # "": the review itself
    step: str = ""
    # hash of the checks, reviewers and prompts that judged; None: not on record
    criteria_hash: str | None = stored_as("judge", None)
    # hash of what the task asks for; None: not on record
    spec_hash: str | None = stored_as("asked", None)
    base_tree: str = ""  # the git tree of the base
    # the panel's own verdict; None: unreadable
    verdict: str | None = None
    # the verdict that counts beside open findings, criteria and coverage
    effective_verdict: str | None = stored_as("weighed", None)
    # why the two verdicts differ
    caveat: str = stored_as("but", "")
    summary: str = ""
    # of a review without a verdict
    why: str = ""
    blocking: bool = False  # a reviewer asks for a person
    signed: bool = True  # every reply carried the number of this review
    mechanical: bool = False  # every reviewer was a program that cannot judge criteria
    # open findings that an unsigned review neither rules on nor raises again
    not_ruled: tuple[str, ...] = ()
    rejection_reason: str = ""  # why it was rejected, in the reviewers' words
    # of records from before the decision held it
    review_status: str | None = optional(None)
    compliance: tuple[Compliance, ...] = ()  # the acceptance criteria and checklist items
    # changed paths that no reviewer looked at
    uncovered: tuple[str, ...] = ()
    # changed paths that no reviewer was shown; None: not on record
    unseen: tuple[str, ...] | None = None
    # changed files with content that cannot be shown
    unseen_files: tuple[UnseenFile, ...] = ()
    inspected: tuple[str, ...] = ()  # changed paths that reviewers looked at, and some others
    not_shown: tuple[str, ...] = ()  # changed paths that were left out of a prompt
    blocking_remarks: tuple[RecordedRemark, ...] = stored_as("grave", ())  # what the reviewers say against an approval
    notes: tuple[str, ...] = ()  # oddities of the replies
    reviewers: tuple[ReviewerRecord, ...] = ()  # the reviewers, in the order of the settings
    artifact: str | None = None  # file that holds the review
    review_ref: str | None = None


@dataclass(frozen=True, slots=True)
class GateResult(PhaseResult):
    """A person's answer at the gate."""

    choice: str = ""  # `approve`, `reject`, `fix` or `skip`


@dataclass(frozen=True, slots=True)
class Failure(PhaseResult):
    """A phase could not be carried out. Cost and tokens are added; the error `INTERRUPTED` shows on the task."""

    agent: str = optional("")
    error: str = ""
    what: str = ""  # what happened, in words
    hint: str = ""
    # the end of what the program printed
    output: str = optional("")
    # the ref that holds what was in the workspace
    rescue: str | None = None
    # the work is left in the workspace and only lacks a commit
    kept: bool = optional(False)
    commit: str = optional("")
    # a reviewer wrote to the files that the others read: no answer of this attempt counts
    breached: bool = optional(False)

    @property
    def keeps_answers(self) -> bool:
        """Whether the next attempt reads the answers that were given, and asks only the other reviewers."""
        return (self.is_interrupted or is_review(self.phase)) and not self.breached

    @property
    def is_interrupted(self) -> bool:
        return self.error == "INTERRUPTED"


@dataclass(frozen=True, slots=True)
class DecisionData:
    """What a `decision.made` event holds beside its action and its author."""

    why: str = ""
    reason: str | None = optional(None)  # why the task stops, e.g. `max_cycles`
    review_status: str | None = optional(None)
    # ids of the blocking findings
    blockers: tuple[str, ...] = optional(())
    # phases of the cycle that no longer count
    supersede: tuple[str, ...] = optional(())
    # phase and attempt of results that count again
    reinstate: tuple[tuple[str, int], ...] = optional(())
    # number of the event that gave the approval which counts again
    restored: int | None = optional(None)
    # what the settings alone would have done, where a person is asked or starts the next step
    proposed: str | None = optional(None)
    # `improve` or `review`, where a person asked for one step
    step: str = optional("")
    # what a person wants to have changed
    guidance: str = optional("")
    # a person waived the last blocker
    waived: bool = optional(False)
    # the review that a person let pass ("" is the review itself), and the step after it
    passed: str | None = optional(None)
    next: str = optional("")  # the step after the one that a person let pass
    # the task waits for a review from outside
    is_external: bool = stored_as("outside", False, optional=True)
    unseen_files: tuple[UnseenFile, ...] = optional(())  # changed files that a person is to look at
    tree: str = optional("")
    commit: str = optional("")
    choice: str = optional("")  # a person's choice at the gate, or `override`
    # the commit of the target branch that the next cycle merges into the task's branch
    target_commit: str = optional("")
    conflicts: tuple[str, ...] = optional(())  # paths with a conflict in that merge
    via: str = optional("")
    note: str = optional("")  # the person's own words


def phase_result(phase: str, state: str, data: Mapping[str, Any]) -> PhaseResult | None:
    """The result of a phase as the journal holds it; None while it runs."""
    return None if state == "started" else read(_result_type(phase, state), data)


def _result_type(phase: str, state: str) -> type[PhaseResult]:
    if state == "failed":
        return Failure
    if is_review(phase):
        return ReviewResult
    kinds = {"implement": WorkResult, "improve": WorkResult, REVIEW_FIX: ReviewFixResult, "check": CheckResult}
    return {**kinds, "gate": GateResult}.get(phase, PhaseResult)


def written(value: Any, explicit: Collection[str] = ()) -> dict[str, Any]:
    """A value as it is stored. `explicit`: optional fields that are written although they hold their default."""
    left_out = {
        key_of(one)
        for one in fields(value)
        if one.metadata.get("optional") and one.name not in explicit and getattr(value, one.name) == one.default
    }
    return {key: part for key, part in encode(value).items() if key not in left_out}


def read(kind: type[T], data: Mapping[str, Any]) -> T:
    """Stored data as a type."""
    return decode(kind, current(kind, data))


def current(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Data of any earlier version as the newest version would have written them. null counts as missing."""
    values = dict(data)
    for upcaster in _upcasters(cast(Any, kind)):
        values = upcaster(values)
    return {key: value for key, value in values.items() if value is not None}


@cache
def _upcasters(kind: type[Any]) -> tuple[Upcaster, ...]:
    return tuple(upcaster for parent in reversed(kind.__mro__) for upcaster in UPCASTERS.get(parent, ()))


def _cost_without_source(data: dict[str, Any]) -> dict[str, Any]:
    return {"cost_source": "", **data}


def _reviewer_without_cost(data: dict[str, Any]) -> dict[str, Any]:
    return {"has_own_cost": "cost_usd" in data, "cost_source": "", **data}


def _review_without_effective_verdict(data: dict[str, Any]) -> dict[str, Any]:
    return {"weighed": data.get("verdict"), **data}


def _check_in_report(data: dict[str, Any]) -> dict[str, Any]:
    """The first version of `check.finished` had the report under a key of its own."""
    report = data.get("report")
    return {**report, **data} if isinstance(report, Mapping) else data


def _check_with_all_names(data: dict[str, Any]) -> dict[str, Any]:
    """Before there was a limit to the names, their number was the count."""
    counts = {f"{names}_count": len(data.get(names) or ()) for names in ("new", "old", "fixed")}
    return {**data, **{key: data.get(key) or count for key, count in counts.items()}}


def _finding_with_remark(data: dict[str, Any]) -> dict[str, Any]:
    """The first version of a finding had the problem under a key of its own."""
    remark = data.get("remark")
    others = {key: value for key, value in data.items() if key != "remark"}
    return {**remark, **others} if isinstance(remark, Mapping) else data


def nested(key: str, kind: type[Any]) -> Upcaster:
    """Brings what a key or a list holds to the newest version."""

    def upcast(data: dict[str, Any]) -> dict[str, Any]:
        value = data.get(key) or ()
        if isinstance(value, Mapping):
            return {**data, key: current(kind, value)}
        return {**data, key: [current(kind, part) for part in value]}

    return upcast


# Oldest first: each takes the data of one version to the next, and leaves those of later versions as they are.
UPCASTERS: dict[type[Any], tuple[Upcaster, ...]] = {
    Finding: (_finding_with_remark,),
    PhaseResult: (_cost_without_source,),
    ReviewerRecord: (_reviewer_without_cost,),
    ReviewFixResult: (nested("mended_by", ReviewerRecord),),
    ReviewResult: (_review_without_effective_verdict, nested("reviewers", ReviewerRecord)),
    CheckRecord: (_check_in_report, _check_with_all_names),
    CheckResult: (nested("checks", CheckRecord),),
}

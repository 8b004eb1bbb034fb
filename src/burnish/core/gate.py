"""The gate: what a person is shown, and what the person may answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from burnish.core.finding import Finding, Severity
from burnish.core.override import OverrideReasons
from burnish.core.review import UnseenFile
from burnish.core.status import Status
from burnish.core.task import Task, TaskType


class GateChoice(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    FIX = "fix"
    SKIP = "skip"


# why an approved task waits in a project where a person decides after each review
REVIEW_APPROVED = "the review approved it; a person decides next"
# how the reason of a gate ends where the work was approved before, and something has happened to it since
_RESULT_APPROVED = "; the review approved the result; a person decides next"


def approved_result(cause: str) -> str:
    """Why an approved task waits for a person, with what has happened to it since the approval before."""
    return f"{cause}{_RESULT_APPROVED}"


def cause_of(why: str) -> str:
    """What has happened to the work since it was approved; "" if the reason of the gate tells nothing of it."""
    return why.removesuffix(_RESULT_APPROVED) if why.endswith(_RESULT_APPROVED) else ""


@dataclass(frozen=True, slots=True)
class GateView:
    """One reviewed commit, as it is put before a person."""

    task: Task
    cycle: int
    commit: str
    verdict: str
    summary: str
    # what burnish would do, or why it waits
    why: str
    findings: tuple[Finding, ...] = ()
    # approving it goes against the review or open findings
    against: bool = False
    may_skip: bool = False
    # skipping it goes against what the checks or the guard found
    skip_against: bool = False
    # what keeps the reviewer's approval from being one
    but: str = ""
    block_on: Severity = Severity.ERROR
    # what the reviewer changed by itself: its summary, and the findings that this resolved
    fixed: str = ""
    fixed_findings: tuple[Finding, ...] = ()
    # files whose content no reviewer could be shown: approving it accepts them as well
    unseen_files: tuple[UnseenFile, ...] = ()
    # what the checks tell beside their results: flaky tests, or that nothing was tested
    warnings: tuple[str, ...] = ()

    @property
    def is_plan(self) -> bool:
        return self.task.spec.type is TaskType.PLAN

    @property
    def happened(self) -> str:
        """What has happened since an approval before, such as `main has moved since the approval`."""
        return self.why.removesuffix(_RESULT_APPROVED) if self.why.endswith(_RESULT_APPROVED) else ""

    @property
    def objection(self) -> str:
        """`but`, unless it only repeats why the task waits."""
        return "" if self.why and self.why in self.but else self.but


@dataclass(frozen=True, slots=True)
class GateDecision:
    choice: GateChoice
    note: str = ""
    # the commit that the person saw; "" = the reviewed one
    commit: str = ""
    # why, where approving is an override
    grounds: OverrideReasons | None = None
    # the person saw it in one of these; () = it counts whatever the status is by now
    among: tuple[Status, ...] = ()


@dataclass(frozen=True, slots=True)
class Actor:
    """Who decides, and from where: cli, gate, tui, web."""

    name: str
    via: str = "cli"

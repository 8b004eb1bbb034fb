"""A task: its specification and its state."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from burnish.core.status import ErrorCode, FinalVerdict, Reason, ReviewStatus, Status
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.core.finding import Finding


class TaskType(StrEnum):
    IMPLEMENT = "implement"
    PLAN = "plan"
    REVIEW = "review"
    IMPROVE = "improve"


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the task's checklist."""

    text: str
    done: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """The specification of a task. Changed only by a person (`edit`)."""

    title: str
    description: str = ""
    type: TaskType = TaskType.IMPLEMENT
    scope: str = ""
    criteria: tuple[str, ...] = ()
    checklist: tuple[Item, ...] = ()
    plan: str = ""
    depends_on: tuple[int, ...] = ()
    priority: int = 0
    agent: str | None = None
    model: str | None = None
    base_ref: str | None = None
    skip_tests: bool = False
    of: int | None = None
    # None = as the settings say when the task is run
    auto_review: bool | None = None
    max_cycles: int | None = None
    # the finding that it was made of, as `29.1 F3`: task, run, id
    follows: str = ""
    # no run takes it up (`burnish pause`)
    paused: bool = False
    # instead of `budget.task_usd` and `budget.task_tokens` (`burnish retry --budget`)
    budget_usd: float | None = None
    budget_tokens: int | None = None
    # words to find it by
    tags: tuple[str, ...] = ()
    # lists and the board leave it out once it is finished
    archived: bool = False
    # labels of machines: only a worker that offers all of them runs it
    needs: tuple[str, ...] = ()
    # what it was imported from, as `spec-runner:spec/tasks.md#TASK-001`
    source: str = ""


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task that does not exist yet, with what the settings give it."""

    spec: Spec
    max_cycles: int
    auto_review: bool
    # of earlier reviews in another tool: each run of the task begins with them
    findings: tuple[Finding, ...] = ()


# a run would take it up, or a run with `--watch` would try it again
PAUSABLE = frozenset({Status.BACKLOG, Status.IN_PROGRESS, Status.CODE_REVIEW, Status.FAILED})


@dataclass(frozen=True, slots=True)
class Task:
    """The state of a task from the event log."""

    project: str
    id: int
    spec: Spec
    status: Status = Status.BACKLOG
    reason: Reason | None = None
    error: ErrorCode | None = None
    # one line for people: why it is blocked or failed, and what to type
    note: str = ""
    final_verdict: FinalVerdict | None = None
    run: int = 0
    cycle: int = 0
    max_cycles: int = 3
    auto_review: bool = True
    review_status: ReviewStatus | None = None
    # the phase that is under way or was cut, for the status line
    phase: str | None = None
    phase_started: str | None = None
    branch: str | None = None
    # where the branch will be merged to, e.g. "main"; None on a detached HEAD
    target: str | None = None
    base: str | None = None
    commit: str | None = None
    open_findings: int = 0
    cost_usd: float | None = None
    # where that comes from (`CostSource`); None: nothing was used yet
    cost_source: str | None = None
    tokens: int = 0
    overrides: int = 0
    # at rest in code_review: `review` to be asked for, `improve` to be started, `outside`: handed to another reviewer
    waits_for: str = ""
    # by the reviewer itself, with `review.may_fix`; counts where `review_status` is `fixed`
    issues_fixed: int = 0
    runner: str | None = None
    created_at: str = ""
    updated_at: str = ""
    # the agent of the current run, once known
    agent: str | None = None
    model: str | None = None

    @property
    def is_archived(self) -> bool:
        return self.spec.archived and self.status in (Status.COMPLETED, Status.CANCELLED)

    @property
    def is_paused(self) -> bool:
        """Whether no run takes it up, although its status allows it; one that runs ends after its phase."""
        return self.spec.paused and self.status in PAUSABLE

    @property
    def name(self) -> str:
        """`29-add-login`: the directory and branch name. It stays when the title is edited later."""
        if (
            self.spec.type is TaskType.IMPROVE
            and self.spec.of
            and not (self.branch or "").startswith(f"burnish/{self.id}-")
        ):
            # its branch is another task's, or will be: only the directory is its own
            return f"{self.id}-continues-{self.spec.of}"
        return self.branch.removeprefix("burnish/") if self.branch else f"{self.id}-{slug(self.spec.title)}"


def slug(title: str, *, longest: int = 40) -> str:
    """A name made of a-z, 0-9 and dashes: safe as a ref, a path and a word in a shell."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return words[:longest].rstrip("-") or "task"


def task_id(text: str) -> int:
    """`29` or `T29` → 29."""
    match = re.fullmatch(r"[Tt]?0*([1-9][0-9]{0,8})", text.strip())
    if not match:
        raise BadInput(f"{text!r} is not a task id.", hint="Write a number, e.g. 29 or T29; `burnish list` shows them.")
    return int(match[1])


def circle(depends_on: dict[int, tuple[int, ...]], start: int) -> list[int] | None:
    """The dependency cycle through `start`, or None."""
    trail: list[tuple[int, list[int]]] = [(start, [start])]
    visited_ids: set[int] = set()
    while trail:
        here, path = trail.pop()
        for there in depends_on.get(here, ()):
            if there == start:
                return [*path, start]
            if there not in visited_ids:
                visited_ids.add(there)
                trail.append((there, [*path, there]))
    return None

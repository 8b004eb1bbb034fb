"""What the engine needs of the world. Wiring hands the real things in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from burnish.core.agent import AgentReply, AgentRequest, Setback, Use
from burnish.core.approval import Approval
from burnish.core.base_tests import EditedTests
from burnish.core.budget import Limit
from burnish.core.change import Change
from burnish.core.check import CheckReport, Comparison, TestFailure
from burnish.core.event import Event, RecordedEvent
from burnish.core.finding import Finding, Remark
from burnish.core.gate import Actor, GateDecision, GateView
from burnish.core.history import History
from burnish.core.journal import Failure, read
from burnish.core.override import OverrideReasons
from burnish.core.policy import CheckSpec, Policy
from burnish.core.review import Review
from burnish.core.task import Spec, Task
from burnish.engine.ports_git import Repository
from burnish.engine.worker_slots import WorkerSlots
from burnish.errors import PhaseFailed


class EventLog(Protocol):
    """The event log and what follows from it, for one project and, while running, one runner."""

    def task(self, task_id: int) -> Task: ...
    def tasks(self) -> list[Task]:
        """All of them, without the long texts of their specs."""

    def tasks_on_branch(self, branch: str) -> list[Task]: ...
    def history(self, task_id: int) -> History: ...
    def findings(self, task_id: int) -> tuple[Finding, ...]: ...
    def last_event(self) -> int:
        """The number of the newest event of the project."""

    def approval(self, task_id: int) -> Approval | None: ...
    def record(self, task_id: int, *events: Event) -> tuple[RecordedEvent, ...]:
        """All of them or none, in one transaction with what they change."""

    def events(self, task_id: int) -> list[RecordedEvent]: ...
    def baseline(self, tree: str, command: str, environment: str | None = None) -> CheckReport | None:
        """Without an environment: the newest of that tree and command."""

    def save_baseline(
        self,
        tree: str,
        command: str,
        environment: str,
        report: CheckReport,
        origins: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """`origins`: where the project's own packages were imported from, by name."""

    def claim(self, ids: Sequence[int] | None) -> Task | None: ...
    def claim_with(self, task_id: int, *events: Event) -> bool: ...
    def require_claim(self, task_id: int) -> None:
        """Refuse if this runner no longer holds the task: it changes nothing any more."""

    def release(self, task_id: int) -> None: ...
    @property
    def is_dead(self) -> Callable[[str], bool]:
        """Has the runner of that name ended, for certain?"""

    def archived(self, task_id: int, event_id: int) -> None: ...
    def unarchived(self) -> list[int]: ...
    def refuse_if_held(self, task_id: int) -> None:
        """Refused, with who works on it and since when; a dead runner holds nothing."""

    def unclaimed(self) -> EventLog:
        """The same log, for events of a task that this runner does not hold."""


# Asked while an agent works, with its name and what it has used: why it must stop, if it must.
Beyond = Callable[[str, Use], str | None]


class AgentCalls(Protocol):
    def call(
        self,
        request: AgentRequest,
        *,
        on_output: Callable[[str], None] | None = None,
        beyond: Beyond | None = None,
        on_setback: Callable[[Setback], None] = ...,
    ) -> AgentReply: ...

    def unrecorded_use(self, request: AgentRequest) -> Use:
        """What attempts of a call have used in which burnish was killed."""


Reads = Callable[[Sequence[str]], Mapping[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class CheckedCommit:
    """A commit whose files are checked, and where its change begins; `label` names the copy on the disk.

    `task`: the name of the task whose reviewers may read the same copy afterwards.
    """

    commit: str
    base: str
    label: str
    task: str = ""


class CheckPlace(Protocol):
    """Where checks run, for as long as it is needed."""

    @property
    def origins(self) -> tuple[tuple[str, str], ...]:
        """Where the project's own packages are imported from, by name."""

    @property
    def warnings(self) -> tuple[str, ...]: ...


class CheckRunner(Protocol):
    def environment(self, specs: Sequence[CheckSpec], tree: CheckedCommit, *, out_dir: Path) -> str:
        """A fingerprint of what decides about their results beside the commit; set-up runs first if that is new."""

    def on(
        self, specs: Sequence[CheckSpec], tree: CheckedCommit, *, out_dir: Path, env: Mapping[str, str]
    ) -> AbstractContextManager[CheckPlace]:
        """A clean checkout of the commit with its environment, built; `env` joins the variables of the build."""

    def folder_environment(self, specs: Sequence[CheckSpec], tree: CheckedCommit) -> str:
        """As `environment`, for checks `inside` a folder."""

    def inside(
        self, specs: Sequence[CheckSpec], tree: CheckedCommit, *, folder: Path, env: Mapping[str, str]
    ) -> AbstractContextManager[CheckPlace]:
        """A folder as it is (`checks.where: workspace`), proved to be what tests import; `tree` is its commit."""

    def furnish(self, workspace: Path, specs: Sequence[CheckSpec], tree: CheckedCommit, *, out_dir: Path) -> bool:
        """Copy the environment of a commit into a workspace; False where set-up has to be run there instead."""

    def run(
        self, specs: Sequence[CheckSpec], *, place: CheckPlace, out_dir: Path, env: Mapping[str, str]
    ) -> tuple[CheckReport, ...]: ...
    def compare(self, report: CheckReport, baseline: CheckReport | None) -> Comparison: ...
    def flaky_failures(
        self,
        spec: CheckSpec,
        report: CheckReport,
        failures: Sequence[TestFailure],
        *,
        place: CheckPlace,
        out_dir: Path,
        env: Mapping[str, str],
    ) -> frozenset[str]:
        """Names of the failures that pass when the suite runs again on the same tree."""

    def confirm_failures(
        self, spec: CheckSpec, report: CheckReport, *, place: CheckPlace, out_dir: Path, env: Mapping[str, str]
    ) -> CheckReport:
        """A report of the base without the failures that pass when they are run again."""

    def guard(
        self,
        change: Change,
        *,
        comparisons: tuple[Comparison, ...],
        old: Reads,
        new: Reads,
        levels: Mapping[str, str],
    ) -> tuple[Remark, ...]:
        """What of the change makes it easier to pass; `old` and `new` read files at the base and now."""

    def edited_tests(
        self, change: Change, commands: Sequence[str], *, old: Reads, new: Reads
    ) -> tuple[EditedTests, ...]:
        """Which tests of its base the change edits: each entry is a tree to run the tests of the base on.

        `commands` run the tests: they may start programs of the project that are tests.
        """

    def command(
        self, command: str | tuple[str, ...], tree: CheckedCommit, *, cwd: Path, out_dir: Path, timeout: float
    ) -> tuple[int, str]:
        """A command of the user's own (`checks.lint_fix`): exit code and the end of what it printed."""

    def set_up(
        self, command: str | tuple[str, ...], tree: CheckedCommit, *, cwd: Path, out_dir: Path, env: Mapping[str, str]
    ) -> None:
        """`workspace.setup` in a folder that holds `tree`. Raises `PhaseFailed` with what it printed."""


class CallDir(Protocol):
    """Where prompt, output and outcome of one agent call are kept."""

    @property
    def path(self) -> Path: ...
    def number(self) -> str:
        """This call's secret number, the same one after a restart."""

    def prompt(self) -> str | None: ...
    def finished(self) -> bool:
        """The agent ended by itself, whether or not we lived to see it."""


class TaskFiles(Protocol):
    """Files in the burnish home."""

    def call(self, task: Task, cycle: int, phase: str, attempt: int, label: str = "") -> CallDir: ...
    def session_dir(self, task: Task) -> Path:
        """Where the authors of the task's run keep their sessions when they are in a sandbox."""

    def images(self, task: Task) -> tuple[Path, ...]:
        """The stored images that the task's description refers to."""

    def out_dir(self, task: Task, cycle: int, name: str) -> Path: ...
    def write(self, task: Task, name: str, data: bytes) -> Path: ...
    def read(self, task: Task, name: str) -> bytes | None: ...
    def read_all(self, task: Task) -> dict[str, bytes]: ...
    def wait_for_orphans(self, task: Task) -> None:
        """Blocks until no agent of a dead runner works on the task."""

    def lock(self, name: str) -> AbstractContextManager[None]: ...
    def stamp(self, task: Task, name: str, value: str | None = None) -> str | None:
        """A remembered word about the workspace, e.g. what setup was last run for."""


@dataclass(frozen=True, slots=True)
class StaticReviewRequest:
    """What a reviewer that is a program of our own is given: everything, and no prompt."""

    agent: str
    change: Change
    base: str
    commit: str
    # the files of the reviewed tree; read only
    files: Path
    out_dir: Path
    comparisons: tuple[Comparison, ...]
    # the check that runs the tests, if there is one
    test: CheckSpec | None


def _no_program(inspection: StaticReviewRequest) -> Review | None:
    return None


def _every_agent_is_there(name: str) -> PhaseFailed | None:
    return None


def _nothing_is_added(spec: Spec) -> Task:
    raise NotImplementedError("no function to add tasks was passed in")


class Budget(Protocol):
    """What this run has spent, and what it may spend."""

    def limits(self, agents: Sequence[str]) -> tuple[Limit, ...]:
        """Budgets beyond the task's own: of this run, and of the agents named."""

    def using(self, task: int, call: str, agent: str, use: Use) -> Use:
        """Report the usage of a running call; returns the total of the task's calls that are not recorded."""

    def unrecorded(self, task: int, *, include_answered: bool) -> Use:
        """What calls of the task have used that are not recorded. `include_answered`: also of answered calls."""

    def settled(self, task: int, *, include_answered: bool = True) -> None:
        """All that the task has cost is on record; answers are not if a later run will read them again."""


class NoBudget:
    """A budget without limits."""

    def limits(self, agents: Sequence[str]) -> tuple[Limit, ...]:
        return ()

    def using(self, task: int, call: str, agent: str, use: Use) -> Use:
        return use

    def unrecorded(self, task: int, *, include_answered: bool) -> Use:
        return Use()

    def settled(self, task: int, *, include_answered: bool = True) -> None:
        pass


NO_BUDGET = NoBudget()


class Progress(Protocol):
    """Receives progress: the terminal, the board."""

    def event(self, task: Task, event: RecordedEvent) -> None: ...
    def output(self, task_id: int, line: str) -> None: ...
    def spent(self, task_id: int, use: Use) -> None:
        """What the running calls of a task have used so far; not part of the task's recorded cost yet."""
        ...

    def note(self, text: str) -> None: ...


# Makes a task of what an override leaves open; its id.
FollowUp = Callable[[History, OverrideReasons], int]


UNKNOWN_PERSON = Actor("somebody", "gate")


class Gate(Protocol):
    """A person at a terminal."""

    @property
    def asking(self) -> bool: ...
    def ask(self, view: GateView, waits: Callable[[], bool]) -> GateDecision | None:
        """None: no answer, or the task no longer `waits` for one."""


@dataclass(frozen=True, slots=True)
class Deps:
    """Everything the engine is given."""

    event_log: EventLog
    repository: Repository
    agents: Callable[[int], AgentCalls]
    checks: Callable[[int], CheckRunner]
    task_files: TaskFiles
    progress: Progress
    policy_for: Callable[[Task], Policy]
    prompts: Mapping[str, str]
    now: Callable[[], str]
    runner: str
    stopping: Callable[[int], bool]
    # kill -9 at a named place, for the tests that prove that nothing is lost
    failpoint: Callable[[str], None]
    budget_tracker: Budget = NO_BUDGET
    # budgets that a person was warned of in this run, and on which task
    warned: dict[str, int] = field(default_factory=dict)
    add: Callable[[Spec], Task] = _nothing_is_added
    # answers at once where the reviewer is a program of our own, None where an agent must be asked
    program: Callable[[StaticReviewRequest], Review | None] = _no_program
    # why an agent cannot be started here, None if it can
    missing_agent: Callable[[str], PhaseFailed | None] = _every_agent_is_there
    # whether a usage limit is known
    has_limits: Callable[[], bool] = lambda: False
    # whether the plan of a task's author is used up, and no other agent takes over
    is_limited: Callable[[Task], bool] = lambda task: False
    worker_slots: WorkerSlots = field(default_factory=WorkerSlots)
    # whether there is memory for one more task
    has_room: Callable[[], bool] = lambda: True
    # None: there is no one to ask, and a task at the gate waits
    gate: Gate | None = None
    person: Actor = UNKNOWN_PERSON
    follow_up: FollowUp | None = None
    # what agents and checks are shut into, as the log says it (`bubblewrap`, `none`) and in a sentence
    sandbox: str = "none"
    rights: str = ""

    def record(self, task: Task, *events: Event) -> Task:
        """Write to the event log, report progress and return the task as it is now."""
        records = self.event_log.record(task.id, *events)
        end_events = [event for event in events if event.type in ("phase.finished", "phase.failed")]
        if end_events:
            # the answers of a review that was stopped stay on disk, and the next run records them
            failures = [read(Failure, event.data) for event in end_events]
            is_read_again = any(failure.is_interrupted and failure.keeps_answers for failure in failures)
            self.budget_tracker.settled(task.id, include_answered=not is_read_again)
        fresh = self.event_log.task(task.id)
        for event in records:
            self.progress.event(fresh, event)
        return fresh

"""The event log of one project and, while it runs tasks, of one runner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from burnish.adapters.redaction import clean_event, secrets_from_environment
from burnish.adapters.task_locks import refuse_if_held
from burnish.cluster.task_share import SENT_BEFORE, TaskShare
from burnish.core.approval import Approval
from burnish.core.check import CheckReport
from burnish.core.event import Event, RecordedEvent
from burnish.core.finding import Finding
from burnish.core.history import History
from burnish.core.secrets import Secrets
from burnish.core.status import ErrorCode, Status
from burnish.core.task import Task, TaskType
from burnish.engine.archive import STORY, TASK_FILE, story_of, task_file
from burnish.engine.transitions import with_finish
from burnish.errors import PhaseFailed
from burnish.git.files import write_whole
from burnish.proc.folders import private_folder
from burnish.store import Store


def _never_dead(runner: str) -> bool:
    return False


def write_event_file(folder: Path, events: Sequence[RecordedEvent]) -> None:
    """Write `events.jsonl` into the task's artifacts. Ignores errors, since the database has all events."""
    place = folder / "artifacts"
    with suppress(OSError):
        private_folder(place)
        content, event_file = story_of(events), place / STORY
        if event_file.is_file() and event_file.read_bytes().partition(b"\n")[0] != content.partition(b"\n")[0]:
            # The file of another task that the database lost, and whose number and title were reused.
            event_file.replace(place / f"lost-{STORY}")
        write_whole(event_file, content)


def _with_machine(event: Event, machine: str) -> Event:
    """The start of a phase names the machine that has its output."""
    return replace(event, data={**event.data, "machine": machine}) if event.type == "phase.started" else event


@dataclass(slots=True)
class HeldTasks:
    """The tasks that threads of this process run, also those whose claim another machine took meanwhile."""

    ids: set[int] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class StoreEventLog:
    store: Store
    project: str
    # None for a person's command, which holds no claim.
    runner: str | None = None
    is_dead: Callable[[str], bool] = _never_dead
    secrets: Secrets = field(default_factory=secrets_from_environment)
    # The folder for event files; None to write none.
    tasks_folder: Path | None = None
    # where other machines get the commits of tasks from; None: this one works alone
    share: TaskShare | None = None
    # the branch of the user's checkout, from which new tasks start
    start_branch: Callable[[], str] = lambda: ""
    # called with what was recorded
    observers: tuple[Callable[[Sequence[RecordedEvent]], None], ...] = ()
    held: HeldTasks = field(default_factory=HeldTasks)

    def task(self, task_id: int) -> Task:
        return self.store.task(self.project, task_id)

    def tasks(self) -> list[Task]:
        return self.store.tasks(self.project, brief=True)

    def tasks_on_branch(self, branch: str) -> list[Task]:
        return self.store.tasks_on_branch(self.project, branch)

    def history(self, task_id: int) -> History:
        return self.store.history(self.project, task_id)

    def findings(self, task_id: int) -> tuple[Finding, ...]:
        return self.store.findings(self.project, task_id)

    def last_event(self) -> int:
        return self.store.last_event(self.project)

    def approval(self, task_id: int) -> Approval | None:
        return self.store.approval(self.project, task_id)

    def record(self, task_id: int, *events: Event, taker: str = "") -> tuple[RecordedEvent, ...]:
        clean = [clean_event(self.secrets, event) for event in with_finish(events)]
        if self.runner and (machine := self.store.machine()):
            clean = [_with_machine(event, machine) for event in clean]
        if any(event.type in SENT_BEFORE for event in clean):
            self._send(task_id, clean)
        recorded_events = self.store.record(self.project, task_id, clean, runner=self.runner, taker=taker)
        for observe in self.observers:
            observe(recorded_events)
        # Other events are written with each cycle; these would be lost with the database until then.
        if any(event.run == 0 or event.type == "approval.voided" or "restored" in event.data for event in clean):
            self.write_event_file(task_id)
        return recorded_events

    def _send(self, task_id: int, events: Sequence[Event] = ()) -> None:
        """Let other machines get what the task has in git, before an event says that it is there."""
        if self.share and self.runner:
            self.share.send(self.task(task_id), events, partial(self.require_claim, task_id))

    def write_event_file(self, task_id: int) -> None:
        """Write the recorded events of the task to a file in the burnish home."""
        tasks = self.store.tasks(self.project, ids=[task_id])
        if self.tasks_folder and tasks:
            folder = self.tasks_folder / tasks[0].name
            write_event_file(folder, self.events(task_id))
            if (folder / "artifacts" / TASK_FILE).is_file():
                # The file must not show a void approval as valid.
                with suppress(OSError):
                    text = task_file(self.history(task_id), self.approval(task_id))
                    write_whole(folder / "artifacts" / TASK_FILE, self.secrets.redact(text.decode()).encode())

    def events(self, task_id: int) -> list[RecordedEvent]:
        return self.store.events(self.project, task=task_id)

    def baseline(self, tree: str, command: str, environment: str | None = None) -> CheckReport | None:
        return self.store.baseline(self.project, tree, self.secrets.redact(command), environment)

    def save_baseline(
        self,
        tree: str,
        command: str,
        environment: str,
        report: CheckReport,
        origins: tuple[tuple[str, str], ...] = (),
    ) -> None:
        places = {name: self.secrets.redact(place) for name, place in origins}
        self.store.save_baseline(self.project, tree, self.secrets.redact(command), environment, report, places)

    def claim(self, ids: Sequence[int] | None) -> Task | None:
        assert self.runner, "only a runner claims"
        # a single task cannot wait for another of them, and to look through all takes longer than the claim
        is_single = ids is not None and len(ids) == 1
        later = {id for id, first in self.later().items() if ids is None or first in ids} if not is_single else set()
        if ids is None and self.store.is_shared:
            # a worker names the task; a run takes none that needs a certain machine
            later |= self.store.needing(self.project)
        if later:
            all_ids = ids if ids is not None else [task.id for task in self.store.tasks(self.project, brief=True)]
            ids = [id for id in all_ids if id not in later]
        task = self._claim_unheld(self.runner, ids)
        is_here = task is None or self.share is None or self._brought(self.share, task)
        return task if is_here else None

    def _claim_unheld(self, runner: str, ids: Sequence[int] | None) -> Task | None:
        """Claim a task that no thread of this process still runs.

        The claim names the runner alone. After a pause in which another machine took a task and gave it back, a second
        claim of this runner would make the one that was lost valid again.
        """
        with self.held.lock:
            task = self.store.claim(self.project, runner, ids=ids, is_dead=self.is_dead, busy=tuple(self.held.ids))
            if task is not None:
                self.held.ids.add(task.id)
        return task

    def claim_with(self, task_id: int, *events: Event) -> bool:
        """Record what a person asked for and claim the task in one transaction: it is never seen without its runner.

        False if another process runs it, or if it was stopped before it was brought here.
        """
        assert self.runner, "only a runner claims"
        with self.held.lock:
            if task_id in self.held.ids:
                return False
            replace(self, runner=None, observers=()).record(task_id, *events, taker=self.runner)
            self.held.ids.add(task_id)
        return self.share is None or self._brought(self.share, self.task(task_id))

    def _brought(self, share: TaskShare, task: Task) -> bool:
        """Get what other machines did on the task and on those that it builds on; False if it was stopped before."""
        spec, branches = task.spec, [task.target or task.spec.base_ref or self.start_branch()]
        ids = {*spec.depends_on, *([spec.of] if spec.of is not None else [])}
        try:
            share.bring(task, self.store.tasks(self.project, ids=ids) if ids else (), filter(None, branches))
        except BaseException as error:
            self.release(task.id)
            if isinstance(error, PhaseFailed) and error.code == ErrorCode.INTERRUPTED:
                return False
            raise
        return True

    def later(self) -> dict[int, int]:
        """Tasks that continue the branch of another task that has not started, with that task."""
        first_tasks = {t.id: t.spec.of for t in self.store.improving(self.project) if t.spec.of is not None}
        others = self.store.tasks(self.project, ids=set(first_tasks.values()), brief=True) if first_tasks else []
        idle_tasks = [t for t in others if not t.branch and not (t.runner and not self.is_dead(t.runner))]
        works = (TaskType.IMPLEMENT, TaskType.IMPROVE)
        pending_ids = {t.id for t in idle_tasks if t.spec.type in works and t.status is not Status.COMPLETED}
        return {id: first for id, first in first_tasks.items() if first in pending_ids}

    def require_claim(self, task_id: int) -> None:
        if self.runner:
            self.store.require_claim(self.project, task_id, self.runner)

    def release(self, task_id: int) -> None:
        if self.runner:
            try:
                self.store.release(self.project, task_id, self.runner)
            finally:
                with self.held.lock:
                    self.held.ids.discard(task_id)

    def refuse_if_held(self, task_id: int) -> None:
        refuse_if_held(self.store, self.project, task_id, self.is_dead)

    def unclaimed(self) -> StoreEventLog:
        return replace(self, runner=None)

    def archived(self, task_id: int, event_id: int) -> None:
        # a removed task is in no list: it is sent by none
        if self.share and self.runner and self.task(task_id).runner == self.runner:
            self._send(task_id)
        self.store.mark_archived(self.project, task_id, event_id)

    def unarchived(self) -> list[int]:
        return self.store.unarchived(self.project)

"""Many tasks at once: workers that claim, run and let go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from burnish.core.budget import overspent
from burnish.core.flow import RUNNING
from burnish.core.status import ErrorCode, Status
from burnish.core.task import Task
from burnish.engine.failure_text import with_task
from burnish.engine.loop import run_task
from burnish.engine.ports import Deps
from burnish.errors import BurnishError, PhaseFailed, Refused

MET = frozenset({Status.VERIFIED, Status.COMPLETED})
PAUSE = 0.2
# while every task waits for a usage limit
LIMIT_PAUSE = 2.0
MAX_WORKERS = 64


# A task that failed for one of these reasons may well succeed later.
TRANSIENT = frozenset({ErrorCode.AGENT_FAILED, ErrorCode.TIMEOUT, ErrorCode.DISK_FULL, ErrorCode.DATABASE_LOCKED})
# seconds until a run that stands tries such a task again
RETRY_AFTER = (300.0, 900.0, 2700.0)
# A failure that is older than this when a run begins waits for a person.
TAKEN_OVER = 3600.0
WATCH_PAUSE = 1.0
# seconds until an idle run looks at all tasks although no event was recorded: a runner may have died meanwhile
LOOK_AGAIN = 10.0


@dataclass(slots=True)
class Watch:
    """A run that stands: it takes up what becomes ready, and tries transient failures again."""

    # makes a failed task ready again
    retry: Callable[[Task], None]
    # asked before each task
    may_start: Callable[[], bool] = lambda: True
    clock: Callable[[], float] = time.monotonic
    # task → how often it was tried again, and when it is due
    tries: dict[int, int] = field(default_factory=dict)
    due: dict[int, float] = field(default_factory=dict)
    # task → its last change when it ended: a later one is a person's
    last_changes: dict[int, str] = field(default_factory=dict)
    # lets a task be run again that was stopped
    readmit: Callable[[int], None] = lambda task_id: None
    # stopped task → its last change since
    stop_changes: dict[int, str] = field(default_factory=dict)

    def ended(self, task: Task, last_change: str) -> None:
        self.last_changes[task.id] = last_change
        count = self.tries.get(task.id, 0)
        if task.status is Status.FAILED and task.error in TRANSIENT and count < len(RETRY_AFTER):
            self.due[task.id] = self.clock() + RETRY_AFTER[count]
            self.tries[task.id] = count + 1
        elif task.status is not Status.FAILED:
            self.tries.pop(task.id, None)

    @property
    def is_due(self) -> bool:
        now = self.clock()
        return any(at <= now for at in self.due.values())

    def take_due(self) -> list[int]:
        now = self.clock()
        ids = [task_id for task_id, at in self.due.items() if at <= now]
        for task_id in ids:
            del self.due[task_id]
        return ids


@dataclass(slots=True)
class Pool:
    """What the workers of one `burnish run` share."""

    deps: Deps
    # None = every task that is ready
    ids: Sequence[int] | None
    # how many tasks to take in all; None = until there are none
    most: int | None = None
    stopping: Callable[[], bool] = lambda: False
    # what was taken out of the queue meanwhile
    out: Callable[[], frozenset[int]] = frozenset
    done: list[Task] = field(default_factory=list)
    # each task as it ended last
    results: dict[int, Task] = field(default_factory=dict)
    # what each task had cost before this run, in USD
    costs_before: dict[int, float] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    trouble: list[BaseException] = field(default_factory=list)
    # None: the run ends when no task is ready
    watch: Watch | None = None
    # several pools share the places of one machine, which limits them itself
    has_own_slots: bool = True
    lock: threading.Lock = field(default_factory=threading.Lock)
    changed: threading.Condition = field(default_factory=threading.Condition)
    taken: int = 0
    # why no further task is started: a budget of the run is reached
    spent: str = ""
    # there is too little memory for one more task
    is_short: bool = False
    # the newest event when no task was ready, and when that was
    _last_look: tuple[int, float] = (-1, 0.0)

    def run(self, jobs: int) -> list[Task]:
        """Blocks until every worker is out of work."""
        workers = min(jobs, MAX_WORKERS)
        if workers > 1 and not self.watch:
            # a worker beyond the tasks there are would only take memory
            workers = min(workers, len(self.deps.event_log.tasks()))
        workers = max(1, workers)
        if self.watch:
            self._take_over_failures(self.watch)
        slots = self.deps.worker_slots
        if self.has_own_slots:
            slots.limit = workers
        threads = [self._start_worker(number) for number in range(workers)]
        while alive := [thread for thread in threads if thread.is_alive()]:
            # short joins, so that Ctrl-C reaches the main thread
            alive[0].join(0.5)
            # one more for each task that waits for a usage limit
            if len(alive) < min(workers + len(slots.waiting), MAX_WORKERS) and slots.waiting and not self.stopping():
                threads.append(self._start_worker(len(threads)))
        with suppress(BurnishError, OSError):
            # without a sandbox, programs could write to a tree that stays
            self.deps.repository.remove_spare_trees(keep_one=self.deps.sandbox != "none")
        if self.trouble:
            raise self.trouble[0]
        return [self.results[task_id] for task_id in sorted(self.results)]

    @property
    def cost_usd(self) -> float:
        """What the tasks cost in this run, as far as it is known."""
        return sum((task.cost_usd or 0.0) - self.costs_before.get(id, 0.0) for id, task in self.results.items())

    def _take_over_failures(self, watch: Watch) -> None:
        """Tasks that failed shortly before are tried again: the run that would have done so may have been killed."""
        oldest = datetime.fromisoformat(self.deps.now()) - timedelta(seconds=TAKEN_OVER)
        for task in self.deps.event_log.tasks():
            is_recent = bool(task.updated_at) and datetime.fromisoformat(task.updated_at) >= oldest
            if task.status is Status.FAILED and task.error in TRANSIENT and is_recent:
                self.done.append(task)
                watch.ended(task, task.updated_at)

    def _start_worker(self, number: int) -> threading.Thread:
        thread = threading.Thread(target=self._work, name=f"worker-{number}")
        thread.start()
        return thread

    def _work(self) -> None:
        try:
            while not self.stopping() and not self.trouble and not self.spent:
                with self.deps.worker_slots.place():
                    task = None if self.stopping() else self._claim()
                    if task is not None:
                        self._run(task)
                if task is None and not self._wait():
                    return
        except BaseException as error:
            # reported once, by the thread that waits for all of them
            self.trouble.append(error)

    def _claim(self) -> Task | None:
        with self.lock:
            if (self.most is not None and self.taken >= self.most) or self._is_spent():
                return None
            self.is_short = bool(self.running) and not self.deps.has_room()
            if self.is_short:
                return None
            newest = self.deps.event_log.last_event() if self.watch else 0
            if self.watch and self._is_unchanged(self.watch, newest):
                return None
            task = self._claim_ready()
            if task is None:
                self._last_look = (newest, time.monotonic())
                return None
            self.taken += 1
            self.running.add(task.id)
            self.costs_before.setdefault(task.id, task.cost_usd or 0.0)
            return task

    def _is_spent(self) -> bool:
        """Report once that a budget of the run is reached. Tasks that run are blocked before their next phase."""
        # a task that was asked for is started in any case, so that it is on record why it did not go on
        if not self.spent and (self.taken or self.watch) and (why := overspent(self.deps.budget_tracker.limits(()))):
            self.spent = why
            self.deps.progress.note(f"{why[0].upper()}{why[1:]}. No further task is started.")
        return bool(self.spent)

    def _is_unchanged(self, watch: Watch, newest: int) -> bool:
        """Whether nothing happened since no task was ready. An idle run must not read all tasks all the time."""
        event_id, at = self._last_look
        return newest == event_id and time.monotonic() - at < LOOK_AGAIN and not watch.is_due

    def _claim_ready(self) -> Task | None:
        if self.watch:
            if not self.watch.may_start():
                return None
            self._take_up(self.watch)
        task_ids = self._claimable_ids()
        return None if task_ids == [] else self.deps.event_log.claim(task_ids)

    def _claimable_ids(self) -> list[int] | None:
        """What may still be claimed: each task once per invocation, however it ended."""
        out, limited_ids = self.out(), self._limited_ids()
        excluded_ids = {t.id for t in self.done} | out | limited_ids
        if self.ids is not None:
            return [i for i in self.ids if i not in excluded_ids]
        if out or limited_ids or any(t.status in RUNNING for t in self.done):
            return [t.id for t in self.deps.event_log.tasks() if t.id not in excluded_ids]
        return None

    def _take_up(self, watch: Watch) -> None:
        """Let tasks be claimed again that were changed since they ended, or failed and are due."""
        due_ids = watch.take_due()
        fresh = {t.id: t for t in self.deps.event_log.tasks()}
        for task in [t for t in self.done if t.id in fresh]:
            now = fresh[task.id]
            if now.is_paused:
                continue
            if now.id in due_ids and now.status is Status.FAILED:
                watch.retry(now)
                self.done.remove(task)
            elif now.id in due_ids and now.status in RUNNING:
                # its failure could not be recorded
                self.done.remove(task)
            elif now.updated_at != watch.last_changes.get(now.id):
                self.done.remove(task)
        for task_id in self.out():
            self._readmit_if_changed(watch, fresh.get(task_id))

    def _readmit_if_changed(self, watch: Watch, task: Task | None) -> None:
        """A task that was stopped or cancelled may be run again when a person has changed it since."""
        if task is None or task.runner or task.id in self.running:
            return
        # since it ended here, even if nothing has looked at it since then
        before = watch.last_changes.get(task.id, task.updated_at)
        if watch.stop_changes.setdefault(task.id, before) != task.updated_at:
            del watch.stop_changes[task.id]
            watch.readmit(task.id)

    def _limited_ids(self) -> set[int]:
        """Tasks in the backlog whose author may not be asked until its usage limit is reset."""
        if not self.deps.has_limits():
            return set()
        backlog = [t for t in self.deps.event_log.tasks() if t.status is Status.BACKLOG]
        return {t.id for t in backlog if self.deps.is_limited(t)}

    def _run(self, task: Task) -> None:
        try:
            task = run_task(self.deps, task, shares_trees=True)
        except Refused as error:
            # cancelled or taken over meanwhile: the event log has the reason
            self.deps.progress.note(f"Task {task.id}: {error.what}")
            task = self.deps.event_log.task(task.id)
        except BurnishError as error:
            self.deps.progress.note(f"Task {task.id}: {error.what} {with_task(error.hint, task.id)}".rstrip())
            # the failure could not be recorded, e.g. on a full disk: at least report it
            repository = ErrorCode(error.code) if isinstance(error, PhaseFailed) else ErrorCode.GIT_ERROR
            note = with_task(f"{error.what} {error.hint}".rstrip(), task.id)
            task = replace(self.deps.event_log.task(task.id), status=Status.FAILED, error=repository, note=note)
        finally:
            self.deps.event_log.release(task.id)
            with self.lock:
                self.running.discard(task.id)
                self.done.append(task)
                self.results[task.id] = task
                if self.watch:
                    self.watch.ended(task, self.deps.event_log.task(task.id).updated_at)
            with self.changed:
                self.changed.notify_all()

    def _wait(self) -> bool:
        """Nothing is ready: is something under way that may make it so?"""
        if self.spent:
            return False
        if self.watch or self.is_short:
            with self.changed:
                self.changed.wait(WATCH_PAUSE)
            return True
        with self.lock:
            full = self.most is not None and self.taken >= self.most
        if full or not self._may_become_ready():
            return False
        with self.changed:
            self.changed.wait(LIMIT_PAUSE if not self.running and self.deps.has_limits() else PAUSE)
        return True

    def _may_become_ready(self) -> bool:
        excluded_ids = {t.id for t in self.done} | self.out()
        if self.ids is not None and excluded_ids.issuperset(self.ids):
            return False
        tasks = {t.id: t for t in self.deps.event_log.tasks()}
        limited_ids = self._limited_ids()
        for task in tasks.values():
            if task.status is not Status.BACKLOG or task.is_paused or task.id in excluded_ids:
                continue
            if self.ids is not None and task.id not in self.ids:
                continue
            unmet = [tasks[d] for d in task.spec.depends_on if d in tasks and tasks[d].status not in MET]
            if task.id in limited_ids and not unmet:
                return True
            if unmet and all(self._under_way(other, tasks) for other in unmet):
                return True
        return False

    def _under_way(self, task: Task, tasks: dict[int, Task]) -> bool:
        if task.id in self.running or (task.runner and task.status in (Status.IN_PROGRESS, Status.CODE_REVIEW)):
            return True
        unmet = [tasks[d] for d in task.spec.depends_on if d in tasks and tasks[d].status not in MET]
        return bool(unmet) and task.status is Status.BACKLOG and all(self._under_way(o, tasks) for o in unmet)

"""Many tasks at once: workers that claim, run and let go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from burnish.core.flow import RUNNING
from burnish.core.status import ErrorCode, Status
from burnish.core.task import Task
from burnish.engine.failure_text import with_task
from burnish.engine.loop import run_task
from burnish.engine.ports import Deps
from burnish.errors import BurnishError, PhaseFailed, Refused

MET = frozenset({Status.VERIFIED, Status.COMPLETED})
PAUSE = 0.2
MOST_WORKERS = 64


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
    running: set[int] = field(default_factory=set)
    trouble: list[BaseException] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    changed: threading.Condition = field(default_factory=threading.Condition)
    taken: int = 0

    def run(self, jobs: int) -> list[Task]:
        """Blocks until every worker is out of work."""
        # a worker beyond the tasks there are, or can be minded by one machine, would only take memory
        workers = 1 if jobs <= 1 else max(1, min(jobs, len(self.deps.event_log.tasks()), MOST_WORKERS))
        threads = [threading.Thread(target=self._work, name=f"worker-{n}") for n in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                # short joins, so that Ctrl-C reaches the main thread
                thread.join(0.5)
        with suppress(BurnishError, OSError):
            self.deps.repository.remove_spare_trees()
        if self.trouble:
            raise self.trouble[0]
        return sorted(self.done, key=lambda t: t.id)

    def _work(self) -> None:
        try:
            while not self.stopping() and not self.trouble:
                task = self._claim()
                if task is not None:
                    self._run(task)
                elif not self._wait():
                    return
        except BaseException as error:
            # reported once, by the thread that waits for all of them
            self.trouble.append(error)

    def _claim(self) -> Task | None:
        with self.lock:
            if self.most is not None and self.taken >= self.most:
                return None
            task_ids = self._claimable_ids()
            task = None if task_ids == [] else self.deps.event_log.claim(task_ids)
            if task is None:
                return None
            self.taken += 1
            self.running.add(task.id)
            return task

    def _claimable_ids(self) -> list[int] | None:
        """What may still be claimed: each task once per invocation, however it ended."""
        out = self.out()
        excluded_ids = {t.id for t in self.done} | out
        if self.ids is not None:
            return [i for i in self.ids if i not in excluded_ids]
        if out or any(t.status in RUNNING for t in self.done):
            return [t.id for t in self.deps.event_log.tasks() if t.id not in excluded_ids]
        return None

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
            with self.changed:
                self.changed.notify_all()

    def _wait(self) -> bool:
        """Nothing is ready: is something under way that may make it so?"""
        with self.lock:
            full = self.most is not None and self.taken >= self.most
        if full or not self._may_become_ready():
            return False
        with self.changed:
            self.changed.wait(PAUSE)
        return True

    def _may_become_ready(self) -> bool:
        excluded_ids = {t.id for t in self.done} | self.out()
        if self.ids is not None and excluded_ids.issuperset(self.ids):
            return False
        tasks = {t.id: t for t in self.deps.event_log.tasks()}
        for task in tasks.values():
            if task.status is not Status.BACKLOG or task.id in excluded_ids:
                continue
            if self.ids is not None and task.id not in self.ids:
                continue
            unmet = [tasks[d] for d in task.spec.depends_on if d in tasks and tasks[d].status not in MET]
            if unmet and all(self._under_way(other, tasks) for other in unmet):
                return True
        return False

    def _under_way(self, task: Task, tasks: dict[int, Task]) -> bool:
        if task.id in self.running or (task.runner and task.status in (Status.IN_PROGRESS, Status.CODE_REVIEW)):
            return True
        unmet = [tasks[d] for d in task.spec.depends_on if d in tasks and tasks[d].status not in MET]
        return bool(unmet) and task.status is Status.BACKLOG and all(self._under_way(o, tasks) for o in unmet)

"""`burnish worker`: takes ready tasks of its projects, runs them, and hands over what a dead machine had."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish import __version__
from burnish.adapters.agents import StopTokens
from burnish.adapters.notifications import notifying
from burnish.adapters.task_locks import LEASE_SECONDS
from burnish.core.flow import RUNNING
from burnish.core.journal import read
from burnish.core.journal_events import TaskStatus
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.engine.pool import LOOK_AGAIN, RETRY_AFTER, TAKEN_OVER, TRANSIENT, Pool
from burnish.engine.ports import Deps, Progress
from burnish.errors import BadInput, BurnishError, Refused
from burnish.features.run.run import StandingTrust, before_run, check, remove_old_files, retry_failed
from burnish.proc import clock
from burnish.proc.awake import KeepAwake
from burnish.proc.identity import hold
from burnish.proc.slots import try_lock
from burnish.runtime.app import App
from burnish.runtime.ports import deps_for, registered_runner
from burnish.runtime.requests import RunRequest
from burnish.store import Store
from burnish.user_settings import database_url

if TYPE_CHECKING:
    from burnish.cluster.queue import WorkQueue

KIND = "worker"
_ROUND_SECONDS = 0.5
_REAP_SECONDS = 5.0
# so many waiting tasks are read at first; more, if few of them can run here
_FIRST_TASKS = 100
_FEW_TASKS = 16
_MAX_STARTED = 10_000
# Each worker reads the entries of all. With more workers than this, each does so less often.
_REAPERS = 20
_MAX_REAP_SECONDS = 60.0
# A task that could not be begun is tried again after so many seconds.
_PROBLEM_SECONDS = 30.0
LOCK_FILE = "worker"
READY = (Status.BACKLOG, Status.IN_PROGRESS, Status.CODE_REVIEW)


@dataclass(slots=True)
class ServedProject:
    """A project of this worker, with what its tasks are run with."""

    app: App
    deps: Deps
    stops: StopTokens
    trust: StandingTrust
    pools: dict[int, Pool] = field(default_factory=dict)
    # the newest event when no task was ready, and when that was
    last_look: tuple[int, float] = (-1, 0.0)
    # failed task → its last change, and when it is tried again; None: not by a worker
    retries: dict[int, tuple[str, float | None]] = field(default_factory=dict)
    # task that could not be begun → the reason, and when it is tried again
    problems: dict[int, tuple[str, float]] = field(default_factory=dict)

    def may_begin(self, task_id: int) -> bool:
        """Whether no thread of this worker runs the task, and it could be begun when that was last tried."""
        return task_id not in self.pools and time.monotonic() >= self.problems.get(task_id, ("", 0.0))[1]


@dataclass(slots=True)
class Worker:
    store: Store
    projects: Mapping[str, ServedProject]
    jobs: int
    labels: frozenset[str]
    card: Mapping[str, Any]
    note: Callable[[str], None]
    queue: WorkQueue | None = None
    is_draining: bool = False
    is_stopped: bool = False
    is_outdated: bool = False
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _last_reap: float = 0.0
    _last_upkeep: float = 0.0
    _last_round: float = 0.0
    # when the database answered again after an outage
    _back_since: float | None = None
    _workers: int = 1
    _awake: KeepAwake = field(default_factory=lambda: KeepAwake(is_enabled=True))

    # what a person or a signal asks for

    def drain(self) -> None:
        """Finish the phases that run, give everything else back; the second time, stop at once."""
        if self.is_draining:
            self.is_stopped = True
            for project in self.projects.values():
                project.stops.request(now=True)
            return
        self.is_draining = True
        for project in self.projects.values():
            project.stops.is_draining = True
        self.note("No further task is started; running phases end first. A second signal stops them at once.")

    # one task

    def run(self, key: str, task_id: int) -> str:
        """The body of the workflow: claim the task and run it. Another runner may have been faster."""
        project = self.projects.get(key)
        if project is None or self.is_draining or not self._may_run(key, task_id):
            return "given back"
        pool = Pool(
            project.deps,
            [task_id],
            most=1,
            stopping=lambda: self.is_draining or project.stops.asked,
            out=project.stops.stopped,
            has_own_slots=False,
        )
        with self._guard:
            if task_id in project.pools:
                # Its claim was lost while this machine was asleep, and the thread has not noticed it yet.
                return "given back"
            project.pools[task_id] = pool
        try:
            tasks = pool.run(1)
            project.problems.pop(task_id, None)
        except BurnishError as error:
            self.note_problem(project, task_id, f"{error.what} {error.hint}".rstrip())
            return "failed"
        except Exception as error:
            # DBOS would only store it
            self.note(f"Task {task_id}: {type(error).__name__}: {error}. Please report this bug in burnish.")
            raise
        finally:
            with self._guard:
                project.pools.pop(task_id, None)
            project.stops.forget(task_id)
            project.last_look = (-1, 0.0)
        return str(tasks[0].status) if tasks else "not ready"

    def note_problem(self, project: ServedProject, task_id: int, reason: str) -> None:
        """Report why a task could not be begun, once for each reason, and let it wait."""
        if project.problems.get(task_id, ("", 0.0))[0] != reason:
            self.note(f"Task {task_id}: {reason}")
        project.problems[task_id] = (reason, time.monotonic() + _PROBLEM_SECONDS)

    def _may_run(self, key: str, task_id: int) -> bool:
        """Whether the project of the task is here, and what the task needs by now."""
        tasks = self.store.tasks(key, ids=[task_id]) if key in self.projects else []
        return bool(tasks) and self.labels.issuperset(tasks[0].spec.needs)

    @property
    def running(self) -> int:
        return sum(len(project.pools) for project in self.projects.values())

    # the rounds

    def serve(self, queue: WorkQueue) -> None:
        """Until a signal or a request ends it, and all tasks are given back or done."""
        self.queue = queue
        while not (self.is_draining and not self.running):
            try:
                self._round(queue)
            except BurnishError as error:
                # e.g. the server restarts: the next round tries again
                self.note(f"{error.what} {error.hint}".rstrip())
            time.sleep(_ROUND_SECONDS)
        with suppress(Exception):
            queue.give_back()

    def _round(self, queue: WorkQueue) -> None:
        self._awake.hold(self.running > 0)
        self._take_requests()
        now = time.monotonic()
        if self._last_round and now - self._last_round > LEASE_SECONDS:
            self._back_since = now  # the database did not answer, or this machine was asleep
        self._last_round = now
        if now - self._last_upkeep > _REAP_SECONDS:
            self._last_upkeep = now
            self._renew_card()
            if now - self._last_reap > min(_REAP_SECONDS * max(1.0, self._workers / _REAPERS), _MAX_REAP_SECONDS):
                self._last_reap = now
                self._reap(queue)
            if not self.is_draining and self.store.is_upgraded():
                self.is_outdated = True
                self.note("A newer burnish has changed the database. This worker ends after the running phases.")
                self.drain()
            for project in () if self.is_draining else self.projects.values():
                self._retry_failed(project)
                if not self.running:
                    remove_old_files(project.app, project.deps)
        if not self.is_draining:
            self._take_tasks(queue)

    def _take_requests(self) -> None:
        runner = str(self.card["id"])
        for key, project in self.projects.items():
            for task_id in self.store.take_stop_requests(f"{runner}/{key}"):
                if task_id:
                    project.stops.of(task_id).request()
                    # this worker or another one would take it up again at once
                    self.store.edit_task(key, task_id, {"paused": True})
                    self.note(f"Task {task_id} is stopped and paused. Let workers go on: burnish unpause {task_id}")
                else:
                    self.drain()
            running = sorted(project.pools)
            for task in self.store.tasks(key, ids=running) if running else ():
                if task.status is Status.CANCELLED:
                    project.stops.of(task.id).request()

    def _renew_card(self) -> None:
        """A machine that was asleep was declared dead: it comes back, without the tasks that others took."""
        if self.store.lease_age(str(self.card["id"])) is None:
            self.store.register_runner(self.card)

    def _reap(self, queue: WorkQueue) -> None:
        """Hand over the tasks of dead workers. Of several that notice it, the one that removes the card does it.

        After an outage of the database all leases are old: the others get as long as a lease lasts to renew theirs.
        """
        if self._back_since is not None and time.monotonic() - self._back_since <= LEASE_SECONDS:
            return
        cards = [card for card in self.store.runners() if card.get("kind") == KIND]
        ages = self.store.lease_ages()
        alive = {str(card["executor"]) for card in cards if ages.get(str(card["id"]), 0.0) <= LEASE_SECONDS}
        self._workers = len(alive)
        for card in cards:
            id, executor = str(card["id"]), str(card["executor"])
            if ages.get(id, 0.0) <= LEASE_SECONDS or not self.store.forget_runner(id) or executor in alive:
                continue
            own, others = queue.take_over(executor, self._may_run)
            self.note(f"{executor} does not answer: {own} of its tasks continue here, {others} go to other machines.")

    def _retry_failed(self, project: ServedProject) -> None:
        """Try transient failures again. The pause begins when this worker notices it: clocks may disagree."""
        failures = {
            task.id: task
            for task in self.store.tasks(project.app.key, statuses=(Status.FAILED,), brief=True)
            if task.error in TRANSIENT and not task.is_paused and self.labels.issuperset(task.spec.needs)
        }
        project.retries = {id: entry for id, entry in project.retries.items() if id in failures}
        for task in failures.values():
            change, due = project.retries.get(task.id, ("", None))
            if change != task.updated_at:
                project.retries[task.id] = (task.updated_at, _retry_time(project.app, task))
            elif due is not None and clock.elapsed() >= due and project.trust.holds():
                del project.retries[task.id]
                # another worker may have been faster: then it is refused
                retry_failed(project.app, project.deps, task)

    def _take_tasks(self, queue: WorkQueue) -> None:
        free = self.jobs - self.running
        projects = [project for project in self.projects.values() if self._may_have_tasks(project)] if free > 0 else []
        if not projects or not all(project.deps.has_room() for project in projects):
            return
        with self.store.exclusive("worker queue"):
            # all machines wait for this block: what it reads must not grow with their number
            are_limited = any(project.app.config.limits.agents for project in projects)
            active = queue.active(own=not are_limited)
            free -= sum(task.executor == queue.executor for task in active) - self.running
            agents = Counter(task.agent for task in active)
            for project in projects:
                newest = self.store.last_event(project.app.key)
                limits = project.app.config.limits.agents
                busy_agents = {agent for agent, most in limits.items() if agents[agent] >= most}
                ready = self._ready(project, queue, busy_agents)
                if not ready:
                    project.last_look = (newest, time.monotonic())
                for task in ready:
                    agent = _agent_of(project.app, task)
                    most = limits.get(agent)
                    if free <= 0 or (most is not None and agents[agent] >= most):
                        continue
                    queue.add(
                        project.app.key, task.id, task.run + (task.status is Status.BACKLOG), agent, task.spec.priority
                    )
                    agents[agent] += 1
                    free -= 1

    def _may_have_tasks(self, project: ServedProject) -> bool:
        event, at = project.last_look
        is_old = time.monotonic() - at > LOOK_AGAIN
        return is_old or self.store.last_event(project.app.key) != event

    def _ready(self, project: ServedProject, queue: WorkQueue, busy_agents: Set[str]) -> list[Task]:
        """Tasks that this worker could run now, most urgent first. All workers wait for it: it must not read all.

        `busy_agents`: at their limit. Their tasks are left out, because so many of them could hide those of others.
        """
        if not project.trust.holds():
            return []
        app, log = project.app, project.app.event_log
        stopped_ids = project.stops.stopped()
        # read only if a task needs them
        unmet, later = cache(lambda: self.store.unmet_needs(app.key)), cache(log.later)
        is_limited = project.deps.is_limited if project.deps.has_limits() else (lambda task: False)

        def is_ready(task: Task) -> bool:
            return (
                not task.is_paused
                and task.id not in stopped_ids
                and project.may_begin(task.id)
                and (task.status is Status.BACKLOG or not task.waits_for)
                and not (task.spec.depends_on and task.id in unmet())
                and not (task.spec.of is not None and task.id in later())
                and self.labels.issuperset(task.spec.needs)
                and not (busy_agents and _agent_of(app, task) in busy_agents)
                and not (task.runner and not log.is_dead(task.runner))
                and not is_limited(task)
            )

        def without_taken(tasks: Iterable[Task]) -> list[Task]:
            ready, found = list(filter(is_ready, tasks)), []
            # a few at a time: those that are taken and not begun yet are among the first
            for start in range(0, len(ready), _FEW_TASKS):
                some = ready[start : start + _FEW_TASKS]
                taken_ids = queue.taken(app.key, [task.id for task in some])
                found += [task for task in some if task.id not in taken_ids]
                if len(found) >= self.jobs:
                    break
            return found

        begun = [
            task
            for status in RUNNING
            for task in self.store.first_unheld_tasks(app.key, status, _MAX_STARTED, lease=LEASE_SECONDS)
        ]
        found = sorted(without_taken(begun), key=lambda task: (-task.spec.priority, task.id))
        most = _FIRST_TASKS
        while True:
            backlog = self.store.first_tasks(app.key, Status.BACKLOG, most)
            ready = [*found, *without_taken(backlog)]
            if len(ready) >= self.jobs or len(backlog) < most:
                return ready
            most *= 8


def _retry_time(app: App, task: Task) -> float | None:
    """When a failed task is due again; None after the last try, and for a failure that is hours old."""
    # both by the clock of the database
    then, now = (datetime.fromisoformat(moment) for moment in (task.updated_at, app.store.now()))
    age = (now - then).total_seconds() + clock.offset()
    events = app.store.events(app.key, task=task.id, types=["task.status"])
    statuses = [read(TaskStatus, event.data).to for event in events]
    ends = [status for status in statuses if status not in (*READY, Status.FAILED)]
    last_end = max((number for number, status in enumerate(statuses) if status in ends), default=-1)
    failures = statuses[last_end + 1 :].count(Status.FAILED)
    return None if age > TAKEN_OVER or failures > len(RETRY_AFTER) else clock.elapsed() + RETRY_AFTER[failures - 1]


def _agent_of(app: App, task: Task) -> str:
    return task.spec.agent or task.agent or app.config.agent or ""


# -- start and end --------------------------------------------------------------------------------


def open_projects(paths: Sequence[Path], store: Store | None = None) -> list[App]:
    """The projects of a worker; refuses what it could not work on."""
    if database_url() is None:
        raise BadInput(
            "A worker needs a PostgreSQL database that machines share.",
            hint="Write `database: postgresql://user@host/name` into your config.yaml.",
        )
    apps: list[App] = []
    for path in paths:
        app = App.open(path, flags={}, store=apps[0].store if apps else store)
        if not app.shared_remote:
            remote = app.config.machine.remote
            raise BadInput(
                f"{app.repo.root} has no git remote {remote!r}, through which machines exchange branches.",
                hint="Add it: `git remote add`. Or name another one in your config.yaml: `machine: {remote: NAME}`",
            )
        check(app, RunRequest(watch=True))
        apps.append(app)
    return apps


@contextmanager
def only_worker(locks: Path) -> Iterator[None]:
    """One worker per burnish home: its machine has one queue."""
    locks.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = locks / LOCK_FILE
    descriptor = try_lock(file)
    if descriptor is None:
        raise Refused(
            "A worker with this burnish home is running already.",
            hint="Stop it with `burnish worker --drain`, or set another BURNISH_HOME.",
        )
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.ftruncate(descriptor, 0)
        os.close(descriptor)


def drain_running(locks: Path) -> int:
    """Let the worker of this home finish its phases and end; returns its process id."""
    descriptor = try_lock(locks / LOCK_FILE) if locks.is_dir() else None
    text = (locks / LOCK_FILE).read_text().strip() if (locks / LOCK_FILE).exists() else ""
    if descriptor is not None:
        os.close(descriptor)
    if descriptor is not None or not text.isdecimal():
        raise BadInput("No worker with this burnish home is running.", hint="`burnish doctor` lists all workers.")
    os.kill(int(text), signal.SIGTERM)
    return int(text)


def work(apps: Sequence[App], jobs: int, labels: Sequence[str], progress: Progress) -> None:
    """Run tasks until a signal, `burnish stop` or an upgrade of the database ends it."""
    from burnish.cluster.queue import WorkQueue

    store, home, locks = apps[0].store, apps[0].home, apps[0].locks
    url = database_url()
    assert url, "checked when the projects were opened"
    facts = {
        "kind": KIND,
        "executor": store.machine(),
        "labels": sorted(labels),
        "jobs": jobs,
        "projects": [app.key for app in apps],
        "version": __version__,
        "home": str(home),
    }
    with ExitStack() as stack:
        stack.enter_context(only_worker(locks))
        lock = stack.enter_context(hold(locks))
        runner = stack.enter_context(registered_runner(store, lock, **facts))
        projects = {app.key: _served(stack, app, runner, jobs, frozenset(labels), progress) for app in apps}
        card = next(card for card in store.runners() if card["id"] == runner)
        worker = Worker(store, projects, jobs, frozenset(labels), card, progress.note)
        stack.enter_context(_signals(worker))
        queue = WorkQueue(url, store.machine(), jobs, worker.run)
        stack.callback(queue.close)
        names = ", ".join(app.project.name for app in apps)
        progress.note(f"Worker {store.machine()} runs up to {jobs} {'task' if jobs == 1 else 'tasks'} of {names}.")
        worker.serve(queue)
    if worker.is_outdated:
        # an error, so that a service starts again: by then with the newer version
        raise BurnishError("A newer burnish has changed the database.", hint="Install it here, too: pip install")


def _served(
    stack: ExitStack, app: App, runner: str, jobs: int, labels: frozenset[str], progress: Progress
) -> ServedProject:
    stops = StopTokens()
    sending = notifying(app.event_log, app.config.notify, progress, home=app.home, project=app.key)
    notifier = stack.enter_context(sending)
    request = RunRequest(watch=True, jobs=jobs)
    deps = deps_for(app, request, notifier, stops, runner)
    for note in before_run(app, deps, request):
        progress.note(note)
    deps.worker_slots.limit = jobs
    # between two phases, a drain counts as a stop; within one it does not
    stopping = deps.stopping
    deps = replace(deps, stopping=lambda task_id: stops.is_draining or stopping(task_id))
    return ServedProject(app, deps, stops, StandingTrust(app, progress.note))


@contextmanager
def _signals(worker: Worker) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: worker.drain()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

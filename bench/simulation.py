"""Simulated machines: the worker's own rounds, queue, claims, leases and events on a real PostgreSQL server.

Only agents, git and processes are missing: a task is a pause, with the events that a real one records. All pauses are
stretched by one factor, so that the client, which is one process here, keeps up. What is counted per second is a second
of the stretched clock. `python -m bench simulation`
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import psycopg
from dbos import DBOSClient

from bench.pages import write_block
from burnish.adapters import task_locks
from burnish.adapters.event_log import StoreEventLog
from burnish.adapters.task_locks import is_runner_dead
from burnish.cluster import queue as cluster_queue
from burnish.cluster.queue import PROTOCOL, SCHEMA, JsonSerializer, WorkQueue, queue_of
from burnish.core.event import Event
from burnish.core.secrets import NO_SECRETS
from burnish.core.status import Status
from burnish.core.task import Spec
from burnish.engine.transitions import status_events
from burnish.errors import BurnishError
from burnish.features.worker import worker as worker_module
from burnish.features.worker.worker import ServedProject, Worker
from burnish.store import Store
from testing.postgresql import PostgresqlServer, postgresql_programs

MACHINES = (1, 5, 20, 50, 100)
JOBS = 4
# of the stretched clock
TASK_SECONDS = 60.0
WINDOW = 20.0
# of a real task: four phases and what comes between them
EVENTS_PER_TASK = 40
WRITES_PER_TASK = 16
# what the model assumes of real tasks
REAL_TASK_SECONDS = 1200.0
GOAL = 1000
PARTS = {
    "lock of the queue and of projects": r"pg_advisory",
    "queue: all active tasks": r"FROM burnish_queue.workflow_status.*status IN|workflow_status.*ORDER BY",
    "queue: other": r"burnish_queue|workflow_status",
    "leases and entries of workers": r"runners",
    "waiting and running tasks": r"FROM tasks",
    "events and claims": r"events|INSERT|UPDATE|BEGIN|COMMIT",
}


@dataclass
class Figures:
    """What one number of machines cost, per second of the stretched clock."""

    machines: int
    taken: int = 0
    seconds: float = 0.0
    statements: float = 0.0
    rows: float = 0.0
    # milliseconds of the server by part
    parts: dict[str, float] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    holds: list[float] = field(default_factory=list)
    heartbeats: list[float] = field(default_factory=list)
    connections: int = 0

    @property
    def busy(self) -> float:
        """Milliseconds of the server per second, without waiting for a lock."""
        return sum(value for name, value in self.parts.items() if not name.startswith("lock"))


class SimulatedQueue(WorkQueue):
    """The queue of one machine, without an executor of DBOS: tasks are begun by `begin`."""

    def __init__(self, client: DBOSClient, executor: str) -> None:
        self.executor = executor
        self.client = client
        self.row = client.register_queue(queue_of(executor), worker_concurrency=JOBS, on_conflict="always_update")

    def add(self, project: str, task: int, run: int, agent: str, priority: int) -> None:
        options: Any = {
            "workflow_name": "run_task",
            "queue_name": queue_of(self.executor),
            "workflow_id": f"{project}/{task}/{run}-{random.getrandbits(32):08x}",
            "app_version": PROTOCOL,
            "priority": 1000 - priority,
        }
        self.client.enqueue(options, project, task, agent)

    def begin(self, running: int) -> list[str]:
        """As DBOS does with each poll."""
        return self.client._sys_db.start_queued_workflows(self.row, self.executor, PROTOCOL, None, running)[0]

    def end(self, workflow: str) -> None:
        self.client._sys_db.update_workflow_outcome(workflow, "SUCCESS", output='"verified"')


@dataclass
class Machine:
    number: int
    url: str
    key: str
    client: DBOSClient
    stretch: float
    home: Path
    figures: Figures
    is_over: threading.Event
    counts: threading.Event

    def run(self) -> None:
        with suppress(BurnishError), Store.open(self.home, url=self.url) as store:
            self._serve(store)

    def _serve(self, store: Store) -> None:
        runner = f"machine-{self.number}"
        card = {"id": runner, "kind": "worker", "executor": runner, "labels": [], "jobs": JOBS, "projects": [self.key]}
        store.register_runner(card)
        log = StoreEventLog(store, self.key, runner, partial(is_runner_dead, store, self.home), NO_SECRETS)
        limits = SimpleNamespace(agents={})
        app = SimpleNamespace(
            key=self.key, store=store, event_log=log, config=SimpleNamespace(limits=limits, agent="a")
        )
        deps = SimpleNamespace(has_room=lambda: True, has_limits=lambda: False)
        stops = SimpleNamespace(stopped=frozenset)
        trust = SimpleNamespace(holds=lambda: True)
        project = ServedProject(app, deps, stops, trust)  # type: ignore[arg-type]
        worker = Worker(store, {self.key: project}, JOBS, frozenset(), card, lambda text: None)
        queue = SimulatedQueue(self.client, runner)
        self._time_block(store)
        running: dict[str, tuple[float, int, int]] = {}
        next_beat = time.monotonic() + random.random() * 5 * self.stretch
        time.sleep(random.random() * self.stretch)
        while not self.is_over.is_set():
            start = time.monotonic()
            worker._round(queue)
            for workflow in queue.begin(len(running)):
                task = int(workflow.split("/")[1])
                project.pools[task] = None  # type: ignore[assignment]
                if log.claim([task]):
                    log.record(task, status_events(store.task(self.key, task), Status.IN_PROGRESS))
                    # the first ones are somewhere in the middle
                    left = WRITES_PER_TASK if self.counts.is_set() else random.randint(1, WRITES_PER_TASK)
                    running[workflow] = (start + TASK_SECONDS * self.stretch / WRITES_PER_TASK, task, left)
                else:
                    self._finish(queue, project, workflow, task)
            for workflow, (due, task, left) in list(running.items()):
                if start < due:
                    continue
                if left:
                    events = [Event("phase.progress", {"phase": "implement", "message": "m" * 80})] * (
                        EVENTS_PER_TASK // WRITES_PER_TASK
                    )
                    log.record(task, *events)
                    running[workflow] = (due + TASK_SECONDS * self.stretch / WRITES_PER_TASK, task, left - 1)
                    continue
                log.record(task, status_events(store.task(self.key, task), Status.CANCELLED))
                log.release(task)
                del running[workflow]
                self._finish(queue, project, workflow, task)
            if start > next_beat:
                before = time.perf_counter()
                store.renew_lease(runner)
                if self.counts.is_set():
                    self.figures.heartbeats.append(time.perf_counter() - before)
                next_beat += task_locks.LEASE_SECONDS / 6
            self.is_over.wait(max(0.0, 0.5 * self.stretch - (time.monotonic() - start)))

    def _finish(self, queue: SimulatedQueue, project: ServedProject, workflow: str, task: int) -> None:
        queue.end(workflow)
        project.pools.pop(task, None)
        project.last_look = (-1, 0.0)
        if self.counts.is_set():
            self.figures.taken += 1

    def _time_block(self, store: Store) -> None:
        """Record how long machines wait for the block in which tasks are taken, and how long they are in it."""
        exclusive = store.exclusive

        @contextmanager
        def timed(name: str) -> Iterator[None]:
            asked = time.perf_counter()
            with exclusive(name):
                entered = time.perf_counter()
                yield
            if self.counts.is_set():
                self.figures.waits.append(entered - asked)
                self.figures.holds.append(time.perf_counter() - entered)

        store.exclusive = timed  # type: ignore[method-assign]


def simulate(server: PostgresqlServer, machines: int, stretch: float) -> Figures:
    figures = Figures(machines)
    _stretch_clock(stretch)
    with TemporaryDirectory() as folder, server.database() as url, psycopg.connect(url, autocommit=True) as watcher:
        watcher.execute("CREATE EXTENSION pg_stat_statements")
        subprocess.run([sys.executable, "-m", "bench.simulation", url], check=True)  # the tables of DBOS
        client = DBOSClient(
            system_database_url=url,
            dbos_system_schema=SCHEMA,
            serializer=JsonSerializer(),
            system_database_pool_size=20,
        )
        _use_client(client)
        with Store.open(Path(folder), url=url) as store:
            project = store.project_for(Path("/bench/.git"), Path("/bench"), create=True)
            assert project
            for number in range(JOBS * machines * 2 + 20):
                store.add_task(project.key, Spec(f"Task {number}", "Text.\n" * 5), max_cycles=3, auto_review=True)
        is_over, counts = threading.Event(), threading.Event()
        places = (Path(folder) / str(number) for number in range(machines))
        threads = [
            threading.Thread(
                target=Machine(n, url, project.key, client, stretch, place, figures, is_over, counts).run, daemon=True
            )
            for n, place in enumerate(places)
        ]
        for thread in threads:
            thread.start()
        wanted = JOBS * machines
        deadline = time.monotonic() + 30 + WINDOW * stretch
        while time.monotonic() < deadline and _running(watcher) < wanted * 0.9:
            time.sleep(0.5)
        watcher.execute("SELECT pg_stat_statements_reset()")
        counts.set()
        start = time.monotonic()
        time.sleep(WINDOW * stretch)
        counts.clear()
        figures.seconds = (time.monotonic() - start) / stretch
        _read_server(watcher, figures)
        is_over.set()
        for thread in threads:
            thread.join(30)
        client.destroy()
    return figures


def _stretch_clock(stretch: float) -> None:
    worker_module._REAP_SECONDS = 5.0 * stretch
    worker_module.LOOK_AGAIN = 10.0 * stretch  # type: ignore[attr-defined]
    worker_module.LEASE_SECONDS = task_locks.LEASE_SECONDS = 30.0 * stretch  # type: ignore[attr-defined]
    # files, not the database
    worker_module.remove_old_files = lambda *_: None  # type: ignore[attr-defined]


def _use_client(client: DBOSClient) -> None:
    cluster_queue.DBOS = client  # type: ignore[misc,assignment]


def _running(watcher: psycopg.Connection[Any]) -> int:
    row = watcher.execute("SELECT count(*) FROM burnish.tasks WHERE runner IS NOT NULL").fetchone()
    return int(row[0]) if row else 0


def _read_server(watcher: psycopg.Connection[Any], figures: Figures) -> None:
    rows = watcher.execute(
        "SELECT query, calls, total_exec_time + total_plan_time, rows FROM pg_stat_statements s JOIN pg_database d "
        "ON d.oid = s.dbid WHERE d.datname = current_database()"
    ).fetchall()
    parts: dict[str, float] = defaultdict(float)
    for query, calls, milliseconds, count in rows:
        name = next((name for name, pattern in PARTS.items() if re.search(pattern, query, re.S)), "other")
        parts[name] += milliseconds / figures.seconds
        figures.statements += calls / figures.seconds
        figures.rows += count / figures.seconds
    figures.parts = dict(parts)
    row = watcher.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").fetchone()
    figures.connections = int(row[0]) - 1 if row else 0


def _fit(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Least squares: a + b x."""
    n, sx, sy = len(points), sum(x for x, _ in points), sum(y for _, y in points)
    sxx, sxy = sum(x * x for x, _ in points), sum(x * y for x, y in points)
    slope = (n * sxy - sx * sy) / ((n * sxx - sx * sx) or 1.0)
    return (sy - slope * sx) / n, slope


def _at_goal(points: list[tuple[float, float]]) -> tuple[float, str]:
    """The value at GOAL, and where it comes from. On a busy machine small numbers may look more expensive."""
    base, growth = _fit(points)
    if growth <= 0:
        return points[-1][1], "as in the last row, because it did not grow in this run"
    return base + growth * GOAL, f"{base:.2f} + {growth:.4f} x machines ms (least squares)"


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)] if values else 0.0


def report(found: list[Figures]) -> str:
    lines = [
        "| machines | statements / s | rows / s | server, ms / s | of it per machine | taking a task: in the block, ms "
        "| wait for it, ms (95 %) | a heartbeat, ms |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in found:
        lines.append(
            f"| {one.machines} | {one.statements:.0f} | {one.rows:.0f} | {one.busy:.0f} | "
            f"{one.busy / one.machines:.1f} | {median(one.holds or [0]) * 1000:.0f} | {_p95(one.waits) * 1000:.0f} | "
            f"{median(one.heartbeats or [0]) * 1000:.1f} |"
        )
    per_machine, growth = _at_goal([(one.machines, one.busy / one.machines) for one in found[1:]])
    block, hold_growth = _at_goal([(one.machines, median(one.holds) * 1000) for one in found[1:] if one.holds])
    takes = GOAL * JOBS / REAL_TASK_SECONDS
    lines += [
        "",
        f"Calculated from these, without the first row. Cost of a machine: {growth}. Block: {hold_growth}.",
        "",
        f"| at {GOAL:,} machines with `-j {JOBS}`, tasks of {REAL_TASK_SECONDS / 60:.0f} minutes | |",
        "|---|---|",
        f"| processor time of the server | {GOAL * per_machine / 1000:.1f} cores |",
        f"| tasks taken | {takes:.1f} per second, {block:.0f} ms each: the block is used {takes * block / 10:.0f} % |",
        f"| statements | {found[-1].statements / found[-1].machines * GOAL:,.0f} per second |",
    ]
    return "\n".join(lines)


def main() -> None:
    machines = tuple(int(word) for word in sys.argv[1:] if word.isdecimal()) or MACHINES
    programs = postgresql_programs()
    if programs is None:
        print("simulation: not run, PostgreSQL is not installed")
        return
    server = PostgresqlServer.make(
        programs,
        max_connections="1000",
        shared_preload_libraries="pg_stat_statements",
    )
    found = []
    for count in machines:
        # a process of Python sends some hundreds of statements per second
        figures = simulate(server, count, stretch=max(1.0, count / 25))
        found.append(figures)
        parts = ", ".join(f"{name} {value:.0f}" for name, value in sorted(figures.parts.items(), key=lambda p: -p[1]))
        print(
            f"{count} machines: {figures.statements:.0f} statements and {figures.rows:.0f} rows per second, "
            f"{figures.busy:.0f} ms of the server ({parts}); {figures.taken} tasks, {figures.connections} connections",
            flush=True,
        )
    text = report(found)
    print(text)
    write_block("docs/scaling.md", "python -m bench simulation", text)


if __name__ == "__main__" and len(sys.argv) == 2 and sys.argv[1].startswith("postgresql:"):
    WorkQueue(sys.argv[1], "first", 1, lambda project, task: "").close()

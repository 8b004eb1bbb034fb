"""Many machines: tasks per second with 1, 2 and 4 workers, and what it costs to take one of many waiting tasks.

`python -m bench.machines [TASKS] [WAITING…]`
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import psycopg

from bench.pages import write_block
from burnish.adapters.event_log import StoreEventLog
from burnish.core.status import Status
from burnish.core.task import Spec
from burnish.store import Store
from testing.machines import Machines
from testing.postgresql import postgresql_server

TASKS = 40
WORKERS = (1, 2, 4)
WAITING = (10, 10_000, 100_000)
ROUNDS = 20
_MANY = """WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
INSERT INTO {table} (id, {columns}) SELECT n.i, {values} FROM n, {table} t WHERE t.id = 1"""


def tasks_per_second(tasks: int) -> str:
    """Each worker is a process with a home and a clone of its own, one task at a time; agents answer at once."""
    first, rates = 0.0, []
    for count in WORKERS:
        with TemporaryDirectory() as folder, postgresql_server().database() as url, ExitStack() as stack:
            names = [f"m{number}" for number in range(count)]
            machines = Machines.make(Path(folder), url, *names)
            adder = machines.all[names[0]]
            for number in range(tasks):
                adder.burnish("add", f"Task {number}", "--max-cycles", "2")
            start = time.perf_counter()
            workers = [stack.enter_context(machine.worker()) for machine in machines.all.values()]
            workers[0].until(lambda: adder.statuses() == {"verified"}, seconds=60.0 * tasks)  # noqa: B023
            rate = tasks / (time.perf_counter() - start)
            first = first or rate
            rates.append(rate)
            print(
                f"{tasks} tasks, {count} worker(s) with -j 1: {rate:.2f} tasks per second = {rate / first:.2f} x one "
                f"worker ({os.cpu_count()} cores, load {os.getloadavg()[0]:.0f})",
                flush=True,
            )
    head = f"| {tasks} tasks, workers with `-j 1` | " + " | ".join(map(str, WORKERS)) + " |"
    cells = " | ".join(f"{rate:.2f} ({rate / first:.2f} x)" for rate in rates)
    return "\n".join([head, "|---" * (len(WORKERS) + 1) + "|", f"| tasks per second | {cells} |"])


class _Counted:
    """A database that counts the statements which burnish sends."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.statements = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._database, name)
        if name not in ("all", "one"):
            return found

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.statements += 1
            return found(*args, **kwargs)

        return counted


@contextmanager
def _store(kind: str) -> Iterator[tuple[Store, str | Path]]:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        url = stack.enter_context(postgresql_server().database()) if kind == "PostgreSQL" else None
        home = Path(folder)
        with Store.open(home, url=url) as store:
            yield store, url or home / "burnish.db"


def _fill(place: str | Path, count: int) -> None:
    """Copies of the first task, written at once: what is measured is how they are read."""
    if isinstance(place, Path):
        with sqlite3.connect(place) as connection:
            names = [row[1] for row in connection.execute("PRAGMA table_info(tasks)") if row[1] != "id"]
            _copy(connection, "tasks", names, count)
        connection.close()
        return
    with psycopg.connect(place, autocommit=True) as server:
        columns = (
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'burnish' AND table_name = 'tasks'"
        )
        names = [str(row[0]) for row in server.execute(columns).fetchall() if row[0] != "id"]
        _copy(server, "burnish.tasks", names, count)
        server.execute("ANALYZE burnish.tasks")


def _copy(connection: Any, table: str, names: list[str], count: int) -> None:
    values = ", ".join(f't."{name}"' for name in names)
    columns = ", ".join(f'"{name}"' for name in names)
    connection.execute(_MANY.format(count=count, table=table, columns=columns, values=values))


def cost_of_one(waiting: tuple[int, ...]) -> str:
    """To list the first tasks and claim one, as a worker does; the fastest of some rounds."""
    head = "| to take one task | " + " | ".join(f"{count:,} waiting" for count in waiting) + " |"
    lines = [head, "|---" * (len(waiting) + 1) + "|"]
    for kind in ("SQLite", "PostgreSQL"):
        first, cells = 0.0, []
        for count in waiting:
            with _store(kind) as (store, place):
                project = store.project_for(Path("/bench/.git"), Path("/bench"), create=True)
                assert project
                key = project.key
                store.add_task(key, Spec("Task", "Something to be done.\n" * 5), max_cycles=3, auto_review=True)
                _fill(place, count)
                store.register_runner({"id": "bench"})
                database = _Counted(store._db)
                store._db = cast("Any", database)
                taken = [_take(store, key) for _ in range(ROUNDS)]
                best, statements = min(taken) * 1000, database.statements / ROUNDS
                first = first or best
                cells.append(f"{statements:.0f} statements, {best:.1f} ms")
                print(
                    f"{kind}, {count:>7,} waiting tasks: {statements:.0f} statements and {best:.1f} ms to take one = "
                    f"{best / first:.1f} x that of {waiting[0]}",
                    flush=True,
                )
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _take(store: Store, key: str) -> float:
    start = time.perf_counter()
    for status in (Status.IN_PROGRESS, Status.CODE_REVIEW):
        store.first_tasks(key, status, 10_000)
    task = store.first_tasks(key, Status.BACKLOG, 100)[0]
    assert StoreEventLog(store, key, runner="bench").claim([task.id])
    seconds = time.perf_counter() - start
    store.release(key, task.id, "bench")
    return seconds


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:]]
    costs = cost_of_one(tuple(numbers[1:]) or WAITING)
    rates = tasks_per_second(numbers[0] if numbers else TASKS)
    if not numbers:
        write_block("docs/scaling.md", "python -m bench machines", f"{costs}\n\n{rates}")


if __name__ == "__main__":
    main()

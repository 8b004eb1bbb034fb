"""Servers that fail or are slow while workers are at work: a standby takes over, a push takes longer than a lease."""

from __future__ import annotations

import signal
from pathlib import Path

import psycopg
import pytest

from testing.both_stores import POSTGRESQL_NAME
from testing.lab import AUTHOR
from testing.machines import Machines
from testing.postgresql import PostgresqlServer, postgresql_programs, postgresql_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

HELD = """
while os.path.exists(GATE):
    time.sleep(0.05)
"""


def held(machines: Machines) -> Path:
    gate = machines.root / "gate"
    gate.touch()
    machines.lab.agent("robot", f"GATE = {str(gate)!r}\n{HELD}{AUTHOR}")
    return gate


def events_in(server: PostgresqlServer) -> list[tuple[int, str]]:
    with psycopg.connect(server.url("postgres")) as connection:
        rows = connection.execute("SELECT id, type FROM burnish.events ORDER BY id").fetchall()
    return [(int(row[0]), str(row[1])) for row in rows]


@pytest.mark.attacks("the database fails over to a standby in a phase", 1, store=POSTGRESQL_NAME)
def test_a_standby_takes_over_in_the_middle_of_a_phase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # what is confirmed must be on the standby
    monkeypatch.delenv("BURNISH_NO_SYNC")
    programs = postgresql_programs() or postgresql_server().programs
    primary = PostgresqlServer.make(programs)
    standby = primary.standby()
    url = f"postgresql://burnish@/postgres?host={primary.folder},{standby.folder}&target_session_attrs=read-write"
    machines = Machines.make(tmp_path, url, "a", "b")
    a, b = machines.all["a"], machines.all["b"]
    gate = held(machines)
    a.burnish("add", "Add division")
    with a.worker() as first, b.worker() as second:
        first.until(lambda: machines.lab.calls())
        (call,) = machines.lab.calls()
        before = events_in(primary)
        primary.stop(signal.SIGQUIT)
        standby.promote()
        gate.unlink()
        first.until(lambda: a.statuses() == {"verified"}, seconds=180)
        assert second.process.poll() is None, second.text()
    after = events_in(standby)
    assert after[: len(before)] == before, "no event was lost"
    assert [number for number, _ in after] == list(range(1, len(after) + 1))
    # On a busy machine the failover may take longer than a lease lasts: then the other worker repeats this phase.
    paid = machines.lab.paid()
    assert paid.pop((call["task"], call["cycle"], call["phase"], call["agent"])) <= 2
    assert set(paid.values()) == {1}
    assert "a / b if b else None" in b.burnish("diff", "1").out
    primary.remove()
    standby.remove()


@pytest.mark.attacks("a remote that answers slower than a lease lasts", 1, store=POSTGRESQL_NAME)
def test_a_push_that_takes_longer_than_a_lease_loses_no_task(tmp_path: Path) -> None:
    with postgresql_server().database() as url:
        machines = Machines.make(tmp_path, url, "a", "b")
        a, b = machines.all["a"], machines.all["b"]
        hook = machines.remote / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nsleep 5\n")
        hook.chmod(0o755)
        a.burnish("add", "Add division")
        with a.worker() as first, b.worker():
            first.until(lambda: a.statuses() == {"verified"})
        assert set(machines.lab.paid().values()) == {1}
        assert not a.lab.events("lock.taken_over")


def test_a_worker_at_work_holds_few_connections(tmp_path: Path) -> None:
    with postgresql_server().database() as url:
        machines = Machines.make(tmp_path, url, "a")
        a = machines.all["a"]
        gate = held(machines)
        a.burnish("add", "Add division")
        with a.worker() as worker:
            worker.until(lambda: machines.lab.calls())
            with psycopg.connect(url) as watcher:
                rows = watcher.execute(
                    "SELECT application_name, count(*) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid() GROUP BY 1"
                ).fetchall()
            gate.unlink()
            worker.until(lambda: a.statuses() == {"verified"})
    assert sum(row[1] for row in rows) <= 6, rows

"""Leases: with a database that machines share, a runner is alive as long as it renews its lease."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from burnish.adapters import task_locks
from burnish.adapters.event_log import StoreEventLog
from burnish.adapters.task_locks import LEASE_SECONDS, is_runner_dead
from burnish.core.event import Event
from burnish.core.task import Spec
from burnish.errors import Refused
from burnish.proc.identity import hold
from burnish.runtime.ports import registered_runner
from burnish.store import Store
from testing.postgresql import postgresql_server
from testing.storydump import execute

OTHER_MACHINE = {"pid": 4711, "start_time": "1", "boot_id": "another", "host": "other", "user": "ann"}


@pytest.fixture
def url() -> Iterator[str]:
    with postgresql_server().database() as found:
        yield found


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "home", url=url) as opened:
        yield opened


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    return tmp_path / "home" / "locks"


def test_a_runner_of_another_machine_is_alive_until_its_lease_is_over(store: Store, locks: Path) -> None:
    assert is_runner_dead(store, locks, "unknown1")
    store.register_runner({"id": "far", **OTHER_MACHINE})
    assert not is_runner_dead(store, locks, "far")
    execute(store, f"UPDATE runners SET seen_at = seen_at - {LEASE_SECONDS - 5}")
    assert not is_runner_dead(store, locks, "far")
    execute(store, "UPDATE runners SET seen_at = seen_at - 6")
    assert is_runner_dead(store, locks, "far")
    store.renew_lease("far")
    assert not is_runner_dead(store, locks, "far")


def test_the_clock_of_a_machine_does_not_count(url: str, store: Store, locks: Path, tmp_path: Path) -> None:
    for year in (1999, 2099):
        with Store.open(tmp_path, url=url, clock=lambda year=year: datetime(year, 1, 1, tzinfo=UTC)) as wrong:
            wrong.register_runner({"id": f"y{year}", **OTHER_MACHINE})
            assert not is_runner_dead(wrong, locks, f"y{year}")
        age = store.lease_age(f"y{year}")
        assert age is not None and 0 <= age < 20


def test_a_dead_runner_does_not_live_on_until_a_clock_that_was_set_back_is_there_again(
    store: Store, locks: Path
) -> None:
    for runner in ("dead", "alive"):
        store.register_runner({"id": runner, **OTHER_MACHINE})
    execute(store, "UPDATE runners SET seen_at = seen_at + 3600")  # as if the clock had been set back by an hour
    assert not is_runner_dead(store, locks, "dead")
    store.renew_lease("alive")
    execute(store, f"UPDATE runners SET seen_at = seen_at - {LEASE_SECONDS + 1} WHERE id = 'dead'")
    assert is_runner_dead(store, locks, "dead") and not is_runner_dead(store, locks, "alive")


@pytest.mark.slow
def test_a_lease_is_renewed_as_long_as_the_runner_works(
    store: Store, locks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_locks, "LEASE_SECONDS", 0.6)
    elsewhere = tmp_path / "other-home" / "locks"
    with hold(elsewhere) as lock, registered_runner(store, lock) as runner:
        time.sleep(1.2)
        assert not is_runner_dead(store, locks, runner)
    assert is_runner_dead(store, locks, runner)
    assert store.runners() == []


KILLED = """
import sys
from pathlib import Path
from burnish.proc.identity import hold
lock = hold(Path(sys.argv[1]))
print(lock.runner.uuid, flush=True)
sys.stdin.read()
"""


def test_a_runner_of_this_home_that_was_killed_is_dead_at_once(store: Store, locks: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(locks)], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout
        runner = process.stdout.readline().strip()
        store.register_runner({"id": runner, **OTHER_MACHINE})
        assert not is_runner_dead(store, locks, runner)
        process.kill()
        process.wait()
        assert is_runner_dead(store, locks, runner)


def test_one_that_comes_back_after_its_task_was_taken_over_changes_nothing(store: Store, locks: Path) -> None:
    row = store.project_for(locks / "app/.git", locks / "app", create=True)
    assert row
    store.add_task(row.key, Spec("x"), max_cycles=3, auto_review=True)
    for runner in ("asleep", "second"):
        store.register_runner({"id": runner, **OTHER_MACHINE})

    def claim(runner: str) -> object:
        return store.claim(row.key, runner, ids=None, is_dead=lambda other: is_runner_dead(store, locks, other))

    assert claim("asleep")
    move = Event("task.status", {"from": "backlog", "to": "in_progress"})
    store.record(row.key, 1, [move], runner="asleep")
    assert claim("second") is None
    execute(store, "UPDATE runners SET seen_at = 0 WHERE id = 'asleep'")
    assert claim("second")
    store.renew_lease("asleep")
    before = store.events(row.key)
    with pytest.raises(Refused, match="no longer held"):
        store.require_claim(row.key, 1, "asleep")
    with pytest.raises(Refused, match="no longer held"):
        store.record(row.key, 1, [Event("phase.progress", {})], runner="asleep")
    assert store.events(row.key) == before


def test_a_claim_that_was_lost_does_not_become_valid_again_while_its_thread_is_at_work(
    store: Store, locks: Path
) -> None:
    row = store.project_for(locks / "app/.git", locks / "app", create=True)
    assert row
    for title in ("x", "y"):
        store.add_task(row.key, Spec(title), max_cycles=3, auto_review=True)
    for runner in ("asleep", "second"):
        store.register_runner({"id": runner, **OTHER_MACHINE})
    asleep, second = (
        StoreEventLog(store, row.key, runner, lambda other: is_runner_dead(store, locks, other))
        for runner in ("asleep", "second")
    )

    assert asleep.claim([1])
    execute(store, "UPDATE runners SET seen_at = 0 WHERE id = 'asleep'")
    assert second.claim([1])
    second.release(1)
    store.renew_lease("asleep")

    assert asleep.claim([1]) is None
    other_task = asleep.claim(None)
    assert other_task and other_task.id == 2
    with pytest.raises(Refused, match="no longer held"):
        asleep.record(1, Event("phase.progress", {}))
    asleep.release(1)  # the thread noticed it and has ended
    assert asleep.claim([1])

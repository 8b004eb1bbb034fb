"""Rules of workers that need no second machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from burnish.adapters.agents import StopTokens
from burnish.cluster.queue import WorkQueue
from burnish.features.worker.worker import ServedProject, Worker
from burnish.store import Store
from testing.lab import Lab
from testing.postgresql import postgresql_server


@pytest.fixture
def url() -> Iterator[str]:
    with postgresql_server().database() as url:
        yield url


def test_a_worker_needs_a_shared_database(tmp_path: Path) -> None:
    refusal = Lab.make(tmp_path).burnish("worker", code=2)
    assert "needs a PostgreSQL database" in refusal.err and "database: postgresql://" in refusal.err


def test_a_worker_needs_the_remote_that_the_settings_name(tmp_path: Path, url: str) -> None:
    lab = Lab.make(tmp_path)
    lab.user_settings(f"database: {url}\nmachine: {{remote: hub}}\n")
    refusal = lab.burnish("worker", code=2)
    assert "no git remote 'hub'" in refusal.err


def test_drain_without_a_worker_is_refused(tmp_path: Path) -> None:
    assert "No worker" in Lab.make(tmp_path).burnish("worker", "--drain", code=2).err


def test_projects_at_the_same_path_on_two_machines_are_kept_apart(tmp_path: Path, url: str) -> None:
    place = tmp_path / "app"
    with Store.open(tmp_path / "one", url=url) as one, Store.open(tmp_path / "two", url=url) as two:
        first = one.project_for(place / ".git", place, create=True)
        second = two.project_for(place / ".git", place, create=True)
        assert first and second and first.key != second.key
        assert {row.key: row.is_elsewhere for row in two.projects()} == {first.key: True, second.key: False}


def test_a_project_has_another_path_on_another_machine(tmp_path: Path, url: str) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    with Store.open(tmp_path / "one", url=url) as one, Store.open(tmp_path / "two", url=url) as two:
        row = one.project_for(here / ".git", here, create=True)
        assert row
        two.add_checkout(row, there / ".git", there)
        assert [project.root for project in one.projects()] == [here]
        assert [project.root for project in two.projects()] == [there]
        found = two.project_for(there / ".git", there, create=False)
        assert found and found.key == row.key


def test_a_project_that_was_moved_from_sqlite_is_found_by_a_machine_without_its_path(tmp_path: Path, url: str) -> None:
    place = tmp_path / "app"
    (place / ".git").mkdir(parents=True)
    with Store.open(tmp_path / "laptop", url=None) as laptop, Store.open(tmp_path / "server", url=url) as server:
        assert laptop.project_for(place / ".git", place, create=True)
        laptop.copy_to(server)
        assert [row.is_elsewhere for row in server.projects()] == [False]
        (place / ".git").rmdir()
        assert [row.is_elsewhere for row in server.projects()] == [True]


def test_a_process_goes_on_after_a_newer_burnish_changed_the_tables_and_notices_it(tmp_path: Path, url: str) -> None:
    with Store.open(tmp_path / "home", url=url) as store:
        store.projects()
        assert not store.is_upgraded()
        with psycopg.connect(url) as connection:
            connection.execute("INSERT INTO burnish.migrations VALUES (9999, 'later')")
        assert store.is_upgraded()
        store.close()  # its next connection is a new one, as in a new thread
        assert store.projects() == []
    with pytest.raises(Exception, match="newer burnish"):
        Store.open(tmp_path / "home", url=url)


def test_a_request_to_stop_is_taken_once(tmp_path: Path, url: str) -> None:
    with Store.open(tmp_path / "home", url=url) as store:
        store.request_stop("runner/app", 3)
        store.request_stop("runner/app", 3)
        store.request_stop("other/app")
        assert store.take_stop_requests("runner/app") == [3]
        assert store.take_stop_requests("runner/app") == []
        assert store.take_stop_requests("other/app") == [0]


def test_a_task_that_cannot_be_begun_is_reported_once_and_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    now, notes = [100.0], list[str]()
    monkeypatch.setattr("burnish.features.worker.worker.time.monotonic", lambda: now[0])
    project = ServedProject(cast(Any, None), cast(Any, None), StopTokens(), cast(Any, None))
    worker = Worker(cast(Any, None), {"app": project}, 1, frozenset(), {}, notes.append)

    worker.note_problem(project, 1, "The branch is checked out.")
    assert not project.may_begin(1) and project.may_begin(2)
    now[0] += 30
    assert project.may_begin(1)
    worker.note_problem(project, 1, "The branch is checked out.")
    assert notes == ["Task 1: The branch is checked out."]
    worker.note_problem(project, 1, "The disk is full.")
    assert notes[1:] == ["Task 1: The disk is full."]


def test_other_workers_get_time_to_return_after_an_outage_of_the_database(tmp_path: Path, url: str) -> None:
    notes = list[str]()

    def card(name: str) -> dict[str, object]:
        return {"id": name, "kind": "worker", "executor": name, "pid": 1, "host": name, "user": "u", "command": "x"}

    def pass_time(seconds: float) -> None:
        """Leases become older, and the last looks of the worker are longer ago."""
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE burnish.runners SET seen_at = seen_at - %s", (seconds,))
        worker._last_round -= seconds
        worker._last_upkeep -= seconds
        worker._last_reap -= seconds
        if worker._back_since is not None:
            worker._back_since -= seconds

    with Store.open(tmp_path / "home", url=url) as store:
        for name in ("here", "there"):
            store.register_runner(card(name))
        queue = WorkQueue(url, "here", 1, lambda project, task: "given back")
        try:
            worker = Worker(store, {}, 1, frozenset(), card("here"), notes.append)
            worker._round(queue)
            pass_time(60)  # neither worker reached the database
            store.renew_lease("here")
            worker._round(queue)
            assert notes == []
            for seconds in (10, 10):
                pass_time(seconds)
                store.renew_lease("here")
                worker._round(queue)
                assert notes == [] and len(store.runners()) == 2
            pass_time(15)
            store.renew_lease("here")
            worker._round(queue)
            assert notes == ["there does not answer: 0 of its tasks continue here, 0 go to other machines."]
        finally:
            queue.close()

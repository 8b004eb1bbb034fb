"""A full disk or a store that cannot be read: said in words, and over when the trouble is over."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from burnish.adapters.agents import StopTokens
from burnish.engine.ports import Progress
from burnish.errors import BurnishError
from burnish.features.server.registry import ProjectRegistry
from burnish.runtime.app import App
from burnish.runtime.ports import deps_for
from burnish.runtime.requests import RunRequest
from burnish.store import Store
from burnish.web.sessions import Sessions
from burnish.web.socket import ChangeNotifier
from testing.approved import Silent
from testing.lab import Lab


def no_room(place: Path) -> None:
    """A file where a folder is needed: nothing can be written there, not even by root."""
    place.write_text("")


def test_a_session_is_valid_for_the_process_that_began_it_and_no_other() -> None:
    sessions = Sessions()
    session = sessions.begin()
    assert sessions.knows(session.cookie) and sessions.owns(session.cookie, session.key)
    assert not sessions.is_from_earlier_start(session.cookie)
    other = Sessions()
    assert not other.knows(session.cookie) and not other.owns(session.cookie, session.key)
    assert other.is_from_earlier_start(session.cookie)


def test_a_run_that_a_restart_would_forget_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab.make(tmp_path / "lab")
    lab.add("Add division")
    for name, value in lab.env.items():
        monkeypatch.setenv(name, value)
    registry = ProjectRegistry.here()
    key = registry.projects()[0].key
    no_room(registry.home / "serve")
    with pytest.raises(BurnishError, match="Cannot write"):
        registry.begin(registry.open(key), RunRequest(ids=(1,)))
    assert registry.runs.running(key) == 0
    registry.close()  # and there is nothing to wait for
    assert lab.calls() == []


def test_a_run_that_a_restart_continues_counts_its_budget_from_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.make(tmp_path / "lab")
    for name, value in lab.env.items():
        monkeypatch.setenv(name, value)
    requests: list[RunRequest] = []

    def run_tasks(app: App, request: RunRequest, progress: Progress, *, stops: StopTokens) -> None:
        requests.append(request)
        while not stops.asked:
            time.sleep(0.01)

    monkeypatch.setattr("burnish.features.run.run.run_tasks", run_tasks)
    monkeypatch.setattr("burnish.store.store.Store.spent", lambda store, project: (7.0, 700))
    first = ProjectRegistry.here()
    key = first.projects()[0].key
    first.begin(first.open(key), RunRequest(watch=True, budget=1.0))
    lab.until(lambda: len(requests) == 1)
    first.close()
    # spent before the restart
    monkeypatch.setattr("burnish.store.store.Store.spent", lambda store, project: (7.75, 800))
    second = ProjectRegistry.here()
    assert second.runs.resume() == 1
    lab.until(lambda: len(requests) == 2)
    deps = deps_for(second.open(key), requests[1], Silent(), StopTokens(), "runner")
    assert [(limit.spent, limit.most) for limit in deps.budget_tracker.limits(())] == [(0.75, 1.0)]
    second.close()


def test_news_come_again_when_the_store_can_be_read_again() -> None:
    troubles = iter([True, True])
    version = iter(range(1, 1000))

    def look() -> int:
        if next(troubles, False):
            raise BurnishError("The database cannot be read.")
        return next(version)

    async def listen() -> None:
        hub = ChangeNotifier(look)
        hub.open(asyncio.get_running_loop())
        for _ in range(3):
            await asyncio.wait_for(hub.news.wait(), 10)
        await asyncio.to_thread(hub.close)

    asyncio.run(listen())


def test_the_store_says_when_another_connection_has_written(tmp_path: Path) -> None:
    with Store.open(tmp_path / "home") as mine, Store.open(tmp_path / "home") as other:
        before = mine.version
        assert mine.version == before
        other.project_for(tmp_path / "r" / ".git", tmp_path / "r", create=True)
        assert mine.version != before

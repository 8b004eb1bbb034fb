"""A full disk or a store that cannot be read: said in words, and over when the trouble is over."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from burnish.errors import BurnishError
from burnish.features.server.registry import ProjectRegistry
from burnish.runtime.requests import RunRequest
from burnish.store import Store
from burnish.web.sessions import Sessions
from burnish.web.socket import ChangeNotifier
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

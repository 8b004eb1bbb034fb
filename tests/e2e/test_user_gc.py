"""The user's `git gc --prune=now` at every step of a run, and all the time beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from testing.lab import Lab
from tests.e2e.test_kill import CHECKS, assert_ended_well, failpoints


@pytest.mark.slow
def test_a_gc_at_every_failpoint_harms_neither_the_task_nor_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.make(tmp_path, extra=CHECKS)
    lab.add()
    reached: set[str] = set()

    def collect(_wanted: str) -> Callable[[str], None]:
        def at(point: str) -> None:
            reached.add(point)
            lab.repo.git("gc", "--prune=now", "-q")

        return at

    # the failpoints are there to act at; the program itself is the real one
    monkeypatch.setattr("burnish.runtime.ports.failpoint", collect)
    lab.burnish("run")
    assert set(failpoints()) <= reached
    lab.repo.git("gc", "--prune=now", "-q")
    assert_ended_well(lab)
    lab.repo.git("fsck", "--strict", "--no-dangling")
    lab.burnish("merge", "1")


@pytest.mark.long
def test_a_gc_that_never_rests_fails_no_task(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra=CHECKS)
    for number in range(2):
        lab.add(f"Task {number}")
    over = threading.Event()

    def collect() -> None:
        while not over.is_set():
            lab.repo.git("gc", "--prune=now", "-q")

    user = threading.Thread(target=collect)
    user.start()
    try:
        lab.apart("run", "--all", timeout=120)
    finally:
        over.set()
        user.join()
    assert {task["status"] for task in lab.burnish("status", "--json").json["tasks"]} == {"verified"}
    lab.repo.git("fsck", "--strict", "--no-dangling")

"""Promise 2: merge is compare-and-swap; nothing unapproved is merged, whatever races. Counted."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import BurnishError
from burnish.features.merge.merge import MergeReport, MergeRequest, merge
from burnish.git import run as door
from burnish.git import target_branch as landing
from burnish.git.base import is_ancestor
from burnish.git.refs import read_ref
from burnish.runtime.app import App
from testing.approved import Silent, app_of, approved, put_commit
from testing.both_stores import BOTH_STORES
from testing.lab import Lab

pytestmark = BOTH_STORES

TORTURE = bool(os.environ.get("BURNISH_TORTURE"))
EVIL = {"evil.py": "import os\n"}
CHECKS = "checks: {test: 'test ! -f evil.py', lint: null}\n"


def sha_of(app: App, ref: str) -> str:
    found = read_ref(app.repo, ref)
    assert found
    return found


# what somebody does to the task's branch


def new_commit(app: App, task: Task) -> None:
    put_commit(app, f"refs/heads/{task.branch}", EVIL)


def other_commit(app: App, task: Task) -> None:
    app.repo.user_git("update-ref", f"refs/heads/{task.branch}", sha_of(app, "refs/heads/evil"))


def backwards(app: App, task: Task) -> None:
    app.repo.user_git("update-ref", f"refs/heads/{task.branch}", str(task.base))


def gone(app: App, task: Task) -> None:
    app.repo.user_git("update-ref", "-d", f"refs/heads/{task.branch}")


def elsewhere(app: App, task: Task) -> None:
    app.repo.user_git("symbolic-ref", f"refs/heads/{task.branch}", "refs/heads/evil")


MOVES: tuple[Callable[[App, Task], None], ...] = (new_commit, other_commit, backwards, gone, elsewhere)


def try_merge(app: App, task: Task, how: str = "merge") -> MergeReport | None:
    try:
        return merge(app, MergeRequest((task.id,), how=how), Silent())
    except BurnishError:
        return None


def evil(app: App) -> bool:
    return bool(app.repo.git("ls-tree", "-r", "--name-only", sha_of(app, "refs/heads/main"), "evil.py").stdout)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path, judge="print(verdict('approved', inspected=[]))", extra=CHECKS)
    lab.repo.git("branch", "evil")
    lab.repo.git("switch", "-q", "-c", "elsewhere")
    return lab


@pytest.mark.slow
@pytest.mark.attacks("merge a branch that moved", 50 if TORTURE else 30)
@pytest.mark.parametrize("seed", range(2, 22) if TORTURE else [2])
def test_a_branch_that_moved_after_the_approval_is_never_merged(lab: Lab, seed: int) -> None:
    """Every way to move it, then every way to merge it."""
    chance = random.Random(seed)
    with app_of(lab) as app:
        put_commit(app, "refs/heads/evil", EVIL)
        for number in range(50 if TORTURE else 30):
            if number % 25 == 0:
                app.repo.user_git("update-ref", "refs/heads/main", sha_of(app, "refs/heads/elsewhere"))
            task = approved(app, {f"f{number}.py": "x = 1\n"})
            before = sha_of(app, "refs/heads/main")
            chance.choice(MOVES)(app, task)
            try_merge(app, task, chance.choice(["merge", "squash", "rebase"]))
            assert sha_of(app, "refs/heads/main") == before
            assert app.store.task(app.key, task.id).status is not Status.COMPLETED
            for ref in (f"refs/heads/{task.branch}",):
                app.repo.user_git("update-ref", "--no-deref", "-d", ref)


class Interposed:
    """Does something right before the n-th git process, and knows which call that was."""

    def __init__(self, at: int, act: Callable[[], None]) -> None:
        self.at, self.act, self.count = at, act, 0
        self.landed_at: int | None = None
        self.real = door.capture

    def __call__(self, argv: Any, **more: Any) -> Any:
        self.count += 1
        if self.count == self.at:
            self.at = -1
            self.act()
        words = [os.fsdecode(word) for word in argv]
        if ("update-ref" in words and "--stdin" in words) or "--ff-only" in words:
            self.landed_at = self.count
        return self.real(argv, **more)


@pytest.mark.long
@pytest.mark.parametrize("checked_out", [False, True])
def test_a_branch_that_moves_before_any_step_of_the_merge(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, checked_out: bool
) -> None:
    """Whatever the moment: the target gets the approved commit or nothing; and nothing once the swap can see it."""
    if checked_out:
        lab.repo.git("switch", "-q", "main")
    step, number, merged = 0, 0, 0
    with app_of(lab) as app:
        put_commit(app, "refs/heads/evil", EVIL)
        start = sha_of(app, "refs/heads/main")
        while True:
            step, move = number // (3 if TORTURE else 1) + 1, (new_commit, other_commit, gone)[number % 3]
            number += 1
            task = approved(app, {f"f{number}.py": "x = 1\n"})
            before = sha_of(app, "refs/heads/main")
            with monkeypatch.context() as patch:
                between = Interposed(step, lambda task=task, move=move: _apart(patch, app, task, move))
                for module in (door, landing):
                    patch.setattr(module, "capture", between)
                report = try_merge(app, task)
            now = sha_of(app, "refs/heads/main")
            assert not evil(app)
            if now != before:
                assert is_ancestor(app.repo, str(task.commit), now)
                assert now in (task.commit,), "the approved commit and no other"
                merged += 1
                late = between.landed_at is not None and (step > between.landed_at or checked_out)
                assert late or between.count < step, "the swap itself must have seen that the branch had moved"
                lab.repo.git("reset", "-q", "--hard", start) if checked_out else app.repo.user_git(
                    "update-ref", "refs/heads/main", start
                )
            if between.count < step:
                assert report and report.landed, "with nobody in the way it is merged"
                break
    assert step > 5 and merged


def _apart(patch: pytest.MonkeyPatch, app: App, task: Task, move: Callable[[App, Task], None]) -> None:
    """The move has git calls of its own, which do not count."""
    between = door.capture
    for module in (door, landing):
        patch.setattr(module, "capture", between.real)  # type: ignore[attr-defined]
    try:
        move(app, task)
    finally:
        for module in (door, landing):
            patch.setattr(module, "capture", between)


@pytest.mark.long
@pytest.mark.attacks("race for branch and target", 25 if TORTURE else 12)
@pytest.mark.parametrize("seed", range(3, 11) if TORTURE else [3])
def test_threads_that_race_for_branch_and_target(lab: Lab, seed: int) -> None:
    """One merges, others move the branch and the target all the time."""
    chance = random.Random(seed)
    with app_of(lab) as app:
        put_commit(app, "refs/heads/evil", EVIL)
        for number in range(25 if TORTURE else 12):
            task = approved(app, {f"f{number}.py": "x = 1\n"})
            delays = [chance.uniform(0, 0.12) for _ in range(2)]

            def move_branch(task: Task = task, delay: float = delays[0]) -> None:
                time.sleep(delay)
                new_commit(app, task)

            def move_target(number: int = number, delay: float = delays[1]) -> None:
                time.sleep(delay)
                put_commit(app, "refs/heads/main", {f"main{number}.py": "1\n"})

            threads = [threading.Thread(target=work) for work in (move_branch, move_target)]
            for thread in threads:
                thread.start()
            try_merge(app, task)
            for thread in threads:
                thread.join()
            assert not evil(app)
            main = sha_of(app, "refs/heads/main")
            done = app.store.task(app.key, task.id).status is Status.COMPLETED
            told = app.store.events(app.key, task=task.id, types=["task.merged"])
            # a move of the target that was not by compare-and-swap may have undone ours: what is told is what was
            assert done == bool(told)
            assert not told or told[0].data["approved"] == task.commit
            assert is_ancestor(app.repo, str(task.commit), main) <= bool(told)

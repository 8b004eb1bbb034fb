"""What a run does before it begins, by the number of tasks that are there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.ground import Ground, ground
from bench.verified_tasks import copy_verified
from burnish.core.agent import Use
from burnish.core.status import Status
from burnish.core.task import Spec
from burnish.features.run.run import run_tasks
from burnish.features.server import registry as registry_module
from burnish.features.server.registry import ProjectRegistry
from burnish.git import integrity, refs
from burnish.git.run import calls
from burnish.runtime import open_app
from burnish.runtime.app import App
from burnish.runtime.requests import RunRequest
from burnish.store import Store
from testing.fork_server import shared_server


class Notes:
    """A watcher that remembers what was reported."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def event(self, task: Any, event: Any) -> None: ...
    def output(self, task_id: int, line: str) -> None: ...
    def spent(self, task_id: int, use: Use) -> None: ...
    def note(self, text: str) -> None:
        self.texts.append(text)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    with ground() as found:
        for name, value in found.env.items():
            monkeypatch.setenv(name, value)
        for words in (["add", "First"], ["run", "1"]):
            code, _, err = shared_server().run(["-C", str(found.repo), *words], os.environ)
            assert code == 0, err
        yield found


def count_start(app: App) -> tuple[int, int, list[str]]:
    """SQL statements, git processes and notes of a run that has nothing to do."""
    notes, before = Notes(), app.store.statements
    calls.reset()
    run_tasks(app, RunRequest(everything=True), progress=notes)
    return app.store.statements - before, calls.total, notes.texts


@pytest.mark.slow
def test_a_start_reads_the_file_of_each_ref_once(place: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_verified(place, 20)
    app = open_app(place.repo)
    count_start(app)
    read: list[str] = []
    real = refs._read_small_file

    def remember(path: str) -> bytes:
        read.append(path)
        return real(path)

    monkeypatch.setattr(refs, "_read_small_file", remember)
    count_start(app)
    branches = [path for path in read if "/refs/heads/burnish/" in path]
    assert len(branches) == len(set(branches)) == 21


@pytest.mark.slow
def test_a_server_reads_no_file_of_a_ref_again_that_did_not_change(
    place: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_verified(place, 20)
    monkeypatch.setattr(refs, "SETTLED_NANOSECONDS", 0)
    registry = ProjectRegistry.here()
    key = registry.projects()[0].key
    count_start(registry.open(key))
    read: list[str] = []
    real = refs._read_small_file

    def remember(path: str) -> bytes:
        read.append(Path(path).name)
        return real(path)

    monkeypatch.setattr(refs, "_read_small_file", remember)
    place.git("update-ref", "refs/heads/burnish/2-first", "refs/heads/burnish/3-first")
    app = registry.open(key)
    read.clear()  # pages look at the branches in their own way
    _, _, notes = count_start(app)
    registry.close()
    assert "Task 2 is no longer approved: the branch has moved" in "\n".join(notes)
    assert {name for name in read if name.endswith("-first")} == {"2-first"}


@pytest.mark.slow
def test_a_server_lists_its_branches_again_only_if_their_folder_was_changed(
    place: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refs, "SETTLED_NANOSECONDS", 0)
    registry = ProjectRegistry.here()
    key = registry.projects()[0].key
    listed: list[object] = []
    real = registry_module._names_in

    def remember(folder: Path) -> frozenset[str]:
        listed.append(folder)
        return real(folder)

    monkeypatch.setattr(registry_module, "_names_in", remember)
    for _ in range(3):
        registry.project(key)
    assert listed == []
    # after a branch was added not all are read again; if it is deleted, that is noticed
    looks: list[object] = []
    monkeypatch.setattr(registry_module, "void_lost_approvals", lambda *args: looks.append(args))
    place.git("branch", "burnish/another", "main")
    registry.project(key)
    assert (len(listed), len(looks)) == (1, 0)
    place.git("branch", "-D", "burnish/another")
    registry.project(key)
    registry.close()
    assert (len(listed), len(looks)) == (2, 1)


@pytest.mark.slow
def test_a_loose_commit_that_is_torn_is_found_among_many(place: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_verified(place, 20)
    monkeypatch.setattr(integrity, "MANY", 5)
    app = open_app(place.repo)
    count_start(app)
    branch = str(app.store.task(app.key, 9).branch)
    place.git("branch", "-f", branch, place.git("commit-tree", "-m", "x", f"{branch}^{{tree}}").strip())
    commit = place.git("rev-parse", branch).strip()
    loose = place.repo / ".git" / "objects" / commit[:2] / commit[2:]
    assert integrity.find_unreadable(app.repo, _tips(app), with_trees=True) == set()
    loose.chmod(0o644)
    loose.write_bytes(loose.read_bytes()[:-5])
    assert integrity.find_unreadable(app.repo, _tips(app), with_trees=True) == {commit}


def _tips(app: App) -> list[str]:
    return list(refs.list_refs(app.repo, "refs/heads/burnish").values())


@pytest.mark.slow
def test_more_verified_tasks_cost_no_more_statements_and_no_more_processes(place: Ground) -> None:
    app = open_app(place.repo)
    count_start(app)  # what the first start alone does
    statements, processes, _ = count_start(app)
    copy_verified(place, 20)
    assert len(app.store.tasks(app.key, statuses=(Status.VERIFIED,))) == 21
    _, _, notes = count_start(app)  # the first one compares their approvals with the events
    assert not [note for note in notes if "Task" in note]
    many_statements, many_processes, _ = count_start(app)
    assert many_statements <= statements
    assert many_processes <= processes + 1  # a pack was added: git is asked for it


@pytest.mark.slow
def test_what_changed_of_one_task_among_many_is_seen(place: Ground) -> None:
    copy_verified(place, 3)
    app = open_app(place.repo)
    repo = Path(place.repo)
    place.git("update-ref", "refs/heads/burnish/2-first", "refs/heads/burnish/3-first")
    place.git("update-ref", "-d", "refs/heads/burnish/4-first")
    app.store.edit_task(app.key, 3, {"description": "Something else."})
    _, _, notes = count_start(open_app(repo))
    text = "\n".join(notes)
    assert "Task 2 is no longer approved: the branch has moved" in text
    assert "Task 3 is no longer approved: what the task asks for has changed" in text
    assert "Task 4: " in text
    assert app.store.task(app.key, 1).status is Status.VERIFIED


def test_a_server_reads_no_branch_again_that_did_not_move(place: Ground) -> None:
    copy_verified(place, 3)
    registry = ProjectRegistry.here()
    key = registry.projects()[0].key
    with Store.open(Path(place.env["BURNISH_HOME"])) as other:
        other.add_task(key, Spec("Something happened"), max_cycles=3, auto_review=True)
        calls.reset()
        registry.project(key)
        assert calls.total == 0
        place.git("update-ref", "-d", "refs/heads/burnish/2-first")
        registry.project(key)
        statuses = {task.id: task.status for task in other.tasks(key)}
    registry.close()
    assert statuses[2] is Status.BLOCKED
    assert (statuses[1], statuses[3]) == (Status.VERIFIED, Status.VERIFIED)

"""`make projects`: a harmless change is told from a planted bug, and the table says what happened."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from testing.userrepo import UserRepo
from tools.projects import BROKEN, FIRST, Newcomer, PlantedBug, load_bugs, preparation_seconds
from tools.projects_page import BEGIN, END, ProjectResult, TaskResult, row, write

PROJECT = {
    "calc/__init__.py": "def add(a, b):\n    return a + b\n",
    "tests/test_add.py": "import unittest\n\nfrom calc import add\n\n\nclass AddTest(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n",
}
BUG = PlantedBug("calc/__init__.py", "a + b", "a - b")


def make_project(folder: Path) -> Path:
    repo = UserRepo.make(folder / "calc")
    repo.commit(PROJECT, "a project")
    return repo.path


@pytest.mark.slow
def test_a_harmless_change_is_verified_and_a_planted_bug_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BURNISH__SANDBOX__WRITE", raising=False)
    source = make_project(tmp_path)
    before = subprocess.run(["git", "status", "--porcelain"], cwd=source, capture_output=True, check=True).stdout
    newcomer = Newcomer.make(tmp_path / "work", source, BUG)
    newcomer.burnish("init")
    good, broken = newcomer.run(FIRST), newcomer.run(BROKEN)
    assert good.status == "verified", (tmp_path / "work/log.txt").read_text()
    assert broken.status == "blocked" and len(broken.new_failures) == 1
    assert not before and not (source / "burnish.yaml").exists(), "the clone that was given is not written to"


def test_a_bug_that_comes_out_verified_and_a_second_installation_are_failures() -> None:
    good = TaskResult("verified", 1.0, 0.5, set(), (), "")
    bad = TaskResult("blocked", 1.0, 0.5, set(), ("a",), "")
    trial = {"usable": True, "steps": [{"name": "test", "result": "7 tests ran, 2 failed: …", "seconds": 1.0}]}

    def result(good: TaskResult, second: TaskResult, broken: TaskResult) -> ProjectResult:
        return ProjectResult("x", "Python", {}, trial, good, second, broken)

    again = TaskResult("verified", 1.0, 30.0, {"layer"}, (), "")
    assert result(good, good, bad).good_and_bad_told_apart
    assert not result(good, good, good).good_and_bad_told_apart
    assert not result(good, again, bad).good_and_bad_told_apart and "installed again" in row(result(good, again, bad))
    assert "blocked: 1 new failure |" in row(result(good, good, bad))
    assert "| 7, 2 failed |" in row(result(good, good, bad))


def test_the_table_replaces_the_one_in_the_page(tmp_path: Path) -> None:
    page = tmp_path / "projects.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write([ProjectResult("x", "Python", {}, {"usable": False, "steps": []})], page)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text and "| x | Python |" in text


def test_every_bug_changes_something_and_the_author_is_called_after_the_preparation() -> None:
    assert all(bug.old != bug.new and bug.file for bug in load_bugs().values())
    events = [
        {"type": "run.started", "ts": "2026-01-01T00:00:00.000Z"},
        {"type": "phase.started", "ts": "2026-01-01T00:00:02.500Z"},
        {"type": "phase.started", "ts": "2026-01-01T00:00:09.000Z"},
    ]
    assert preparation_seconds(events) == 2.5 and preparation_seconds(events[:1]) is None

"""A check that looks only at uncommitted files passes on every commit, and is refused instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.checks.command_line import uncommitted_only
from testing.lab import APPROVE, Lab


@pytest.mark.parametrize(
    "command",
    [
        "pre-commit run",
        "uv run pre-commit run --show-diff-on-failure",
        "ruff check . && pre-commit run ruff",
        ("pre-commit", "run"),
        "lefthook run pre-commit",
        "npx lint-staged",
        "lint-staged --relative",
        "npx jest -o",
        "jest --ci --onlyChanged",
        "vitest run --changed",
        "pytest -q --picked",
        "git diff --name-only | xargs ruff check",
        "ruff check $(git diff --cached --name-only)",
        "git diff --staged --name-only --diff-filter=d | xargs eslint",
        "npm test",
    ],
)
def test_a_command_that_looks_only_at_uncommitted_files_is_found(tmp_path: Path, command: str) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"test": "jest --onlyChanged"}}')
    assert "only uncommitted files" in uncommitted_only(command, tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        "pre-commit run --all-files",
        "pre-commit run -a --show-diff-on-failure",
        "pre-commit run --from-ref origin/main --to-ref HEAD",
        "lefthook run pre-commit --all-files",
        "lint-staged --diff=main...HEAD",
        "eslint . && cat .lintstagedrc",
        "jest --ci",
        "jest -o --changedSince=main",
        "vitest run --changed main",
        "vitest run --changedFiles",
        "pytest --picked --mode=branch",
        "git diff --name-only main | xargs ruff check",
        "git diff --name-only HEAD~1 -- src | xargs ruff check",
        "make generate && git diff --exit-code",
        "make generate && git diff --exit-code --name-only",
        "npm test",
    ],
)
def test_a_command_that_looks_at_files_of_a_commit_is_run(tmp_path: Path, command: str) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"test": "jest", "precommit": "lint-staged"}}')
    assert uncommitted_only(command, tmp_path) == ""


def test_a_task_stops_before_an_agent_is_paid(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="checks: {test: null, lint: pre-commit run}\n")
    lab.add()
    lab.burnish("run", code=None)
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    assert "pre-commit run --all-files" in lab.show()["note"]

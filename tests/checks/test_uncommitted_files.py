"""A check that looks only at uncommitted files passes on every commit, and is refused instead."""

from __future__ import annotations

import re
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
        "git diff --name-only HEAD -- '*.py' | xargs -r ruff check",
        "git diff --cached --name-only -- '*.py' | xargs -r ruff check",
        "mypy $(git ls-files -m '*.py')",
        "git ls-files -mo --exclude-standard | xargs -r eslint",
        "darker --check .",
        "git clang-format --diff",
        "ruff check $(git diff --cached --name-only)",
        "git diff --staged --name-only --diff-filter=d | xargs eslint",
        "npx nx affected -t test --uncommitted",
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
        "git diff --name-only main -- '*.py' | xargs -r ruff check",
        "git ls-files '*.py' | xargs mypy",
        "git ls-files -co --exclude-standard | xargs shellcheck",
        'make generate && test -z "$(git diff --name-only HEAD)"',
        "darker --check --revision main .",
        "git clang-format --diff main",
        "git diff --name-only HEAD~1 -- src | xargs ruff check",
        "nx affected -t test --base=main",
        "nx run-many -t test",
        "turbo run test --filter=./packages/*",
        "turbo run test --filter=...[main]",
        "pnpm --filter ./api test",
        "make generate && git diff --exit-code",
        "make generate && git diff --exit-code --name-only",
        "npm test",
    ],
)
def test_a_command_that_looks_at_files_of_a_commit_is_run(tmp_path: Path, command: str) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"test": "jest", "precommit": "lint-staged"}}')
    assert uncommitted_only(command, tmp_path) == ""


@pytest.mark.parametrize(
    "command",
    [
        "npx turbo run test --filter=...[HEAD^1]",
        "turbo test --filter='[HEAD]'",
        "nx affected -t test --base=HEAD~1",
        "lerna run test --since HEAD~1",
        "jest --lastCommit",
        "pnpm --filter '...[HEAD~1]' test",
        "npm test",
    ],
)
def test_a_command_that_tests_only_what_the_last_commit_changed_is_found(tmp_path: Path, command: str) -> None:
    (tmp_path / "package.json").write_text(
        '{"scripts": {"test": "npm run unit", "unit": "turbo test --filter=[HEAD^1]"}}'
    )
    assert "several commits" in uncommitted_only(command, tmp_path)


def test_a_task_stops_before_an_agent_is_paid(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="checks: {test: null, lint: pre-commit run}\n")
    lab.add()
    lab.burnish("run", code=None)
    assert lab.task()["error"] == "CHECK_ERROR" and not lab.calls()
    assert "pre-commit run --all-files" in lab.show()["note"]


@pytest.mark.parametrize(
    ("command", "name", "text"),
    [
        ("npm test", "package.json", '{"scripts": {"test": "npm run lint && npm run unit", "unit": "jest -o"}}'),
        ("make test", "Makefile", "test: unit\n\techo done\nunit:\n\tnpx vitest run --changed\n"),
        ("sh scripts/test.sh", "scripts/test.sh", "set -e\npytest --picked\n"),
        ("./test.sh", "test.sh", "npx jest --onlyChanged\n"),
    ],
)
def test_a_command_behind_a_script_is_found(tmp_path: Path, command: str, name: str, text: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert "uncommitted files" in uncommitted_only(command, tmp_path)
    whole = re.sub(r" (?:-o|--changed|--picked|--onlyChanged)\b", "", text)
    (tmp_path / name).write_text(whole + '# pre-commit run; test -z "$(git diff --name-only)"\n' * name.endswith(".sh"))
    assert not uncommitted_only(command, tmp_path)


def test_a_script_that_the_command_does_not_start_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"test": "npm run lint && jest", "quick": "jest -o"}}')
    (tmp_path / "Makefile").write_text("test:\n\tnpm test\nquick:\n\tjest -o\n")
    assert not uncommitted_only("npm test", tmp_path) and not uncommitted_only("make test", tmp_path)

"""Checks of one part of a repository: `cwd` and `paths`."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.policy import CheckSpec
from testing.lab import APPROVE, Lab

pytestmark = pytest.mark.usefixtures("lean_pytest")

TEST = "from app import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
PARTS = {
    "api/app.py": "def add(a, b):\n    return a + b\n",
    "api/tests/test_add.py": TEST,
    "web/index.js": "export {}\n",
}


def lab_with(tmp_path: Path, checks: str, *, author: str) -> Lab:
    lab = Lab.make(tmp_path, author=author, judge=APPROVE)
    lab.repo.commit(PARTS)
    lab.settle(f"checks: {{test: null, lint: null, extra: {{{checks}}}}}\n")
    lab.agent("judge", "print(verdict('approved', inspected=['app.py', 'api/app.py', 'web/index.js']))")
    lab.add()
    return lab


def test_a_check_whose_paths_are_not_touched_is_not_run_and_that_is_said(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    checks = f"api: {{run: 'echo api >> {ran}', paths: [api/**]}}, web: {{run: 'echo web >> {ran}', paths: [web/]}}"
    lab = lab_with(tmp_path, checks, author="pathlib.Path('web/index.js').write_text('export const a = 1\\n')")
    told = lab.burnish("run")
    assert lab.task()["status"] == "verified"
    assert ran.read_text().split() == ["web", "web"]  # the base and the change
    assert "Check api: not run: no changed file matches api/**" in told.err
    assert "check api: not run: no changed file matches api/**" in lab.burnish("show", "1").out
    by_name = {check["name"]: check for check in lab.show()["cycles"][0]["checks"]}
    assert (by_name["api"]["status"], by_name["web"]["status"]) == ("not_run", "passed")


@pytest.mark.parametrize(
    ("cwd", "paths", "runs"),
    [
        ("web", ("src/**",), True),
        ("web/", ("./src/",), True),
        ("", ("src/**",), False),
        ("api", ("src/**",), False),
        ("web", ("web/src/**",), True),
        ("web", ("test/**",), False),
        ("web", (), True),
    ],
)
def test_paths_from_the_folder_of_a_check_count_as_well(cwd: str, paths: tuple[str, ...], runs: bool) -> None:
    assert CheckSpec("test", "npm test", cwd=cwd, paths=paths).concerns({"web/src/a.js"}) is runs


@pytest.mark.long
def test_a_check_runs_in_its_folder_and_its_findings_name_the_file_from_the_root(tmp_path: Path) -> None:
    run = "PYTHONPATH=. python3 -m pytest -q -p no:cacheprovider"
    author = "pathlib.Path('api/app.py').write_text('def add(a, b):\\n    return a - b\\n')"
    lab = lab_with(tmp_path, f"api: {{run: '{run}', cwd: api, paths: [api/**]}}", author=author)
    lab.burnish("run", code=1)
    finding = lab.show()["findings"][0]
    assert "test_add" in finding["title"] and finding["file"] == "api/tests/test_add.py"


def test_a_folder_that_does_not_exist_stops_before_the_agent(tmp_path: Path) -> None:
    lab = lab_with(tmp_path, "gone: {run: 'true', cwd: nowhere}", author="pass")
    assert "The folder nowhere does not exist" in lab.burnish("run", code=3).out
    assert lab.calls() == []


@pytest.mark.long
def test_an_environment_of_the_folder_comes_first_on_the_path(tmp_path: Path) -> None:
    tool = "api/.venv/bin/own-tool"
    setup = f'mkdir -p api/.venv/bin; printf "#!/bin/sh\\nexit 0\\n" > {tool}; chmod +x {tool}'
    lab = lab_with(tmp_path, "own: {run: own-tool, cwd: api}", author="app.write_text('x = 1\\n')")
    lab.repo.commit({".gitignore": ".venv/\n"})
    lab.settle(f"{lab.extra}workspace: {{setup: '{setup}'}}\n")
    lab.burnish("run")
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_a_change_outside_of_the_paths_of_all_tests_has_the_note_that_none_was_run(tmp_path: Path) -> None:
    author = "pathlib.Path('web/index.js').write_text('export const a = 1\\n')"
    lab = lab_with(tmp_path, "api-test: {run: 'true', paths: [api/**]}", author=author)
    printed = lab.burnish("run").err
    assert "No test was run: no changed file is in the paths of api-test." in printed
    assert "No tests are configured" not in printed
    assert "No test was run" in lab.burnish("show", "1").out
    assert "No test was run" in lab.burnish("show", "review-cycle://1/review-cycle-1.md").out
    merged = lab.burnish("merge", "1", "--json").json["merged"][0]
    assert merged["untested"] == "No test was run: no changed file is in the paths of api-test."

"""Tests that pass in a retry, packed copies, printed differences and a committed cache: none of them hides a bug."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.checks.environment import check_environment
from burnish.checks.lines import failure_lines, retried_tests
from burnish.checks.placement import Placement
from burnish.checks.run import run_checks
from burnish.checks.runners import prepare
from burnish.core.check import CheckReport, CheckStatus, TestFailure, compare
from burnish.core.policy import CheckSpec
from burnish.core.review_checks import has_archives, packed_copies
from testing.edits import change_between

# -- retries --------------------------------------------------------------------------------------

# Recorded with pytest 9.2 and pytest-rerunfailures 16.7.
QUIET = "R...                                                                     [100%]\n3 passed, 1 rerun in 0.08s\n"
WITH_NAMES = (
    "R...                                                                     [100%]\n"
    "=========================== rerun test summary info ============================\n"
    "RERUN test_a.py::test_chance\nPASSED test_a.py::test_chance\n3 passed, 1 rerun in 0.06s\n"
)
LONG = (
    "test_a.py::test_chance RERUN                                             [ 33%]\n"
    "test_a.py::test_chance PASSED                                            [ 33%]\n"
    "test_a.py::test_bug PASSED                                               [ 66%]\n"
    "========================== 3 passed, 1 rerun in 0.07s ==========================\n"
)
FAILED = (
    ".RRF.                                                                    [100%]\n"
    "RERUN test_a.py::test_bug\nRERUN test_a.py::test_bug\nFAILED test_a.py::test_bug\n"
    "1 failed, 2 passed, 2 rerun in 0.08s\n"
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (QUIET, ("1 rerun",)),
        (WITH_NAMES, ("test_a.py::test_chance",)),
        (LONG, ("test_a.py::test_chance",)),
        ("4 passed in 0.10s\n", ()),
        ("# tests 3\n# pass 3\n", ()),
    ],
)
def test_the_retries_that_pytest_prints_are_read(text: str, names: tuple[str, ...]) -> None:
    assert retried_tests(text) == names


PASSED = CheckReport("test", "pytest -q", CheckStatus.PASSED, 0)


def test_a_test_that_needs_a_retry_since_the_change_is_named() -> None:
    now = replace(PASSED, retried=retried_tests(WITH_NAMES))
    assert compare(now, PASSED).retried_note == (
        "Flaky: tests of test passed only because failed tests run again, and did not need that on the base: "
        "test_a.py::test_chance."
    )
    assert not compare(now, now).retried_note, "it was flaky before"


def test_a_number_of_retries_on_the_base_stands_for_as_many_tests() -> None:
    base = replace(PASSED, retried=retried_tests(QUIET))
    now = replace(PASSED, retried=("test_a.py::test_a",))
    assert not compare(now, base).retried_note
    assert compare(replace(now, retried=("test_a.py::test_a", "test_a.py::test_b")), base).retried_note


@pytest.mark.parametrize(
    ("command", "settings", "option"),
    [
        ("pytest --reruns 2", "", "-rfER"),
        ("pytest -q", "[pytest]\naddopts = -ra --reruns=2\n", "-raR"),
        ("pytest -q", "[pytest]\naddopts = -ra\n", ""),
        ("pytest --reruns 2 -rA", "", ""),
    ],
)
def test_pytest_names_the_tests_that_the_project_runs_again(
    tmp_path: Path, command: str, settings: str, option: str
) -> None:
    (tmp_path / "pytest.ini").write_text(settings)
    ready = prepare(CheckSpec("test", command), report_dir=tmp_path, env={}, root=tmp_path)
    options = ready.argv[-1].partition("--continue-on-collection-errors")[2]
    assert options == f" {option}{command[6:]}".replace("  ", " ")


@pytest.mark.parametrize("text", [FAILED, "1 failed, 2 passed, 2 rerun in 0.08s\n"])
def test_a_test_that_fails_in_every_retry_did_not_pass(text: str) -> None:
    bug = TestFailure("test_a.py::test_bug", "failed", "assert 1 == 2")
    now = replace(PASSED, status=CheckStatus.FAILED, failures=(bug,), retried=retried_tests(text))
    assert not compare(now, PASSED).retried_note


# -- differences ----------------------------------------------------------------------------------


@pytest.mark.skipif(not shutil.which("diff"), reason="needs diff and cmp")
@pytest.mark.parametrize("program", ["diff", "diff -u", "diff -c", "diff -q", "cmp"])
def test_a_difference_that_a_script_only_prints_is_a_failure(tmp_path: Path, program: str) -> None:
    (tmp_path / "expected").write_text("3\n")
    (tmp_path / "out").write_text("-1\n")
    command = [*program.split(), "expected", "out"]
    text = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert failure_lines(text, with_words=False), text


# -- packed copies --------------------------------------------------------------------------------

SOURCE = "exports.add = (a, b) => a + b;\n"


def notes(files: dict[str, str], change: Mapping[str, str], archive: str) -> tuple[str, ...]:
    paths = [*files, archive]
    assert has_archives(paths)

    def read(names: list[str]) -> dict[str, bytes | None]:
        return {name: files[name].encode() for name in names}

    return packed_copies(change_between(files, {**files, **change}), paths, read)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("npm"), reason="needs npm")
@pytest.mark.parametrize("name", ["calc", "@acme/calc"])
def test_a_package_that_npm_packed_and_the_change_does_not_pack_again_is_named(tmp_path: Path, name: str) -> None:
    manifest = f'{{"name":"{name}","version":"1.2.0-beta.1","main":"index.js"}}'
    (tmp_path / "package.json").write_text(manifest)
    (tmp_path / "index.js").write_text(SOURCE)
    subprocess.run(["npm", "pack", "--offline", "--silent"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    (archive,) = (path.name for path in tmp_path.glob("*.tgz"))
    files = {"lib/package.json": manifest, "lib/index.js": SOURCE}
    (note,) = notes(files, {"lib/index.js": SOURCE.replace("+", "-")}, f"vendor/{archive}")
    assert note.startswith(f"vendor/{archive} is a packed copy of a package of this repository")


@pytest.mark.parametrize(
    ("manifest", "text", "archive"),
    [
        ("pyproject.toml", "[project]\nname = 'my-calc'\n", "dist/my_calc-1.0-py3-none-any.whl"),
        ("Cargo.toml", '[package]\nname = "calc"\n', "calc-0.1.0.crate"),
    ],
)
def test_archives_of_other_languages_are_known(manifest: str, text: str, archive: str) -> None:
    assert notes({manifest: text, "calc.src": "a\n"}, {"calc.src": "b\n"}, archive)


def test_archives_of_untouched_and_of_foreign_packages_get_no_note() -> None:
    files = {
        "a/package.json": '{"name": "a"}',
        "a/index.js": SOURCE,
        "b/package.json": '{"name": "b"}',
        "b/index.js": SOURCE,
        "a/test/a.test.js": "test('a', f);\n",
    }
    edit = {"b/index.js": SOURCE + "// more\n"}
    assert not notes(files, edit, "a-1.0.0.tgz")
    assert not notes(files, edit, "lodash-4.17.21.tgz")
    assert not notes(files, {"a/test/a.test.js": "test('b', f);\n"}, "a-1.0.0.tgz")
    assert notes(files, edit, "b-1.0.0.tgz")


# -- the cache of pytest --------------------------------------------------------------------------

TESTS = {
    "test_a.py": "def test_a():\n    pass\n\n\ndef test_b():\n    assert False\n",
    ".pytest_cache/v/cache/lastfailed": '{"test_a.py::test_a": true}',
}


def run_pytest(root: Path, options: str, settings: str = "[pytest]\n") -> CheckReport:
    for name, text in {**TESTS, "pytest.ini": settings}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    spec = CheckSpec("test", f"{sys.executable} -m pytest -q {options}")
    # without the options of other tests, which switch the cache off
    env = check_environment(os.environ, extra={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    (report,) = run_checks([spec], place=Placement.plain(root), out_dir=root.parent / "out", env=env)
    return report


@pytest.mark.slow
def test_a_committed_cache_does_not_choose_the_tests_that_run(tmp_path: Path) -> None:
    report = run_pytest(tmp_path / "work", "--lf")
    assert [failure.name for failure in report.failures] == ["test_a.py::test_b"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("-p no:cacheprovider --strict-config", "[pytest]\n"),
        ("--strict-config", "[pytest]\naddopts = -p no:cacheprovider\n"),
    ],
)
def test_where_pytest_has_no_cache_a_committed_one_changes_nothing(tmp_path: Path, options: str, settings: str) -> None:
    report = run_pytest(tmp_path / "work", options, settings)
    assert [failure.name for failure in report.failures] == ["test_a.py::test_b"], report.tail

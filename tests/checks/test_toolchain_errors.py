"""A toolchain that does not start is not a failing test. The messages are those of the real programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.checks.outcome import not_started
from burnish.checks.placement import Placement

MESSAGES = {
    "rustup": "error: rustup could not choose a version of cargo to run, because one wasn't specified "
    "explicitly, and no default is configured.\nhelp: run 'rustup default stable'\n",
    "toolchain file": "error: toolchain 'nightly-2024-01-01-x86_64-unknown-linux-gnu' is not installed\n"
    "help: run `rustup toolchain install`\n",
    "go": "go: download go1.99 for linux/amd64: toolchain not available\n",
    "go local": "go: go.mod requires go >= 1.99 (running go 1.22.2; GOTOOLCHAIN=local)\n",
    "pyenv": "pyenv: version `3.9.1' is not installed (set by /tree/.python-version)\n",
    "asdf": "No version is set for command node\nConsider adding one of the following versions in your config file\n",
    "nvm": 'N/A: version "v18.2.0" is not yet installed.\n\nYou need to run `nvm install` to install and use it.\n',
    "Maven": "The JAVA_HOME environment variable is not defined correctly,\nthis environment variable is needed\n",
    "Gradle": "\nERROR: JAVA_HOME is set to an invalid directory: /opt/jdk\n\nPlease set the JAVA_HOME variable\n",
    "make": "sh: 1: cargo: not found\nmake: *** [Makefile:2: test] Error 127\n",
    "a dependency of Node": "Error: Cannot find module 'chai'\n    at Object.<anonymous> (/tree/test/a.js:1:15)\n",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_toolchain_that_does_not_start_is_told_from_failing_tests(tmp_path: Path, name: str) -> None:
    why = not_started(MESSAGES[name], 2, runner="", place=Placement.plain(tmp_path))
    assert why.startswith("A program that it needs does not start: ")
    assert why.partition(": ")[2] in MESSAGES[name]


def test_a_known_runner_that_reports_no_test_did_not_run_them(tmp_path: Path) -> None:
    place, printed = Placement.plain(tmp_path), "panic: no license\n"
    assert not_started(printed, 1, runner="cargo test", place=place)
    assert not_started(printed, 1, runner="", place=place) == ""  # the exit code is all that such a command has
    assert not_started(printed, 0, runner="cargo test", place=place) == ""


@pytest.mark.parametrize(
    "printed",
    [
        "error[E0425]: cannot find value `x`\n --> src/lib.rs:2:5\n",
        "[ERROR] {tree}/src/lib.rs:[3,5] ';' expected\n",
        "No test files found, exiting with code 1\n",
    ],
)
def test_sources_that_do_not_compile_and_suites_without_tests_may_be_the_task(tmp_path: Path, printed: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/lib.rs").write_text("")
    printed = printed.replace("{tree}", str(tmp_path))
    assert not_started(printed, 101, runner="cargo test", place=Placement.plain(tmp_path)) == ""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.checks.runners import prepare
from burnish.core.policy import CheckSpec

HERE = Path("/out/it is/report")
OPTIONS = "'--junitxml=/out/it is/report/burnish-junit.xml' -o junit_family=xunit1 --continue-on-collection-errors"
ENV = {"PATH": "/nowhere"}


@pytest.mark.parametrize(
    ("command", "becomes"),
    [
        ("pytest", f"pytest {OPTIONS}"),
        ("pytest -q tests", f"pytest {OPTIONS} -q tests"),
        ("X=1 .venv/bin/pytest -- a", f"X=1 .venv/bin/pytest {OPTIONS} -- a"),
        ("python3.12 -m pytest -k 'a;b'", f"python3.12 -m pytest {OPTIONS} -k 'a;b'"),
        ("python -B -m pytest", f"python -B -m pytest {OPTIONS}"),
        ("cd a && pytest", f"cd a && pytest {OPTIONS}"),
        ("uv run --no-sync pytest", f"uv run --no-sync pytest {OPTIONS}"),
        ("uv run --no-sync python -m pytest -q", f"uv run --no-sync python -m pytest {OPTIONS} -q"),
        ("poetry run python -m pytest a", f"poetry run python -m pytest {OPTIONS} a"),
        ("pytest && echo pytest", f"pytest {OPTIONS} && echo pytest"),
    ],
)
def test_a_pytest_in_a_shell_is_told_to_write_a_report(command: str, becomes: str) -> None:
    ready = prepare(CheckSpec("test", command), report_dir=HERE, env=ENV)
    assert ready.argv == ("/bin/sh", "-c", becomes)
    assert "PYTEST_ADDOPTS" not in ready.env


@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "pytest-3 -q",
        "echo pytest",
        "X=$(date) pytest",
        "(pytest)",
    ],
)
def test_any_other_command_stays_as_it_is(command: str) -> None:
    ready = prepare(CheckSpec("test", command), report_dir=HERE, env={**ENV, "PYTEST_ADDOPTS": "-x"})
    assert ready.argv == ("/bin/sh", "-c", command)
    assert ready.env["PYTEST_ADDOPTS"] == f"-x {OPTIONS}"


def test_a_list_gets_its_options_as_words() -> None:
    ready = prepare(CheckSpec("test", ("/v/bin/python3", "-m", "pytest", "-q")), report_dir=HERE, env=ENV)
    assert ready.argv[3:] == (
        f"--junitxml={HERE}/burnish-junit.xml",
        "-o",
        "junit_family=xunit1",
        "--continue-on-collection-errors",
        "-q",
    )


def test_a_person_who_asked_for_a_report_gets_that_one() -> None:
    spec = CheckSpec("test", "pytest --junitxml={report_dir}/mine.xml", report="junit", report_file="mine.xml")
    ready = prepare(spec, report_dir=HERE, env=ENV)
    assert ready.argv[2] == "pytest --junitxml='/out/it is/report'/mine.xml"
    assert (ready.report_file, ready.promised) == ("mine.xml", True)


def test_a_report_somewhere_else_is_left_alone() -> None:
    ready = prepare(CheckSpec("test", "pytest --junit-xml=/tmp/x.xml"), report_dir=HERE, env=ENV)
    assert (ready.argv[2], ready.report) == ("pytest --junit-xml=/tmp/x.xml", None)


def test_python3_stands_in_where_there_is_no_python(tmp_path: Path) -> None:
    (tmp_path / "python3").touch(0o755)
    ready = prepare(CheckSpec("test", ("python", "-m", "pytest")), report_dir=HERE, env={"PATH": str(tmp_path)})
    assert ready.argv[0] == "python3"


def test_the_ruff_that_comes_with_burnish_stands_in_for_a_missing_one() -> None:
    ready = prepare(CheckSpec("lint", ("ruff", "check")), report_dir=HERE, env=ENV)
    assert Path(ready.argv[0]).is_file()

"""The report of what tests imported: tests can write it, so it is read with care."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.checks.import_report import imported_elsewhere, with_import_report
from burnish.core.policy import CheckSpec


def test_a_python_path_of_the_user_comes_before_the_plugin(tmp_path: Path) -> None:
    env = with_import_report(CheckSpec("test", "make test"), tmp_path, {"PYTHONPATH": "src"})
    assert env["PYTHONPATH"].split(":") == ["src", str(tmp_path / "imports")]


def test_a_check_that_runs_no_tests_gets_no_plugin(tmp_path: Path) -> None:
    assert with_import_report(CheckSpec("lint", "ruff check"), tmp_path, {"A": "1"}) == {"A": "1"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"calc": 1}', "[" * 100_000, '{"other": "/elsewhere/other.py"}'])
def test_a_damaged_report_says_nothing(tmp_path: Path, text: str) -> None:
    tree, report = tmp_path / "tree", tmp_path / "report" / "imports"
    (tree / "calc").mkdir(parents=True)
    (tree / "calc" / "__init__.py").touch()
    report.mkdir(parents=True)
    (report / "1.json").write_text(text)
    assert imported_elsewhere(report.parent, tree, "", tree) == ""
    (report / "2.json").write_text('{"calc": "/elsewhere/calc/__init__.py"}')
    assert "/elsewhere/calc" in imported_elsewhere(report.parent, tree, "", tree)

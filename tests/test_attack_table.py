"""`make torture` ends with one table: each kind of attack, how often it was tried, how often it succeeded."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from testing.reliability_table import BEGIN, END

ROOT = Path(__file__).parents[1]
COUNTING = """
import pytest

@pytest.mark.attacks("marked", 50)
@pytest.mark.parametrize("good", [True, False])
def test_marked(good):
    assert good

@pytest.mark.attacks("left out", 5)
def test_skipped():
    pytest.skip("long")

def test_counted(count_attacks):
    count_attacks("counted", 7, 0)
    count_attacks("counted", 3, 2)
"""


def run_torture(folder: Path, *options: str) -> list[str]:
    (folder / "test_it.py").write_text(COUNTING)
    for name in ("tests/conftest.py", "pyproject.toml"):
        (folder / Path(name).name).write_text((ROOT / name).read_text())
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "test_it.py"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "BURNISH_TORTURE": "1"}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=110, check=False)
    lines = done.stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("attack "))
    return [" ".join(line.split()) for line in lines[start : start + 4]]


@pytest.mark.slow
def test_the_run_writes_the_table_into_the_docs_and_keeps_what_it_did_not_count(tmp_path: Path) -> None:
    docs = tmp_path / "docs" / "reliability.md"
    docs.parent.mkdir()
    rows = "| marked | 1 | 9 | 2020-01-01 |\n| not run now | 1,000 | 2 | 2020-01-01 |"
    docs.write_text(f"# Before\n\n{BEGIN}\n\n{rows}\n\n{END}\n\nAfter\n")
    run_torture(tmp_path, "-p", "no:xdist")
    today = date.today().isoformat()
    lines = docs.read_text().splitlines()
    assert lines[:3] == ["# Before", "", BEGIN] and lines[-3:] == [END, "", "After"]
    assert [line for line in lines if line.startswith("| ") and "fault" not in line] == [
        f"| counted | 10 | 2 | {today} |",
        f"| marked | 100 | 1 | {today} |",
        "| not run now | 1,000 | 2 | 2020-01-01 |",
    ]


def test_the_table_sums_what_tests_counted(tmp_path: Path) -> None:
    expected = ["attack attempts successes", "counted 10 2", "marked 100 1", "all 110 3"]
    assert run_torture(tmp_path, "-p", "no:xdist") == expected

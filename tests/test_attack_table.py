"""`make torture` ends with one table: each kind of attack, how often it was tried, how often it succeeded."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from testing.attack_counts import AttackCount, sums
from testing.reliability_table import BEGIN, END

ROOT = Path(__file__).parents[1]
COUNTING = """
import os, pytest

@pytest.mark.attacks("marked", 50)
@pytest.mark.parametrize("letter", ["a", "b"])
def test_marked(letter):
    assert letter != os.environ.get("FAILS")

@pytest.mark.attacks("left out", 5)
def test_skipped():
    pytest.skip("long")

@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_stores(database, count_attacks):
    count_attacks("counted", 7, 0)
    count_attacks("counted", 3, 0)

@pytest.mark.attacks("on a server", 4, store="PostgreSQL")
def test_server():
    pass

def test_that_counts_nothing():
    assert False
"""
TABLE = [
    "attack store attempts successes",
    "counted SQLite 10 0",
    "counted PostgreSQL 10 0",
    "marked — 100 0",
    "on a server PostgreSQL 4 0",
    "all 124 0",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with tests that count, and a page with a table from before."""
    (tmp_path / "test_it.py").write_text(COUNTING)
    # pytest keeps plugins in sets where a conftest.py is for one folder alone
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "conftest.py").write_text("")
    (tmp_path / "other" / "test_other.py").write_text("def test_no_attack(): assert False\n")
    for name in ("tests/conftest.py", "pyproject.toml"):
        (tmp_path / Path(name).name).write_text((ROOT / name).read_text())
    rows = "| marked | — | 1 | 9 | 2020-01-01 |\n| not run here | SQLite | 1,000 | 2 | 2020-01-01 |"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "reliability.md").write_text(f"# Before\n\n{BEGIN}\n\n{rows}\n\n{END}\n\nAfter\n")
    return tmp_path


def run_torture(folder: Path, *options: str, fails: str = "") -> list[str]:
    """The table with the line after it, as printed."""
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        *(options or ("-p", "no:xdist")),
        "test_it.py",
        "other",
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "BURNISH_TORTURE": "1", "FAILS": fails}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=200, check=False)
    lines = done.stdout.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith("attack ")), None)
    assert start is not None, done.stdout + done.stderr
    end = next(number for number, line in enumerate(lines) if line.startswith("all "))
    more = [line for line in lines[end + 1 :] if "did not run yet" in line]
    return [" ".join(line.split()) for line in (*lines[start : end + 1], *more)]


def page(folder: Path) -> list[str]:
    lines = (folder / "docs" / "reliability.md").read_text().splitlines()
    assert lines[:3] == ["# Before", "", BEGIN] and lines[-3:] == [END, "", "After"]
    return [line for line in lines if line.startswith("| ") and "fault" not in line]


def test_only_tests_that_count_run_and_the_table_has_a_line_for_each_store(folder: Path) -> None:
    assert run_torture(folder) == TABLE
    today = date.today().isoformat()
    assert page(folder) == [
        f"| counted | SQLite | 10 | 0 | {today} |",
        f"| counted | PostgreSQL | 10 | 0 | {today} |",
        f"| marked | — | 100 | 0 | {today} |",
        "| not run here | SQLite | 1,000 | 2 | 2020-01-01 |",
        f"| on a server | PostgreSQL | 4 | 0 | {today} |",
    ]


@pytest.mark.slow
def test_parts_add_up_to_one_table_and_the_last_one_writes_the_page(folder: Path) -> None:
    before = page(folder)
    parts = [run_torture(folder, "-n", "2", "--part", f"{part}/3") for part in (1, 2, 3)]
    assert "did not run yet" in parts[0][-1] and "did not run yet" in parts[1][-1]
    assert parts[2] == TABLE
    assert page(folder) != before


@pytest.mark.slow
def test_a_run_that_goes_on_runs_what_failed_or_is_missing(folder: Path) -> None:
    before = page(folder)
    said = run_torture(folder, fails="b")
    assert "marked — 100 1" in said
    assert said[-1].startswith("1 tests failed and 0 did not run yet")
    assert page(folder) == before, "it would not tell of a test that failed before it counted"
    records = folder / "build" / "torture.jsonl"
    kept = [line for line in records.read_text().splitlines() if "test_server" not in line]
    records.write_text("\n".join((*kept, '{"test": "cut in the mid')) + "\n")
    assert run_torture(folder, "-n", "2", "--go-on") == TABLE
    new = records.read_text().splitlines()[len(kept) + 1 :]
    assert sorted(line.split("::")[1].split('"')[0] for line in new) == ["test_marked[b]", "test_server"]
    assert page(folder) != before


def test_a_test_without_a_store_counts_for_sqlite_if_others_of_its_kind_use_both() -> None:
    counts = [AttackCount("a", "—", 1, 0), AttackCount("a", "PostgreSQL", 2, 1), AttackCount("b", "—", 3, 0)]
    assert sums(counts) == [
        AttackCount("a", "SQLite", 1, 0),
        AttackCount("a", "PostgreSQL", 2, 1),
        AttackCount("b", "—", 3, 0),
    ]

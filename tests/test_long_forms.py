"""`make test` runs each promise once; the rest of a table, and what is long, is left to the long form."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFTEST = """
from testing.long_forms import MARKERS, deselect_long
def pytest_configure(config):
    for line in MARKERS:
        config.addinivalue_line("markers", line)
def pytest_collection_modifyitems(config, items):
    deselect_long(config, items)
"""
TESTS = """
import pytest
@pytest.mark.long
def test_long(): pass
@pytest.mark.representatives(2)
@pytest.mark.parametrize("letter", ["a", "b", "c"])
def test_table(letter): pass
def test_short(): pass
"""


def collected(folder: Path, text: str, *argv: str, **env: str) -> tuple[set[str], str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(text)
    words = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider", "--collect-only", "-q", *argv]
    settings = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    ended = subprocess.run(words, cwd=folder, env=settings, capture_output=True, text=True, timeout=120, check=False)
    names = {line.partition("::")[2] for line in ended.stdout.splitlines() if "::" in line}
    return names, ended.stdout + ended.stderr


ALL = {"test_long", "test_table[a]", "test_table[b]", "test_table[c]", "test_short"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv, env, expected",
    [
        ((), {}, {"test_table[a]", "test_table[c]", "test_short"}),
        ((), {"BURNISH_LONG": "1"}, ALL),
        ((), {"BURNISH_TORTURE": "1"}, ALL),
        (("test_it.py::test_long",), {}, {"test_long"}),
    ],
)
def test_which_tests_run(tmp_path: Path, argv: tuple[str, ...], env: dict[str, str], expected: set[str]) -> None:
    names, text = collected(tmp_path, TESTS, *argv, **env)
    assert names == expected, text

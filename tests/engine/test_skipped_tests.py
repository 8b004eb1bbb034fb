"""Tests that are skipped in a check are shown wherever its result is."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.features.decide.decisions import gate_view_of
from burnish.runtime.app import App
from testing.lab import APPROVE, Lab

pytestmark = pytest.mark.usefixtures("lean_pytest")

TEST = "import pytest\n\n\ndef test_a(): ...\n\n\n@pytest.mark.skipif('True', reason='slow')\ndef test_b(): ...\n"


@pytest.mark.slow
def test_run_show_and_the_gate_tell_how_many_tests_were_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab.make(tmp_path, author="app.write_text('x = 1\\n')", judge=APPROVE)
    lab.repo.commit({"test_app.py": TEST})
    lab.settle("checks: {test: python3 -m pytest -q -p no:cacheprovider, lint: null}\n")
    lab.add()
    assert "Check test: passed, 1 passed, 1 skipped" in lab.burnish("run").err
    assert "check test: passed (1 passed, 1 skipped)" in lab.burnish("show", "1").out
    assert lab.show()["cycles"][0]["checks"][0]["counts"]["skipped"] == 1
    for name, value in lab.env.items():
        monkeypatch.setenv(name, value)
    view = gate_view_of(App.open(lab.repo.path, flags={}), 1)
    assert view.warnings == (
        "Not all tests of app.py were run: test_app.py (1 of 2 tests were skipped: slow).",
        "Check test: 1 of 2 tests were skipped.",
    )

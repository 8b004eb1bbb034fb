"""An approval without any tests must not look like one with tests."""

from __future__ import annotations

from pathlib import Path

from testing.lab import APPROVE, Lab


def test_that_nothing_was_tested_is_said_while_it_runs_in_the_story_and_in_the_artifact(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add()
    assert "nothing was tested" in lab.burnish("run").err
    assert "nothing was tested" in lab.burnish("show", "1").out
    assert "nothing was tested" in lab.burnish("show", "review-cycle://1/review-cycle-1.md").out


def test_where_tests_ran_nothing_is_said(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="checks: {test: 'true', lint: null}")
    lab.add()
    assert "nothing was tested" not in lab.burnish("run").err
    assert "nothing was tested" not in lab.burnish("show", "1").out

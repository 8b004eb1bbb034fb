"""An approval without tests, a damaged review, a wrong word in a prompt: each is said aloud."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab


def test_that_nothing_was_tested_is_said_while_it_runs_in_the_story_and_in_the_artifact(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add()
    assert "nothing was tested" in lab.burnish("run").err
    assert "nothing was tested" in lab.burnish("show", "1").out
    assert "nothing was tested" in lab.burnish("show", "review-cycle://1/review-cycle-1.md").out


@pytest.mark.long
def test_where_tests_ran_nothing_is_said(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, extra="checks: {test: 'true', lint: null}")
    lab.add()
    assert "nothing was tested" not in lab.burnish("run").err
    assert "nothing was tested" not in lab.burnish("show", "1").out


@pytest.mark.long
def test_a_damaged_review_is_named_and_each_cycle_says_what_it_raised_and_settled(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add()
    lab.burnish("run")
    story = lab.burnish("show", "1").out
    assert "raised    F1" in story and "resolved  F1" in story
    kept = next((tmp_path / "home" / "burnish" / "projects").glob("*/tasks/*/artifacts/review-cycle-1.md"))
    kept.write_text(kept.read_text().replace("---", "--", 1))
    said = lab.burnish("show", "review-cycle://1/review-cycle-1.md")
    assert "review-cycle-1.md is damaged" in said.err


def test_an_unknown_word_in_single_braces_is_refused_before_anything_is_paid_for(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    (lab.repo.path / ".burnish" / "prompts").mkdir(parents=True)
    (lab.repo.path / ".burnish" / "prompts" / "review.template.md").write_text("T {nonsense} {title} {gitDiff}\n")
    lab.trust()
    lab.add()
    assert "nonsense" in lab.burnish("run", code=2).err
    assert lab.calls() == []

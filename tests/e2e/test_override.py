"""Forward against a rejection: what is asked, what is kept, and where it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.review.artifact import parse_artifact
from testing.byhand import ADDS_A_LINE, SEES_BOTH, commit_by_hand, facts
from testing.lab import APPROVE, REJECT, Lab
from testing.terminal import terminal


def blocked(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=REJECT)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    assert lab.task()["reason"] == "max_cycles"
    return lab


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    ("flags", "category"),
    [
        (["--pre-existing"], "pre_existing"),
        (["--wrong-context", "--environmental"], "wrong_context"),
        (["--out-of-scope"], "cross_scope"),
        (["--environmental", "--explain", "the clock"], "infra"),
        (["--explain", "I know better"], "custom"),
        (["--explain", "later", "--follow-up"], "custom"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_first_yes_gives_the_category(tmp_path: Path, flags: list[str], category: str) -> None:
    lab = blocked(tmp_path)
    lab.burnish("override", "1", *flags)
    task = lab.task()
    assert (task["status"], task["final_verdict"], task["review_status"]) == ("verified", "APPROVED", "passed")
    (over,) = lab.events("override.recorded")
    assert over["data"]["category"] == category and over["data"]["by"].startswith("user:")
    assert len(lab.burnish("status", "--json").json["tasks"]) == (2 if "--follow-up" in flags else 1)


@pytest.mark.representatives(1)
@pytest.mark.parametrize("argv", [[], ["--follow-up"], ["--explain", "  "]], ids=str)
def test_without_a_reason_nothing_happens_and_it_is_told_what_to_type(tmp_path: Path, argv: list[str]) -> None:
    lab = blocked(tmp_path)
    before = facts(lab)
    said = lab.burnish("override", "1", *argv, code=2)
    assert "--explain" in said.err and "--pre-existing" in said.err
    assert facts(lab) == before


@pytest.mark.long
def test_it_is_in_the_artifact_on_the_ref_in_show_in_status_and_in_the_next_fix_prompt(tmp_path: Path) -> None:
    lab = blocked(tmp_path)
    lab.burnish("override", "1", "--pre-existing", "--explain", "it was there in 2019")
    name = "review-cycle-1.md"
    artifact = parse_artifact(lab.burnish("show", f"review-cycle://1/{name}").out, name)
    status = next(row for row in artifact.body.split("\n") if row.startswith("**Status**"))
    assert "CHANGES REQUESTED, overridden by user:" in status and "pre_existing: it was there in 2019" in status
    assert artifact.verdict == "changes_requested"
    kept = artifact.arbiter_override
    assert kept and (kept["category"], kept["explanation"]) == ("pre_existing", "it was there in 2019")
    (ref,) = lab.refs("refs/burnish/artifacts/")
    committed = lab.text(ref, f"{lab.task()['branch'].removeprefix('burnish/')}/{name}")
    assert "it was there in 2019" in committed
    shown = lab.burnish("show", "1").out
    words = "the problem was there before this task: it was there in 2019"
    assert "overridden by" in shown and words in " ".join(shown.split())
    assert "1 override" in lab.burnish("status").out and lab.task()["overrides"] == 1
    lab.agent("judge", APPROVE)
    lab.burnish("decide", "1", "fix", "-m", "one more thing")
    lab.burnish("run")
    prompt = next(c["prompt"] for c in lab.calls() if c["phase"] == "improve")
    assert "it was there in 2019" in prompt and "one more thing" in prompt


def test_an_override_is_bound_to_the_tree_and_the_judge_like_any_approval(tmp_path: Path) -> None:
    lab = blocked(tmp_path)
    lab.burnish("override", "1", "--explain", "fine", "--commit", "0" * 40, code=4)
    lab.burnish("override", "1", "--explain", "fine", "--commit", lab.task()["commit"])
    commit_by_hand(lab)
    assert lab.burnish("merge", "1", code=4)
    lab.agent("judge", SEES_BOTH)
    lab.burnish("run")
    assert lab.task()["status"] == "verified" and lab.events("approval.voided")


@pytest.mark.slow
def test_edit_done_and_decide_ask_the_same(tmp_path: Path) -> None:
    lab = blocked(tmp_path)
    lab.burnish("edit", "1", "--verdict", "APPROVED", "--environmental", "--reason", "the clock")
    assert lab.events("override.recorded")[-1]["data"]["category"] == "infra"
    lab.burnish("merge", "1")
    lab.add("Another", "--max-cycles", "1")
    lab.burnish("run", "2", code=1)
    lab.burnish("done", "2", "--out-of-scope")
    assert lab.task(2)["status"] == "completed"
    assert lab.events("override.recorded", task=2)[-1]["data"]["category"] == "cross_scope"


@pytest.mark.long
@pytest.mark.parametrize(
    "argv", [["override", "1"], ["edit", "1", "--verdict", "APPROVED"], ["done", "1"]], ids=lambda argv: argv[0]
)
def test_on_a_terminal_the_questions_are_asked(tmp_path: Path, argv: list[str]) -> None:
    lab = blocked(tmp_path)
    with terminal(lab, *argv) as screen:
        for words in ("before this task?", "wrong context?", "scope of this task?", "environment, not from the code?"):
            screen.answer("n\n", after=f"{words} [y/N] ")
        screen.answer("\n", after="a task of its own? [y/N] ")
        screen.answer("\n", after="Explain: ")
        screen.answer("because I say so\n", after="Explain: ")
        assert screen.ended() == 0, screen.plain
    (over,) = lab.events("override.recorded")
    assert (over["data"]["category"], over["data"]["explanation"]) == ("custom", "because I say so")
    assert lab.task()["status"] in ("verified", "completed")


@pytest.mark.long
def test_the_input_ends_before_the_last_question_and_nothing_has_changed(tmp_path: Path) -> None:
    lab = blocked(tmp_path)
    before = facts(lab)
    with terminal(lab, "override", "1") as screen:
        screen.answer("\x04", after="before this task? [y/N] ")
        assert screen.ended() == 2
    assert facts(lab) == before


def test_what_was_never_worked_on_cannot_be_overridden(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="print('no')", judge=REJECT)
    lab.add()
    before = facts(lab)
    lab.burnish("override", "1", "--explain", "x", code=4)
    assert facts(lab) == before
    lab.burnish("run", code=1)
    assert lab.task()["reason"] == "no_changes"
    before = facts(lab)
    lab.burnish("override", "1", "--explain", "x", code=4)
    assert facts(lab) == before

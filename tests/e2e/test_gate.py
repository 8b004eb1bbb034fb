"""The gate on a real terminal: what is shown, what each key does, and that no key means no answer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testing.byhand import ADDS_A_LINE, commit_by_hand
from testing.lab import APPROVE, CRITIC, REJECT, Lab
from testing.terminal import terminal

MENU = "[a]pprove  [r]eject  [f]ix-and-retry"
TWO = """
mild = {**flaw, "severity": "warning", "title": "A name that says nothing", "line": 2}
print(verdict("changes_requested", "one error and a wish", [flaw, mild]))
"""
RUN = ("run", "--hitl-review")


def gated(tmp_path: Path, judge: str = APPROVE, *argv: str, author: str = ADDS_A_LINE, extra: str = "") -> Lab:
    lab = Lab.make(tmp_path, author=author, judge=judge, extra=extra)
    lab.add("Add division", *argv)
    return lab


@pytest.mark.slow
def test_the_screen_shows_the_review_and_a_key_approves(tmp_path: Path) -> None:
    lab = gated(tmp_path)
    with terminal(lab, *RUN) as screen:
        screen.expect(MENU)
        screen.answer("a")
        assert screen.ended() == 0, screen.plain
    assert "═══" in screen.plain and "Review: T1 — Add division" in screen.plain
    assert "Verdict: APPROVED — good" in screen.plain and "No issues found." in screen.plain
    assert (lab.task()["status"], lab.task()["review_status"]) == ("verified", "passed")
    decided = lab.events("decision.made")[-1]["data"]
    assert (decided["choice"], decided["via"]) == ("approve", "gate")


@pytest.mark.long
def test_findings_are_shown_worst_first_and_in_colour(tmp_path: Path) -> None:
    lab = gated(tmp_path, TWO)
    with terminal(lab, *RUN) as screen:
        screen.answer("r")
        assert screen.ended() == 1
    assert "\x1b[31mERROR:\x1b[0m Zero is not handled (app.py:4)" in screen.shown
    assert (
        "2 issues found:\n  ERROR: Zero is not handled (app.py:4)\n    b may be 0\n  WARNING: A name that says nothing"
        in screen.plain
    )
    assert "Verdict: CHANGES_REQUESTED — one error and a wish" in screen.plain
    assert "Approving is an override (F1 open)" in screen.plain
    task = lab.task()
    assert (task["status"], task["reason"], task["error"]) == ("blocked", "human_rejected", "REVIEW_REJECTED")


@pytest.mark.long
def test_fix_asks_for_a_note_goes_on_at_once_and_asks_again_after_the_next_review(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=CRITIC)
    lab.add("Add division", "--max-cycles", "1")
    with terminal(lab, *RUN) as screen:
        screen.answer("f")
        screen.answer("guard it, please\n", after="Note for the fix")
        screen.expect(MENU)
        screen.answer("a")
        assert screen.ended() == 0, screen.plain
    assert "cycle 2 (max 1)" in screen.plain
    assert (lab.task()["status"], lab.task()["cycle"]) == ("verified", 2)
    assert [c["phase"] for c in lab.calls()] == ["implement", "review", "improve", "review"]
    assert "guard it, please" in lab.calls()[2]["prompt"]


@pytest.mark.long
def test_a_required_review_is_not_skipped_and_other_keys_do_nothing(tmp_path: Path) -> None:
    lab = gated(tmp_path)
    with terminal(lab, *RUN) as screen:
        screen.answer("s")
        screen.expect("cannot be skipped")
        screen.answer("x")
        screen.answer("\x1b[A", after="Press a, r or f.")
        screen.answer("a")
        assert screen.ended() == 0
    assert "[s]kip" not in screen.plain, "what would be refused is not offered"
    assert lab.task()["review_status"] == "passed"


@pytest.mark.long
def test_skip_where_the_settings_allow_it(tmp_path: Path) -> None:
    lab = gated(tmp_path, REJECT, extra="review: {agents: [judge], required: false}\n")
    with terminal(lab, *RUN) as screen:
        screen.expect(f"{MENU}  [s]kip")
        screen.answer("s")
        assert screen.ended() == 0
    assert (lab.task()["status"], lab.task()["review_status"]) == ("verified", "skipped")


@pytest.mark.long
def test_approving_against_the_review_asks_the_five_questions(tmp_path: Path) -> None:
    lab = gated(tmp_path, REJECT)
    with terminal(lab, *RUN) as screen:
        screen.answer("a")
        screen.answer("n\n", after="before this task? [y/N] ")
        screen.answer("y\n", after="wrong context? [y/N] ")
        screen.answer("y\n", after="a task of its own? [y/N] ")
        screen.answer("it looked at the old file\n", after="Explain")
        assert screen.ended() == 0, screen.plain
    (over,) = lab.events("override.recorded")
    assert (over["data"]["category"], over["data"]["follow_up"]) == ("wrong_context", "2")
    assert lab.task()["status"] == "verified"
    assert lab.task(2)["depends_on"] == ["1"] and "Zero is not handled" in lab.show(2)["description"]


@pytest.mark.long
@pytest.mark.parametrize(("keys", "code"), [("\x03", 130), ("\x04", 1)], ids=["ctrl-c", "end of input"])
def test_leaving_is_not_an_answer_and_the_gate_is_there_again(tmp_path: Path, keys: str, code: int) -> None:
    lab = gated(tmp_path)
    with terminal(lab, *RUN) as screen:
        screen.answer(keys)
        assert screen.ended() == code, screen.plain
    assert lab.task()["status"] == "waiting_approval"
    assert "Traceback" not in screen.plain and "Stopping the agents" not in screen.plain
    assert "burnish decide 1" in screen.plain
    calls = len(lab.calls())
    with terminal(lab, *RUN) as screen:
        screen.answer("a")
        assert screen.ended() == 0, screen.plain
    assert lab.task()["status"] == "verified" and len(lab.calls()) == calls


@pytest.mark.long
def test_the_input_ends_in_the_middle_of_the_questions_and_nothing_has_changed(tmp_path: Path) -> None:
    lab = gated(tmp_path, REJECT)
    with terminal(lab, *RUN) as screen:
        screen.answer("a")
        screen.answer("\x04", after="before this task? [y/N] ")
        assert screen.ended() == 1, screen.plain
    assert lab.task()["status"] == "waiting_approval" and lab.events("override.recorded") == []


@pytest.mark.slow
def test_killed_at_the_gate_it_stands_at_the_gate_and_nothing_is_paid_for_twice(tmp_path: Path) -> None:
    lab = gated(tmp_path, CRITIC, author='app.write_text(app.read_text() + "# BUG\\n")')
    with terminal(lab, *RUN) as screen:
        screen.expect(MENU)
        screen.kill()
    assert lab.task()["status"] == "waiting_approval"
    paid = lab.paid()
    with terminal(lab, *RUN) as screen:
        screen.expect("ERROR:")
        screen.answer("r")
        assert screen.ended() == 1
    assert lab.paid() == paid and max(paid.values()) == 1
    assert lab.task()["reason"] == "human_rejected"
    assert len(lab.events("gate.opened")) == 1


@pytest.mark.long
def test_an_answer_from_elsewhere_is_noticed(tmp_path: Path) -> None:
    lab = gated(tmp_path, CRITIC, author='app.write_text(app.read_text().replace("# BUG", "") + "# BUG" * (cycle < 2))')
    with terminal(lab, *RUN) as screen:
        screen.expect(MENU)
        lab.burnish("decide", "1", "fix", "-m", "from my phone")
        screen.expect(MENU)
        screen.answer("a")
        assert screen.ended() == 0, screen.plain
    assert (lab.task()["status"], lab.task()["cycle"]) == ("verified", 2)


@pytest.mark.slow
def test_a_branch_that_moves_while_the_person_reads_is_not_approved(tmp_path: Path) -> None:
    lab = gated(tmp_path)
    with terminal(lab, *RUN) as screen:
        screen.expect(MENU)
        commit_by_hand(lab)
        screen.answer("a")
        assert screen.ended() == 1
    assert "is what was reviewed" in " ".join(screen.plain.split())
    assert lab.task()["status"] == "waiting_approval"


@pytest.mark.long
@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"BURNISH_PLAIN": "1"}, {"TERM": "dumb"}], ids=str)
def test_without_colour_there_is_none(tmp_path: Path, env: dict[str, str]) -> None:
    lab = gated(tmp_path, TWO)
    with terminal(lab, *RUN, "-q", env=env) as screen:
        screen.answer("r")
        assert screen.ended() == 1
    assert "\x1b[3" not in screen.shown and "ERROR: Zero" in screen.shown
    if "BURNISH_PLAIN" in env:
        assert "═" not in screen.shown and "=====" in screen.shown


def test_what_a_review_says_cannot_steer_the_terminal(tmp_path: Path) -> None:
    evil = 'flaw["title"] = "x\\x1b]0;pwned\\x07\\x1b[2J\\u202ey"\n' + REJECT.replace("not yet", "a\\x1b[8mb")
    lab = gated(tmp_path, evil)
    with terminal(lab, *RUN) as screen:
        screen.answer("r")
        screen.ended()
    assert "\x1b]0;" not in screen.shown and "\x1b[2J" not in screen.shown and "\u202e" not in screen.shown


@pytest.mark.long
@pytest.mark.parametrize("argv", [("-j", "2"), ("--json",)], ids=str)
def test_with_several_at_once_or_for_a_program_there_is_a_warning_and_the_gate_holds(
    tmp_path: Path, argv: tuple[str, ...]
) -> None:
    lab = gated(tmp_path)
    with terminal(lab, *RUN, *argv) as screen:
        assert screen.ended() == 1
    assert "burnish cannot ask here" in screen.plain and MENU not in screen.plain
    assert lab.task()["status"] == "waiting_approval"


@pytest.mark.long
def test_the_terminal_is_given_back_as_it_was(tmp_path: Path) -> None:
    import termios

    lab = gated(tmp_path)
    with terminal(lab, *RUN) as screen:
        fd = os.open(screen.device, os.O_RDWR | os.O_NOCTTY)
        before = termios.tcgetattr(fd)
        screen.expect(MENU)
        screen.answer("a")
        screen.ended()
        assert termios.tcgetattr(fd)[:4] == before[:4]
        os.close(fd)

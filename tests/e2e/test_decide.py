"""`burnish decide`: what each answer does, and that it counts for the commit that was seen alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.byhand import ADDS_A_LINE, SEES_BOTH, commit_by_hand, facts
from testing.lab import APPROVE, REJECT, Lab
from testing.long_forms import paired


def waiting(tmp_path: Path, judge: str = REJECT, *argv: str, extra: str = "", author: str = ADDS_A_LINE) -> Lab:
    """One task at the gate, with nobody at a terminal."""
    lab = Lab.make(tmp_path, author=author, judge=judge, extra=extra)
    lab.add("Add division", *argv)
    said = lab.burnish("run", "--hitl-review", code=1)
    assert "burnish cannot ask here" in said.err
    assert lab.task()["status"] == "waiting_approval"
    return lab


@pytest.mark.long
def test_every_review_of_a_pipeline_is_put_before_a_person(tmp_path: Path) -> None:
    steps = "pipeline: [{name: security, agents: [judge]}, {name: speed, agents: [judge]}]\n"
    lab = waiting(tmp_path, APPROVE, extra=steps)
    for reviews in (1, 2):
        assert [c["phase"] for c in lab.calls()].count("review") == reviews
        said = lab.burnish("decide", "1", "approve")
        assert lab.task()["status"] == "code_review" and "burnish run 1" in said.err
        lab.burnish("run", "--hitl-review", code=1)
        assert lab.task()["status"] == "waiting_approval"
    lab.burnish("decide", "1", "approve")
    assert lab.task()["status"] == "verified" and len(lab.calls()) == 4
    assert len(lab.events("gate.opened")) == 3 and len(lab.events("review.approved")) == 2


@pytest.mark.long
def test_to_skip_the_review_is_not_to_skip_what_the_checks_found(tmp_path: Path) -> None:
    extra = "review: {agents: [judge], required: false}\nchecks: {test: '! grep implement app.py', lint: null,"
    lab = waiting(tmp_path, APPROVE, extra=f"{extra} on_failure: review}}\n")
    before = facts(lab)
    said = lab.burnish("decide", "1", "skip", code=2)
    assert "burnish decide 1 skip" in said.err and facts(lab) == before
    lab.burnish("decide", "1", "skip", "--environmental", "--explain", "no network here")
    assert (lab.task()["status"], lab.task()["review_status"]) == ("verified", "skipped")
    assert len(lab.events("override.recorded")) == 1


@pytest.mark.slow
def test_approve_accepts_what_was_reviewed_and_says_who(tmp_path: Path) -> None:
    lab = waiting(tmp_path, APPROVE)
    said = lab.burnish("decide", "1", "approve", "-m", "looks good", "--json").json
    assert (said["status"], said["final_verdict"], said["review_status"]) == ("verified", "APPROVED", "passed")
    decided = lab.events("decision.made")[-1]["data"]
    assert (decided["choice"], decided["note"], decided["via"]) == ("approve", "looks good", "cli")
    assert decided["by"].startswith("user:") and decided["commit"] == said["commit"]
    assert lab.events("override.recorded") == []
    calls = len(lab.calls())
    lab.burnish("run")
    assert lab.task()["status"] == "verified" and len(lab.calls()) == calls
    lab.burnish("merge", "1")


@pytest.mark.long
def test_the_gate_holds_before_anything_is_sent_back(tmp_path: Path) -> None:
    lab = waiting(tmp_path)
    assert [c["phase"] for c in lab.calls()] == ["implement", "review"]
    (opened,) = lab.events("gate.opened")
    assert opened["data"]["commit"] == lab.task()["commit"]
    assert lab.show(1)["cycles"][0]["phases"][-1]["phase"] == "gate"
    lab.burnish("run", "--all")
    assert len(lab.calls()) == 2 and lab.task()["status"] == "waiting_approval"


def test_reject_blocks_for_good(tmp_path: Path) -> None:
    lab = waiting(tmp_path, APPROVE)
    lab.burnish("decide", "1", "reject", "-m", "not what I meant")
    task = lab.show(1)
    assert (task["status"], task["reason"], task["error"]) == ("blocked", "human_rejected", "REVIEW_REJECTED")
    assert (task["final_verdict"], task["review_status"], task["note"]) == ("REJECTED", "rejected", "not what I meant")
    assert task["cycles"][0]["review_status"] == "rejected" and task["approval"]["valid"] is False
    for kind in ("decision.made", "review.rejected"):
        assert lab.events(kind)[-1]["data"]["commit"] == task["commit"], "it is known what was rejected"
    calls = len(lab.calls())
    lab.burnish("run", "--all")
    assert len(lab.calls()) == calls, "nothing is tried again by itself"


@pytest.mark.long
def test_what_a_person_rejected_no_reviewer_brings_forward(tmp_path: Path) -> None:
    """Asked again, without a gate: the reviewer likes it, and it waits for the person all the same."""
    lab = waiting(tmp_path, APPROVE)
    lab.burnish("decide", "1", "reject", "-m", "not like this")
    lab.burnish("review", "1", code=1)
    assert lab.task()["status"] == "waiting_approval"
    assert "needs a reason" in lab.burnish("decide", "1", "approve", code=2).err
    lab.burnish("decide", "1", "approve", "--explain", "I had read the wrong file")
    assert (lab.task()["status"], lab.task()["overrides"]) == ("verified", 1)


def test_what_a_person_rejected_stays_rejected_in_the_next_run(tmp_path: Path) -> None:
    lab = waiting(tmp_path, APPROVE)
    lab.burnish("decide", "1", "reject", "-m", "not like this")
    lab.burnish("retry", "1", "--restart", code=1)
    assert lab.task()["status"] == "waiting_approval"
    assert "a person rejected this very change" in lab.burnish("show", "1").out


def test_an_open_comment_of_a_person_goes_on_in_the_next_run(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge='print(verdict("approved", "good", prior=[]))')
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run")
    lab.burnish("comment", "1", "Handle zero", "--at", "app.py:1")
    lab.burnish("cancel", "1")
    lab.burnish("retry", "1", "--restart", "--later")
    lab.burnish("run", "1", code=1)
    assert lab.task()["status"] == "blocked"
    (finding,) = lab.show()["findings"]
    assert (finding["state"], finding["title"], finding["file"], finding["line"]) == (
        "open",
        "Handle zero",
        "app.py",
        None,
    )


@pytest.mark.slow
def test_fix_gives_one_more_improve_with_findings_and_note_even_past_the_maximum(tmp_path: Path) -> None:
    lab = waiting(tmp_path, REJECT, "--max-cycles", "1")
    lab.burnish("decide", "1", "fix", "-m", "use a guard clause")
    assert lab.task()["status"] == "in_progress"
    lab.agent("judge", APPROVE)
    lab.burnish("run")
    assert (lab.task()["status"], lab.task()["cycle"]) == ("verified", 2)
    prompt = next(c["prompt"] for c in lab.calls() if c["phase"] == "improve")
    assert "use a guard clause" in prompt and "Zero is not handled" in prompt


@pytest.mark.long
def test_fix_with_nothing_to_fix_is_refused_before_any_change(tmp_path: Path) -> None:
    lab = waiting(tmp_path, APPROVE)
    before = facts(lab)
    assert "-m" in lab.burnish("decide", "1", "fix", code=2).err
    assert facts(lab) == before


@pytest.mark.long
def test_skip_is_refused_where_the_review_is_required(tmp_path: Path) -> None:
    lab = waiting(tmp_path)
    before = facts(lab)
    assert "required" in lab.burnish("decide", "1", "skip", code=4).err
    assert facts(lab) == before
    lab.settle("review: {agents: [judge], required: false}\n")
    lab.burnish("decide", "1", "skip")
    assert (lab.task()["status"], lab.task()["review_status"]) == ("verified", "skipped")


@pytest.mark.slow
def test_approving_against_the_review_is_an_override_and_needs_a_reason(tmp_path: Path) -> None:
    lab = waiting(tmp_path)
    before = facts(lab)
    said = lab.burnish("decide", "1", "approve", "-m", "fine", code=2)
    assert "--explain" in said.err and facts(lab) == before
    lab.burnish("decide", "1", "approve", "--out-of-scope", "--explain", "zero comes later")
    assert (lab.task()["status"], lab.task()["overrides"]) == ("verified", 1)
    (over,) = lab.events("override.recorded")
    assert (over["data"]["category"], over["data"]["explanation"]) == ("cross_scope", "zero comes later")
    assert len(lab.events("review.approved")) == 1
    lab.burnish("merge", "1")


@pytest.mark.long
def test_with_the_last_blocker_waived_approving_is_no_override(tmp_path: Path) -> None:
    lab = waiting(tmp_path)
    assert "needs a reason" in lab.burnish("decide", "1", "approve", code=2).err
    lab.burnish("waive", "1", "F1", "--reason", "nobody divides by zero here")
    lab.burnish("decide", "1", "approve")
    task = lab.task()
    assert (task["status"], task["final_verdict"], task["overrides"]) == ("verified", "APPROVED", 0)


@pytest.mark.long
@pytest.mark.parametrize(
    "judge",
    [
        'print(verdict("rejected", "wrong altogether", [flaw]))',
        'print(verdict("needs_discussion", "what is meant?", [flaw]))',
        'print(verdict("changes_requested", "stop", [flaw], blocking=True))',
        'print(verdict("changes_requested", "two", [flaw, {**flaw, "title": "Another one", "line": 1}]))',
        REJECT,
    ],
)
def test_what_a_waiver_does_not_settle_is_still_overridden(tmp_path: Path, judge: str) -> None:
    # one asks for changes without having seen all of it
    unseen = "pathlib.Path('long.py').write_text('x = 1\\n' * 9000)\n" if judge is REJECT else ""
    lab = waiting(tmp_path, judge, author=unseen + ADDS_A_LINE)
    lab.burnish("waive", "1", "F1", "--reason", "it may stay")
    assert "needs a reason" in lab.burnish("decide", "1", "approve", code=2).err


@pytest.mark.slow
def test_a_decision_on_another_commit_is_refused_every_time(tmp_path: Path) -> None:
    lab = waiting(tmp_path, APPROVE)
    seen, base = lab.task()["commit"], lab.task()["base"]
    other = "0" * 40
    before = facts(lab)
    commits = (base, other, seen[:5], seen[:-1] + ("0" if seen[-1] != "0" else "1"), "main", f"{seen}0")
    for choice, wrong in paired(("approve", "reject", "fix", "skip"), commits):
        lab.burnish("decide", "1", choice, "-m", "x", "--commit", wrong, code=4)
        assert facts(lab) == before
    commit_by_hand(lab)
    before = facts(lab)
    names = ([], ["--commit", seen], ["--commit", lab.repo.git("rev-parse", lab.task()["branch"])])
    for choice, named in paired(("approve", "reject", "fix"), names):
        said = lab.burnish("decide", "1", choice, "-m", "x", *named, code=4)
        assert "is what was reviewed" in said.err and facts(lab) == before
    lab.agent("judge", SEES_BOTH)
    lab.burnish("run", "--hitl-review", code=1)
    assert (lab.task()["status"], lab.task()["cycle"]) == ("waiting_approval", 2)
    lab.burnish("decide", "1", "approve", "--commit", seen, code=4)
    lab.burnish("decide", "1", "approve", "--commit", lab.task()["commit"][:10].upper())
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_a_branch_that_moves_at_the_gate_of_a_rejection_is_judged_anew(tmp_path: Path) -> None:
    lab = waiting(tmp_path)
    commit_by_hand(lab)
    lab.agent("judge", SEES_BOTH)
    lab.burnish("run")
    assert (lab.task()["status"], lab.task()["cycle"]) == ("verified", 2)
    assert [c["phase"] for c in lab.calls()].count("improve") == 0


@pytest.mark.long
@pytest.mark.parametrize("choice", ["approve", "reject", "fix", "skip"])
def test_there_is_nothing_to_decide_on_what_was_never_worked_on_or_is_over(tmp_path: Path, choice: str) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author=ADDS_A_LINE)
    lab.add()
    before = facts(lab)
    lab.burnish("decide", "1", choice, "-m", "x", code=4)
    assert facts(lab) == before
    lab.burnish("run")
    lab.burnish("done", "1")
    before = facts(lab)
    lab.burnish("decide", "1", choice, "-m", "x", code=4)
    assert facts(lab) == before


@pytest.mark.long
def test_a_blocked_task_may_be_sent_back_but_not_simply_approved(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge="print(verdict('needs_discussion', 'which way?', [flaw]))")
    lab.add()
    lab.burnish("run", code=1)
    assert "burnish override 1" in lab.burnish("decide", "1", "approve", code=4).err
    lab.burnish("decide", "1", "reject", code=4)
    lab.burnish("decide", "1", "fix", "-m", "the short way")
    lab.agent("judge", APPROVE)
    lab.burnish("run")
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_final_asks_before_acceptance_and_before_blocking_only(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=REJECT, extra="review: {agents: [judge]}\nhitl_review: final\n")
    lab.add("Add division", "--max-cycles", "2")
    lab.burnish("run", code=1)
    assert (lab.task()["status"], lab.task()["cycle"]) == ("waiting_approval", 2)
    lab.burnish("decide", "1", "fix")
    lab.agent("judge", APPROVE)
    lab.burnish("run", code=1)
    assert (lab.task()["status"], lab.task()["cycle"]) == ("waiting_approval", 3)
    lab.burnish("decide", "1", "approve")
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_an_empty_commit_is_not_an_answer_for_whatever_is_there(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.settle("approval: required")
    lab.add()
    lab.burnish("run", code=1)
    before = facts(lab)
    assert "--commit is empty" in lab.burnish("decide", "1", "approve", "--commit", "", code=2).err
    assert facts(lab) == before


@pytest.mark.slow
def test_what_other_judges_judged_cannot_be_approved(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.settle("approval: required")
    lab.add()
    lab.burnish("run", code=1)
    lab.settle("approval: required\nchecks: {test: 'true', lint: null}")
    before = facts(lab)
    assert "have changed since" in lab.burnish("decide", "1", "approve", code=4).err
    assert facts(lab) == before

"""What a reviewer says beside its approval: in an earlier message, in a first answer, about an earlier finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testing.lab import APPROVE, REJECT, Lab
from testing.program import PROGRAM, put_on_path

NARRATION = "I cannot approve this yet. ## Critical issues: b may be 0. Let me look at the callers."
QUIET = "app.write_text(app.read_text() + f'# {phase} {cycle}\\n')"


def claude_review(
    tmp_path: Path, *, always: bool, code: int, earlier: str = "Verdict: REJECTED", result: str = "", looks: bool = True
) -> Lab:
    """A reviewer that writes a message before its approving result: in every answer, or in its first alone."""
    when = '"--json-schema" in argv' + ("" if always else ' and "could not read" not in prompt')
    parts = [{"type": "text", "text": earlier}, *([{"type": "tool_use", "name": "Read"}] if looks else [])]
    event = json.dumps({"type": "assistant", "message": {"content": parts}})
    extra = f"if {when}:\n    print({event!r})\n    result['result'] = {result!r}\n"
    text = PROGRAM.replace("  # BUG", "").replace("print(json.dumps(result))", f"{extra}print(json.dumps(result))")
    lab = Lab.make(tmp_path)
    put_on_path(lab, "", text)
    lab.add()
    lab.burnish("run", code=code)
    return lab


def test_an_approval_after_a_message_with_another_verdict_is_unreadable(tmp_path: Path) -> None:
    task = claude_review(tmp_path, always=True, code=1).show(1)
    assert (task["status"], task["reason"]) == ("blocked", "unreadable_review")
    assert "Verdict: REJECTED" in task["note"]


@pytest.mark.long
def test_what_a_reviewer_writes_while_it_works_is_not_its_verdict(tmp_path: Path) -> None:
    assert claude_review(tmp_path, always=True, code=0, earlier=NARRATION).task()["status"] == "verified"


@pytest.mark.long
def test_what_a_reviewer_writes_after_its_last_look_belongs_to_its_answer(tmp_path: Path) -> None:
    task = claude_review(tmp_path, always=True, code=1, earlier=NARRATION, looks=False).show(1)
    assert (task["status"], task["reason"]) == ("blocked", "unreadable_review")
    assert "I cannot approve this yet." in task["note"]


def test_words_beside_an_approving_object_that_reject_make_it_unreadable(tmp_path: Path) -> None:
    lab = claude_review(tmp_path, always=True, code=1, earlier="I look.", result="I cannot approve this change.")
    task = lab.show(1)
    assert (task["status"], task["reason"]) == ("blocked", "unreadable_review")
    assert "I cannot approve this change." in task["note"]


def test_the_reviewer_is_asked_once_more_with_both_messages_before_it(tmp_path: Path) -> None:
    lab = claude_review(tmp_path, always=False, code=0)
    assert lab.task()["status"] == "verified"
    prompts = [path.read_text() for path in (tmp_path / "home").rglob("prompt.md")]
    assert any("could not read" in prompt and "Verdict: REJECTED" in prompt for prompt in prompts)


@pytest.mark.long
@pytest.mark.parametrize(
    "more",
    [
        'findings=[{"category": "security", "severity": "error", "title": "Hole", "description": "d"}]',
        'prior=[{"id": "F1", "state": "open"}]',
    ],
)
def test_what_speaks_against_an_approval_is_not_lost_when_the_rest_is_asked_for(tmp_path: Path, more: str) -> None:
    judge = f"""
met = [{{"item": "it divides", "met": True}}]
if cycle == 1:
    print(verdict("changes_requested", findings=[{{"category": "code", "severity": "error", "title": "Zero",
                                                   "description": "b may be 0", "file": "app.py"}}], compliance=met))
elif "does not judge" in prompt:
    print(verdict("approved", compliance=met))
else:
    print(verdict("approved", **({{"prior": [{{"id": "F1", "state": "resolved"}}]}} | dict({more}))))
"""
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    lab.add("Add division", "--accept", "it divides", "--max-cycles", "2")
    lab.burnish("run", code=1)
    task = lab.show(1)
    assert (task["status"], task["reason"]) == ("blocked", "max_cycles"), task
    assert lab.events("review.approved") == []


@pytest.mark.long
def test_an_unsigned_approval_that_leaves_a_finding_open_asks_for_changes(tmp_path: Path) -> None:
    judge = """
if cycle == 1:
    print(verdict("changes_requested", findings=[{"category": "code", "severity": "error", "title": "Zero",
                                                  "description": "b may be 0", "file": "app.py"}]))
else:
    print("F1: open\\n\\n**Verdict: APPROVED**")
"""
    lab = Lab.make(tmp_path, author=QUIET, judge=judge, extra="review: {agents: [judge], accept_unsigned: true}\n")
    lab.add("Add division", "--max-cycles", "2")
    lab.burnish("run", code=1)
    task = lab.show(1)
    assert (task["status"], task["reason"]) == ("blocked", "max_cycles")


@pytest.mark.long
@pytest.mark.parametrize(("others", "status"), [("print('I could not look at it.')", "blocked"), (APPROVE, "verified")])
def test_a_waiver_does_not_stand_for_reviewers_that_were_never_heard(tmp_path: Path, others: str, status: str) -> None:
    panel = "review: {agents: [judge, second, third], quorum: majority, max_cycles: 1}\n"
    lab = Lab.make(tmp_path, author=QUIET, judge=REJECT)
    lab.agent("second", others)
    lab.agent("third", "print('I could not look at it.')")
    lab.settle(panel)
    lab.add()
    lab.burnish("run", code=1)
    lab.burnish("waive", "1", "F1", "--reason", "it may stay")
    lab.burnish("run", "1", code=None)
    task = lab.show(1)
    assert task["status"] == status, task
    if status == "blocked":
        assert task["reason"] == "unreadable_review" and "1 of 2 approvals" in task["note"]


@pytest.mark.long
def test_a_judgement_of_something_else_does_not_stand_for_a_criterion_that_is_named_as_not_judged(
    tmp_path: Path,
) -> None:
    entries = [{"item": "it divides", "met": True}, {"item": "zero", "met": None}, {"item": "tests pass", "met": True}]
    lab = Lab.make(tmp_path, author=QUIET, judge=f"print(verdict('approved', compliance={entries!r}))")
    lab.add("Add division", "--accept", "it divides", "--accept", "zero")
    lab.burnish("run", code=1)
    task = lab.show(1)
    assert (task["status"], task["reason"]) == ("blocked", "incomplete_review"), task
    assert "does not judge: zero" in task["note"]


def test_an_old_marker_does_not_replace_a_damaged_block_that_rejects(tmp_path: Path) -> None:
    judge = """
print("**Verdict: APPROVED**\\n\\n" + verdict("rejected").replace("}\\n```", ",}\\n```"))
"""
    lab = Lab.make(tmp_path, author=QUIET, judge=judge, extra="review: {agents: [judge], accept_unsigned: true}\n")
    lab.add()
    lab.burnish("run", code=1)
    task = lab.show(1)
    assert (task["status"], task["reason"]) == ("blocked", "unreadable_review"), task


DAMAGED = 'verdict("rejected").replace("}\\n```", ",}\\n```")'


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("first", "status"),
    [
        (DAMAGED, "blocked"),
        ('"I looked.\\n\\nVerdict: REJECTED"', "blocked"),
        ('"It is fine." + " x" * 40_000', "blocked"),
        ('"It is fine."', "verified"),
        (f'"I approve.\\n\\nVerdict: APPROVED\\n\\n" + {DAMAGED}', "verified"),
    ],
    ids=["a damaged block", "a marker", "a part of it", "plain words", "both"],
)
def test_an_approval_that_is_made_of_an_unreadable_rejection_does_not_count(
    tmp_path: Path, first: str, status: str
) -> None:
    judge = f"print(verdict('approved') if 'could not read' in prompt else {first})"
    lab = Lab.make(tmp_path, author=QUIET, judge=judge)
    lab.add()
    lab.burnish("run", code=0 if status == "verified" else 1)
    task = lab.show(1)
    assert task["status"] == status, task
    if status == "blocked":
        assert task["reason"] == "unreadable_review"

"""An author who holds a finding for wrong, and the review that rules on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab

# Says that F1 is wrong; with WORKS it changes something as well.
DISPUTER = """
def disputes(*ids):
    claims = json.dumps([{"id": i, "evidence": "b is never 0"} for i in ids])
    return "```burnish-disputes " + number + "\\n" + claims + "\\n```"
if phase == "implement" or WORKS:
    app.write_text(app.read_text() + f"# {phase} {cycle}\\n")
if phase == "improve":
    print("F1 is wrong.\\n\\n" + disputes("F1"))
"""
WORKS, ONLY_DISPUTES = f"WORKS = True\n{DISPUTER}", f"WORKS = False\n{DISPUTER}"
UPHOLDS = """
ruled = [{"id": i, "state": "open", "note": "b comes from outside"} for i in prior]
print(verdict("changes_requested", "zero", [flaw] if not prior else [], prior=ruled))
"""
WITHDRAWS = """
ruled = [{"id": i, "state": "invalid", "note": "right, b is checked before"} for i in prior]
print(verdict("approved", "good", [], prior=ruled) if prior else verdict("changes_requested", "zero", [flaw]))
"""


@pytest.mark.long
def test_a_withdrawn_finding_is_resolved_and_noted_as_invalid(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ONLY_DISPUTES, judge=WITHDRAWS)
    lab.add()
    lab.burnish("run")
    task = lab.show(1)
    assert (task["status"], task["cycle"]) == ("verified", 2)
    (finding,) = task["findings"]
    assert (finding["state"], finding["note"]) == ("resolved", "withdrawn: right, b is checked before")
    assert finding["evidence"] == "b is never 0"
    assert len(lab.events("finding.disputed")) == 1
    review = [c for c in lab.calls() if c["phase"] == "review"][1]
    assert "b is never 0" in review["prompt"]
    said = lab.burnish("show", "1").out
    assert "disputed by the author: b is never 0" in said and "withdrawn: right, b is checked before" in said


def test_disputed_upheld_and_disputed_again_is_for_a_person_without_paying_for_a_third_review(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ONLY_DISPUTES, judge=UPHOLDS)
    lab.add("Add division", "--max-cycles", "9")
    lab.burnish("run", code=1)
    task = lab.show(1)
    assert (task["status"], task["reason"], task["cycle"]) == ("blocked", "needs_discussion", 3)
    assert task["final_verdict"] == "NEEDS_DISCUSSION"
    assert [(c["cycle"], c["phase"]) for c in lab.calls()] == [
        (1, "implement"),
        (1, "review"),
        (2, "improve"),
        (2, "review"),
        (3, "improve"),
    ]
    assert task["findings"][0]["disputes"] == 2
    assert task["note"].startswith("F1 was disputed twice: the author and the reviewer disagree")
    assert task["note"] in " ".join(lab.burnish("show", "1").out.split())
    upheld = next(c["prompt"] for c in lab.calls() if (c["cycle"], c["phase"]) == (3, "improve"))
    assert "b comes from outside" in upheld


@pytest.mark.long
def test_who_disputes_twice_and_changes_code_is_reviewed_and_then_up_to_a_person(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=WORKS, judge=UPHOLDS)
    lab.add("Add division", "--max-cycles", "9")
    lab.burnish("run", code=1)
    task = lab.task()
    assert (task["status"], task["reason"], task["cycle"]) == ("blocked", "needs_discussion", 3)
    assert [c["phase"] for c in lab.calls()].count("review") == 3


@pytest.mark.long
def test_a_person_who_waives_the_disputed_finding_ends_the_quarrel(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ONLY_DISPUTES, judge=UPHOLDS)
    lab.add()
    lab.burnish("run", code=1)
    calls = len(lab.calls())
    lab.burnish("waive", "1", "F1", "--reason", "the author is right")
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified" and len(lab.calls()) == calls


@pytest.mark.slow
def test_a_dispute_without_the_number_or_of_what_is_not_open_changes_nothing(tmp_path: Path) -> None:
    forged = ONLY_DISPUTES.replace("+ number +", "+ '0123456789ab' +")
    for author in (forged, ONLY_DISPUTES.replace('disputes("F1")', 'disputes("F7")')):
        lab = Lab.make(tmp_path / str(author == forged), author=author, judge=UPHOLDS)
        lab.add()
        lab.burnish("run", code=1)
        task = lab.task()
        assert (task["reason"], task["cycle"]) == ("stalled", 2)
        assert not lab.events("finding.disputed")


def test_a_comment_of_a_person_is_neither_disputed_by_the_author_nor_withdrawn_by_the_reviewer(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=WORKS, judge=APPROVE)
    lab.add("Add division", "--max-cycles", "2")
    lab.burnish("run")
    lab.burnish("comment", "1", "refuse 0 as the divisor")
    lab.agent("judge", "print(verdict('approved', 'fine', prior=[{'id': i, 'state': 'invalid'} for i in prior]))")
    lab.burnish("run", "1", code=1)
    (finding,) = lab.show(1)["findings"]
    assert finding["state"] == "open" and lab.task()["status"] == "blocked"
    assert not lab.events("finding.disputed")

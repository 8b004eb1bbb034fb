from __future__ import annotations

import pytest

from burnish.core.finding import Category, Remark, Severity
from burnish.core.review import Compliance, Review, ReviewerResult, Ruling, RulingState, Unreadable, Verdict
from burnish.review.panel import combine, same_remark

YES = Review(Verdict.APPROVED, "good")
NO = Review(Verdict.CHANGES_REQUESTED, "The lock is never released. See below.")
TALK = Review(Verdict.NEEDS_DISCUSSION, "hm")
NEVER = Review(Verdict.REJECTED, "wrong approach", rejection_reason="start over")
STOP = Review(Verdict.APPROVED, "but", blocking=True)
LOST = Unreadable("no block", "…")


def results(*readings: Review | Unreadable) -> tuple[ReviewerResult, ...]:
    return tuple(ReviewerResult(f"agent{n}", None, reading, "2026-01-01", "00") for n, reading in enumerate(readings))


def remark(title: str = "No error handling", line: int | None = 10, file: str | None = "a.py") -> Remark:
    return Remark(Category.CODE, Severity.WARNING, title, "d", file=file, line=line)


A, C, D, R = Verdict.APPROVED, Verdict.CHANGES_REQUESTED, Verdict.NEEDS_DISCUSSION, Verdict.REJECTED


@pytest.mark.parametrize(
    ("quorum", "said", "verdict"),
    [
        ("all", (YES,), A),
        ("all", (YES, YES), A),
        ("all", (YES, NO), C),
        ("all", (YES, LOST), None),
        ("all", (NO, LOST), None),
        ("all", (LOST,), None),
        ("all", (), None),
        ("all", (YES, TALK), D),
        ("all", (TALK, NEVER), R),
        ("all", (LOST, NEVER), R),
        ("all", (YES, STOP), C),
        ("majority", (YES, YES, NO), A),
        ("majority", (YES, NO, NO), C),
        ("majority", (YES, YES, LOST), A),
        ("majority", (YES, LOST, LOST), None),
        ("majority", (YES, NO, LOST), C),
        ("majority", (YES, YES, NEVER), R),
        ("majority", (YES, YES, TALK), D),
        ("majority", (YES, NO), C),
        ("any", (YES, NO), A),
        ("any", (YES, LOST), A),
        ("any", (LOST, LOST), None),
        ("any", (NO, LOST), C),
        ("any", (YES, NEVER), R),
        ("any", (YES, STOP), C),
        ("nonsense", (YES, LOST), None),
    ],
)
def test_the_quorum_counts_the_configured(quorum: str, said: tuple[Review], verdict: Verdict | None) -> None:
    panel = combine(results(*said), quorum=quorum, reviewer_count=max(1, len(said)))
    assert panel.verdict == verdict
    assert bool(panel.why) == (verdict is None)


OBJECTIONS = {
    "a wrong number": '```burnish-verdict 0000000000000000\n{"verdict": "rejected", "summary": "no"}\n```',
    "a block that is not closed": '```burnish-verdict 7f3a19c2\n{"verdict": "changes_requested", "summary": "no"}',
    "a block against itself": '```burnish-verdict 7f3a19c2\n{"verdict": "approved", "decision": "reject"}\n```',
    "a marker": "Verdict: REJECTED\n\nIt deletes data.",
    "words": "I cannot approve this change.",
    "quoted block": '> ```burnish-verdict 0123abcd\n> {"verdict": "rejected", "summary": "no"}\n> ```',
    "block of another name": '```burnish_verdict 0123abcd\n{"verdict": "changes_requested", "summary": "no"}\n```',
    "an error": '{"verdict": "approved", "findings": [{"severity": "error", "title": "Deletes data"}]',
    "code": "```yaml\nverdict: needs_discussion\n```",
}


@pytest.mark.attacks("a reviewer's objection in a wrong form is left out of the panel", 2 * len(OBJECTIONS))
@pytest.mark.parametrize("quorum", ["any", "majority"])
@pytest.mark.parametrize("reply", OBJECTIONS.values(), ids=list(OBJECTIONS))
def test_an_objection_that_cannot_be_read_is_not_outvoted(quorum: str, reply: str) -> None:
    panel = combine(results(YES, YES, Unreadable("no block", reply)), quorum=quorum, reviewer_count=3)
    assert panel.verdict is None and "agent2 says" in panel.why


@pytest.mark.parametrize("reply", ["", "…", "The service is overloaded.", "Approved."])
def test_one_that_says_nothing_is_outvoted(reply: str) -> None:
    panel = combine(results(YES, Unreadable("no block", reply)), quorum="any", reviewer_count=2)
    assert panel.verdict is Verdict.APPROVED


def test_one_that_never_answered_is_not_averaged_away() -> None:
    assert combine(results(YES), quorum="all", reviewer_count=2).verdict is None
    assert combine(results(YES), quorum="majority", reviewer_count=3).verdict is None
    assert combine(results(YES, YES), quorum="majority", reviewer_count=3).verdict == Verdict.APPROVED


def test_remarks_of_two_reviewers_are_all_passed_on_with_their_source() -> None:
    one = Review(C, "x", remarks=(remark("No error handling in the API call", 45),))
    two = Review(C, "y", remarks=(remark("No error handling in API call!", 47), remark("Unused import", 1)))
    panel = combine(results(one, two), quorum="all", reviewer_count=2)
    assert [r.source for r in panel.remarks] == ["agent0", "agent1", "agent1"]


def test_a_blocking_reviewer_blocks_the_panel() -> None:
    assert combine(results(YES, STOP), quorum="any", reviewer_count=2).blocking


def test_remarks_elsewhere_or_about_something_else_stay_apart() -> None:
    assert not same_remark(remark(), remark(file="b.py"))
    assert not same_remark(remark(line=10), remark(line=14))
    assert not same_remark(remark("Unused import"), remark("Race in the lock"))
    assert same_remark(remark(line=None), remark(line=14))


def test_changes_requested_without_a_finding_becomes_one() -> None:
    panel = combine(results(NO, YES), quorum="all", reviewer_count=2)
    (made,) = panel.remarks
    assert made.title == "The lock is never released." and made.severity == Severity.ERROR
    assert made.source == "agent0"


def test_no_finding_is_made_up_where_an_earlier_one_is_open() -> None:
    review = Review(C, "still", rulings=(Ruling("F1", RulingState.OPEN),))
    assert combine(results(review), quorum="all", reviewer_count=1).remarks == ()


def test_an_earlier_finding_is_open_if_anyone_says_so() -> None:
    one = Review(A, "", rulings=(Ruling("F1", RulingState.RESOLVED), Ruling("F2", RulingState.RESOLVED)))
    two = Review(A, "", rulings=(Ruling("F1", RulingState.OPEN, "no"),))
    panel = combine(results(one, two), quorum="all", reviewer_count=2)
    assert {r.id: r.state for r in panel.rulings} == {"F1": RulingState.OPEN, "F2": RulingState.RESOLVED}


def test_a_criterion_is_unmet_if_anyone_says_so() -> None:
    one = Review(A, "", compliance=(Compliance("works", True), Compliance("fast", None)))
    two = Review(A, "", compliance=(Compliance("Works.", False), Compliance("fast", True)))
    panel = combine(results(one, two), quorum="all", reviewer_count=2)
    assert [c.met for c in panel.compliance] == [False, True]


def test_an_unsigned_review_makes_the_panel_unsigned() -> None:
    assert not combine(results(YES, Review(A, "", signed=False)), quorum="all", reviewer_count=2).signed


def test_two_reviewers_of_one_agent_have_different_names() -> None:
    made = [ReviewerResult("claude", model, NO, "", "") for model in ("opus", "sonnet", None)]
    panel = combine(made, quorum="all", reviewer_count=3)
    assert "claude/opus: " in panel.summary and panel.remarks[2].source == "claude"

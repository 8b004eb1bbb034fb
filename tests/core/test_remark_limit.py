"""One reviewer's remarks are limited, and what is known stays known."""

from __future__ import annotations

from burnish.core.finding import Category, Remark, Severity
from burnish.core.ledger.ledger import absorb_review
from burnish.core.ledger.remark_grouping import (
    MAX_REMARKS,
    MORE_REMARKS_RULE,
    SMALLEST_SHARE,
    limit_remarks,
    stands_for_more,
)

WHERE = {"judge": "the reviewer's reply (`burnish log 7 --phase review`)"}


def remarks(count: int, source: str = "judge", severity: Severity = Severity.WARNING) -> tuple[Remark, ...]:
    return tuple(
        Remark(Category.CODE, severity, f"Name number{n} is wrong", file=f"f{n}.py", line=1, source=source)
        for n in range(count)
    )


def test_up_to_the_limit_each_remark_is_a_finding_of_its_own() -> None:
    assert limit_remarks(remarks(MAX_REMARKS), WHERE) == remarks(MAX_REMARKS)


def test_beyond_the_limit_the_rest_is_one_finding_that_says_where_to_read_all() -> None:
    limited = limit_remarks(remarks(400), WHERE)
    assert len(limited) == MAX_REMARKS and (limited[-1].rule, limited[-1].count) == (f"{MORE_REMARKS_RULE}:judge", 321)
    assert "`burnish log 7 --phase review`" in limited[-1].description


def test_a_program_is_limited_as_an_agent_is() -> None:
    limited = limit_remarks(remarks(400, "static"), {"static": "`burnish review b --agent static --json`"})
    assert len(limited) == MAX_REMARKS
    assert "All of them: `burnish review b --agent static --json`" in limited[-1].description


def test_a_known_remark_is_raised_again_however_far_down_it_stands() -> None:
    known = frozenset({390, 399})
    limited = limit_remarks(remarks(400), WHERE, repeat_indices=lambda: known)
    assert [remarks(400)[n] in limited for n in sorted(known)] == [True, True]
    assert len(limited) == MAX_REMARKS and limited[-1].count == 400 - MAX_REMARKS + 1


def test_new_remarks_have_a_share_where_known_ones_fill_the_limit() -> None:
    limited = limit_remarks(remarks(400), WHERE, repeat_indices=lambda: frozenset(range(100)))
    assert len(limited) == 100 + SMALLEST_SHARE + 1 and limited[-1].count == 300 - SMALLEST_SHARE


def test_the_rest_of_the_next_review_is_the_same_finding() -> None:
    first = absorb_review((), remarks=limit_remarks(remarks(400), WHERE), cycle=1)
    fewer = limit_remarks(remarks(400)[100:], WHERE)
    second = absorb_review(first.findings, remarks=fewer, cycle=2)
    (rest,) = [finding for finding in second.findings if finding.remark.rule.startswith(MORE_REMARKS_RULE)]
    assert (rest.remark.count, rest.last_cycle) == (221, 2)
    assert stands_for_more(first.findings)


def test_the_rests_of_two_reviewers_are_two_findings() -> None:
    both = (*remarks(200, "judge"), *remarks(150, "static", Severity.ERROR))
    update = absorb_review((), remarks=limit_remarks(both, {}), cycle=1, mechanical=frozenset({"static"}))
    assert sorted(f.remark.count for f in update.findings if f.remark.rule.startswith(MORE_REMARKS_RULE)) == [71, 121]

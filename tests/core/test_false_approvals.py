"""An approval never passes over what the review itself, or a person, calls grave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.codec import encode
from burnish.core.decision import Accept, ConvergenceState, Revise, Wait, after_review, effective_verdict
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity, Waiver
from burnish.core.journal import ReviewResult, read
from burnish.core.ledger.ledger import LedgerDiff, absorb_review, waive
from burnish.core.recorded_reviews import panel_of
from burnish.core.review import PanelResult, Ruling, RulingState, Verdict
from testing.histories import change
from testing.long_forms import examples

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
BEFORE = {"a.py": "x = 1\ny = 2\nz = 3\n"}
AFTER = {"a.py": "x = 1\ny = 2\nz = 4\n"}
NAMED = Remark(Category.CODE, WARNING, "Variable is called x", "Give it a name.", file="a.py", line=1, source="judge")
LOST = replace(
    NAMED,
    severity=ERROR,
    title="Customer money is lost when the counter wraps",
    description="Every second booking is dropped silently at midnight.",
)
NOW = ConvergenceState(cycle=2, max_cycles=5)
WAIVER = Waiver("ann", "known", "2026-01-01")


def first(*remarks: Remark) -> tuple[Finding, ...]:
    return absorb_review((), remarks=remarks, cycle=1, files=BEFORE.get).findings


def then(known: tuple[Finding, ...], *remarks: Remark, cycle: int = 2, **more: Any) -> LedgerDiff:
    delta = change(BEFORE, AFTER, {})
    return absorb_review(known, remarks=remarks, cycle=cycle, delta=delta, files=AFTER.get, **more)


def approved(*remarks: Remark) -> PanelResult:
    return PanelResult((), Verdict.APPROVED, "fine", remarks=remarks)


def by(who: str, remark: Remark, **more: Any) -> Remark:
    return replace(remark, source=who, **more)


@pytest.mark.parametrize("quote", ["", "x = 1"])
@pytest.mark.parametrize("rulings", [(), (Ruling("F1", RulingState.OPEN),)], ids=["not mentioned", "ruled open"])
def test_a_grave_remark_on_the_line_of_a_mild_one_is_a_finding_of_its_own(rulings: Any, quote: str) -> None:
    said = replace(LOST, quote=quote)
    update = then(first(replace(NAMED, quote=quote)), said, rulings=rulings)
    assert update.given == ("F2",)
    assert update.finding("F2").remark.severity is ERROR
    assert update.finding("F1").remark.title == NAMED.title
    assert effective_verdict(approved(said), update.findings, ERROR) == (
        Verdict.CHANGES_REQUESTED,
        "approved by the reviewer, but F2 still stands",
    )


def test_who_calls_it_an_error_cannot_approve_though_the_ledger_keeps_it_a_warning() -> None:
    worse = replace(NAMED, severity=ERROR)
    update = then(first(NAMED), worse)
    assert update.finding("F1").remark.severity is WARNING
    decision = after_review(approved(worse), update.findings, NOW, block_on=ERROR)
    assert decision == Revise("approved, but it says itself: Variable is called x (error)", ("F1",))


def test_what_a_person_waived_may_be_said_again_beside_an_approval() -> None:
    known = waive(first(LOST), "F1", WAIVER).findings
    again = replace(LOST, description="It was said before.")
    update = then(known, again)
    assert update.given == ("F1",)
    assert isinstance(after_review(approved(again), update.findings, NOW, block_on=ERROR), Accept)


def test_a_waiver_holds_for_what_was_waived_and_not_for_the_line() -> None:
    known = waive(first(replace(NAMED, severity=ERROR, quote="x = 1")), "F1", WAIVER).findings
    update = then(known, replace(LOST, quote="x = 1"))
    assert update.opened == ("F2",)
    assert update.finding("F1").remark.title == NAMED.title


def test_a_waiver_holds_in_the_file_that_it_was_given_for() -> None:
    waived = Finding("F1", NAMED, state=FindingState.WAIVED, waiver=WAIVER)
    assert effective_verdict(approved(NAMED), [waived], WARNING)[0] is Verdict.APPROVED
    assert effective_verdict(approved(replace(NAMED, file="b.py")), [waived], WARNING)[0] is Verdict.CHANGES_REQUESTED


def test_a_stored_review_is_weighed_by_its_words_until_their_finding_is_waived() -> None:
    data = {"verdict": "approved", "summary": "fine", "grave": [{"id": "F1", **encode(LOST)}]}
    record = read(ReviewResult, data)
    finding = Finding("F1", NAMED)
    panel = panel_of(record, [finding])
    assert isinstance(after_review(panel, [finding], NOW, block_on=ERROR), Revise)
    waived = replace(finding, state=FindingState.WAIVED, waiver=WAIVER)
    assert isinstance(after_review(panel_of(record, [waived]), [waived], NOW, block_on=ERROR), Accept)


def test_people_who_find_different_things_on_one_line_are_not_overwritten() -> None:
    ada, bob = by("user:ada", NAMED), by("user:bob", LOST, severity=WARNING)
    update = then(first(ada), bob, cycle=1)
    assert [f.remark.title for f in update.findings] == [NAMED.title, LOST.title]


def test_a_tool_does_not_soften_what_another_said_in_the_same_cycle() -> None:
    known = first(by("user:ada", LOST))
    assert then(known, by("sarif", LOST, severity=WARNING), cycle=1).finding("F1").remark.severity is ERROR
    agents = first(LOST)
    assert then(agents, by("sarif", LOST, severity=WARNING), cycle=1).finding("F1").remark.severity is ERROR


def test_who_said_it_may_soften_it_but_nobody_softens_a_person() -> None:
    milder = replace(LOST, severity=WARNING)
    assert then(first(LOST), milder).finding("F1").remark.severity is WARNING
    assert then(first(by("user:ada", LOST)), milder).finding("F1").remark.severity is ERROR
    assert then(first(by("user:ada", LOST)), by("user:ada", milder)).finding("F1").remark.severity is WARNING


def test_a_person_may_call_it_worse_and_is_not_narrowed() -> None:
    worse = by("user:ada", NAMED, severity=ERROR)
    assert then(first(NAMED), worse).finding("F1").remark.severity is ERROR
    assert then((), by("user:ada", NAMED)).finding("F1").remark.severity is WARNING


def test_a_check_that_only_tells_does_not_swallow_an_error_of_the_review() -> None:
    told = Finding("F1", replace(LOST, severity=INFO, source="check:lint"), last_cycle=2, reviewers=("check:lint",))
    update = then((told,), LOST)
    assert update.opened == ("F2",) and update.finding("F2").remark.severity is ERROR


remarks = st.builds(
    Remark,
    category=st.sampled_from([Category.CODE, Category.TEST]),
    severity=st.sampled_from(list(Severity)),
    title=st.sampled_from([NAMED.title, LOST.title, "Handle leaks", "Wrong bound"]),
    description=st.sampled_from(["", "It is never closed.", LOST.description]),
    file=st.sampled_from([None, "a.py"]),
    line=st.none() | st.integers(1, 4),
    quote=st.sampled_from(["", "x = 1", "z = 4"]),
    rule=st.sampled_from(["", "", "E501"]),
    source=st.sampled_from(["one", "two", "user:ada"]),
)
reviews = st.lists(remarks, max_size=4).map(tuple)
rulings = st.lists(st.builds(Ruling, st.sampled_from(["F1", "F2"]), st.sampled_from(list(RulingState))), max_size=2)


@settings(max_examples=examples(150), deadline=None)
@given(reviews, reviews, rulings, st.sampled_from([ERROR, WARNING]))
def test_an_approval_that_holds_a_blocking_remark_is_never_accepted(
    earlier: tuple[Remark, ...], said: tuple[Remark, ...], ruled: list[Ruling], block_on: Severity
) -> None:
    update = then(first(*earlier), *said, rulings=tuple(ruled))
    panel = approved(*said)
    decision = after_review(panel, update.findings, NOW, block_on=block_on)
    accepted = isinstance(decision, Accept | Wait)
    assert accepted == (effective_verdict(panel, update.findings, block_on)[0] is Verdict.APPROVED)
    if any(remark.severity.rank <= block_on.rank for remark in said):
        assert not accepted

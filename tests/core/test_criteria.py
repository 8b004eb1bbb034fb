"""Acceptance criteria in the ledger."""

from __future__ import annotations

from dataclasses import replace

import pytest

from burnish.core.criteria import asked_criterion, unmet_items
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity, Waiver
from burnish.core.ledger.ledger import (
    LedgerDiff,
    absorb_criteria,
    absorb_review,
    dispute,
    split_criterion_remarks,
    waive,
)
from burnish.core.review import Compliance, PanelResult, Review, ReviewerResult, Ruling, RulingState, Verdict

UNMET = Compliance("Retries three times", False, "it retries only once")
MET = Compliance("retries three times.", True, "three times now")


def judged(
    findings: tuple[Finding, ...], *compliance: Compliance, cycle: int = 1, rulings: tuple[Ruling, ...] = ()
) -> LedgerDiff:
    review = Review(Verdict.CHANGES_REQUESTED, "", compliance=compliance, rulings=rulings)
    result = ReviewerResult("judge", None, review, "", "")
    panel = PanelResult((result,), Verdict.CHANGES_REQUESTED, "", compliance=compliance, rulings=rulings)
    reviewed = absorb_review(findings, remarks=(), rulings=rulings, cycle=cycle)
    return absorb_criteria(findings, reviewed, panel, cycle)


def test_an_unmet_criterion_is_an_error_of_category_compliance_with_the_reviewers_note() -> None:
    (finding,) = judged((), UNMET).findings
    remark = finding.remark
    assert (finding.id, remark.category, remark.severity) == ("F1", Category.COMPLIANCE, Severity.ERROR)
    assert (remark.title, remark.description) == ("Not met: Retries three times", "it retries only once")
    assert finding.reviewers == ("judge",)


def test_the_same_criterion_stays_one_finding_and_met_resolves_it() -> None:
    first = judged((), UNMET)
    again = judged(first.findings, replace(UNMET, note="twice"), cycle=2)
    assert again.still == ("F1",) and again.finding("F1").remark.description == "twice"
    done = judged(again.findings, MET, cycle=3)
    assert done.resolved == ("F1",) and done.finding("F1").note == "met: three times now"
    assert judged(done.findings, UNMET, cycle=4).reopened == ("F1",)


def test_a_criterion_that_is_not_judged_resolves_nothing() -> None:
    known = judged((), UNMET).findings
    assert judged(known, replace(MET, met=None), cycle=2).still == ("F1",)
    assert judged(known, cycle=2).still == ("F1",)


def test_two_criteria_are_two_findings() -> None:
    assert judged((), UNMET, Compliance("Retries four times", False)).opened == ("F1", "F2")


PAIRS = [
    ("Supports C", "Supports C++"),
    ("Supports C#", "Supports C++"),
    ("returns -1 for an empty list", "returns 1 for an empty list"),
    ("`a < b` is accepted", "`a > b` is accepted"),
    ("a != b raises", "a == b raises"),
    ("works with *.py", "works with .py"),
    ("handles foo_bar", "handles foo bar"),
    ("\u0915\u093f", "\u0915\u0940"),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_criteria_that_differ_in_signs_are_judged_apart(pair: tuple[str, str]) -> None:
    for one, other in (pair, pair[::-1]):
        known = judged((), Compliance(other, False)).findings
        assert judged(known, Compliance(one, True), cycle=2).finding("F1").alive
        assert asked_criterion(f"- [ ] {one}.", (other, one)) == one
    assert asked_criterion("SUPPORTS  C", ("Supports C++",)) == "Supports C++", "there is no other that it could be"


def test_a_waived_criterion_stays_waived_and_no_longer_counts_as_unmet() -> None:
    waived = waive(judged((), UNMET).findings, "F1", Waiver("ann", "later", "2026-01-01")).findings
    again = judged(waived, UNMET, cycle=2)
    assert again.finding("F1").state is FindingState.WAIVED
    assert unmet_items((UNMET, Compliance("Fast", False)), again.findings) == ["Fast"]


def test_a_disputed_criterion_is_upheld_or_withdrawn_by_the_next_review() -> None:
    known = dispute(judged((), UNMET).findings, [("F1", "see line 3")], 2).findings
    upheld = judged(known, UNMET, cycle=2).finding("F1")
    assert upheld.state is FindingState.OPEN and upheld.note.startswith("upheld")
    assert judged(known, MET, cycle=2).finding("F1").state is FindingState.RESOLVED
    invalid = (Ruling("F1", RulingState.INVALID, "it was never asked for"),)
    assert judged(known, cycle=2, rulings=invalid).finding("F1").state is FindingState.RESOLVED


def test_a_contradiction_in_one_review_leaves_the_criterion_open() -> None:
    known = judged((), UNMET).findings
    assert judged(known, UNMET, cycle=2, rulings=(Ruling("F1", RulingState.RESOLVED),)).still == ("F1",)
    both = judged(known, MET, cycle=2, rulings=(Ruling("F1", RulingState.OPEN),))
    assert both.still == ("F1",) and any("stays open" in note for note in both.notes)


def test_a_remark_is_never_taken_for_a_criterion_so_that_met_cannot_resolve_it() -> None:
    known = judged((), UNMET).findings
    remark = Remark(Category.COMPLIANCE, Severity.ERROR, "Not met: Retries three times", "it retries only once")
    reviewed = absorb_review(known, remarks=(remark,), cycle=2)
    assert reviewed.opened == ("F2",)


def reviewed(
    findings: tuple[Finding, ...],
    compliance: tuple[Compliance, ...],
    *remarks: Remark,
    cycle: int = 1,
    files: dict[str, str] | None = None,
) -> LedgerDiff:
    """A review with remarks and judged criteria, as the engine writes it into the ledger."""
    named = tuple(replace(remark, source="judge") for remark in remarks)
    result = ReviewerResult(
        "judge", None, Review(Verdict.CHANGES_REQUESTED, "", compliance=compliance, remarks=named), "", ""
    )
    panel = PanelResult((result,), Verdict.CHANGES_REQUESTED, "", compliance=compliance, remarks=named)
    texts = (files or {}).get
    panel, repeated = split_criterion_remarks(panel, findings, texts)
    update = absorb_review(findings, remarks=panel.remarks, cycle=cycle, files=texts)
    return absorb_criteria(findings, update, panel, cycle, repeated)


def compliance_remark(title: str, description: str = "", **more: object) -> Remark:
    return replace(Remark(Category.COMPLIANCE, Severity.ERROR, title, description), **more)  # type: ignore[arg-type]


REPEATS = [
    compliance_remark("Retries three times", "The loop has no counter."),
    compliance_remark("Not met: Retries three times", "The loop has no counter."),
    compliance_remark("Criterion 'Retries three times.' is missed", "The loop has no counter."),
    compliance_remark("It retries only once", "The loop has no counter."),
    compliance_remark("One retry", "The criterion `retries three times` fails. The loop has no counter."),
]


@pytest.mark.parametrize("remark", REPEATS, ids=lambda remark: remark.title)
def test_a_remark_that_repeats_an_unmet_criterion_is_one_finding_with_all_words(remark: Remark) -> None:
    placed = replace(remark, file="app.py", line=2, suggestion="Count the attempts.")
    files = {"app.py": "def get():\n    while True:\n        pass\n"}
    update = reviewed((), (UNMET,), placed, files=files)
    (finding,) = update.findings
    assert update.given == ("F1",) and finding.remark.title == "Not met: Retries three times"
    assert (finding.remark.file, finding.remark.line) == ("app.py", 2)
    assert finding.remark.suggestion == "Count the attempts."
    words = finding.remark.description.casefold()
    assert "it retries only once" in words and "the loop has no counter." in words and words.count("only once") == 1

    again = reviewed(update.findings, (UNMET,), placed, cycle=2, files=files)
    assert again.still == ("F1",) and again.opened == ()
    assert judged(again.findings, MET, cycle=3).resolved == ("F1",)


def test_two_remarks_on_one_criterion_keep_both_texts_and_places() -> None:
    one = compliance_remark("Retries three times", "fetch stops early", file="a.py", line=1)
    other = compliance_remark("Retries three times", "send stops early", file="b.py", line=1)
    (finding,) = reviewed((), (UNMET,), one, other, files={"a.py": "x\n", "b.py": "y\n"}).findings
    for text in ("fetch stops early", "send stops early", "a.py:1", "b.py:1"):
        assert text in finding.remark.description


OTHERS = [
    compliance_remark("The README does not name the option"),
    replace(compliance_remark("Retries three times"), category=Category.CODE),
    compliance_remark("Neither: Retries three times, Supports C and D"),
]


@pytest.mark.parametrize("remark", OTHERS, ids=lambda remark: remark.title)
def test_a_remark_about_something_else_or_about_two_criteria_stays_a_finding_of_its_own(remark: Remark) -> None:
    assert len(reviewed((), (UNMET, Compliance("Supports C and D", False)), remark).findings) == 3


def test_a_criterion_that_another_one_contains_is_not_taken_for_it() -> None:
    longer = Compliance("Retries three times with a delay", False, "no delay")
    update = reviewed((), (UNMET, longer), compliance_remark("Not met: Retries three times with a delay", "no sleep"))
    words = {finding.remark.title: finding.remark.description for finding in update.findings}
    assert words["Not met: Retries three times with a delay"] == "no delay\n\nno sleep"
    assert words["Not met: Retries three times"] == "it retries only once" and len(words) == 2


def test_a_remark_on_a_waived_criterion_or_on_one_that_is_met_stays_a_finding() -> None:
    waived = waive(judged((), UNMET).findings, "F1", Waiver("ann", "later", "2026-01-01")).findings
    remark = compliance_remark("Retries three times", "and it deletes the file")
    assert reviewed(waived, (UNMET,), remark, cycle=2).opened == ("F2",)
    assert reviewed((), (MET,), remark).opened == ("F1",)
    assert reviewed((), (MET,), remark).finding("F1").remark.rule == ""

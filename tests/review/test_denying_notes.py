"""A note that denies the state beside it counts, and not the state."""

from __future__ import annotations

import json

import pytest

from burnish.core.review import Review, RulingState
from burnish.review.contract import Expect, read
from burnish.review.external.lines import rulings
from burnish.review.refusal import denies
from testing.verdicts import N, block, with_

DENYING = [
    *("to be done later", "did not change", "nothing changed here", "same as before: broken", "fails as before"),
    *("No.", "no, it is still there", "The bug remains.", "bug is still present", "isn't fixed", "it isn't resolved"),
    *("was not fixed", "has not been fixed", "hasn't been addressed", "only partly", "partially fixed", "half done"),
    *("it is still open", "unfixed", "Unchanged.", "nothing changed", "OPEN", "state: open", "reopened", "-> open"),
    *("would be resolved by X", "will be fixed later", "to be fixed in a follow-up", "if merged with G", "regressed"),
    *("once F2 is fixed", "except for b.py", "in a.py only; b.py still has it", "I could not verify this"),
    *("cannot confirm", "unclear whether it is fixed", "won't fix", "the author did not fix this", "never fixed"),
    *("resolved? no", "this is not resolved", "Not really.", "no longer fixed", "it came back", "test still fails"),
    *("the fix is wrong", "fix is incomplete", "does not work", "The fix doesn\u2019t work", "**not** fixed"),
    *("n\u200bot fixed", "remains open", "not yet", "pending", "disagree", "The criterion is not met."),
]
AGREEING = [
    *("", "fixed", "yes", "see a.py:10", "now raises ValueError", "No longer present.", "no longer divides by zero"),
    *("Not a problem any more", "Fixed: the null check was missing, now it is present.", "It no longer fails"),
    *("If b == 0 it raises now.", "the guard is still there, and covers it", "No issue: validated upstream"),
    *("nothing left to do", "Verified: no caller passes None.", "once reached, it returns", "None is handled now"),
    *("previously open, fixed now", "Not reachable from main, as the author says", "Tests do not fail any more"),
    *("No change needed: it works already", "Not part of the diff, but the base already does this"),
    *("Could not run the tests here, verified by reading the code", "I could not find a path where it fails"),
    *("The test fails without the fix", "Does not crash on empty input", "Open files are closed in finally"),
    *("The old check was not implemented; a.py:3 has it", "handles partially written files", "the token is not logged"),
    *("Only callers in b.py still use the old name, which is an alias", "the message says what is to be done"),
    *("It was fixed in cycle 2 and is still fixed", "The error is raised if b is 0", "Covered by test_div_by_zero"),
]


@pytest.mark.parametrize("note", DENYING)
def test_a_finding_and_a_criterion_stay_open_if_their_note_denies_the_state(note: str) -> None:
    reply = with_(
        prior=[{"id": "F1", "state": "resolved", "note": note}],
        compliance=[{"item": "it divides", "met": True, "note": note}],
    )
    reading = read(block(reply), N, expect=Expect(cycle=2, prior_ids=("F1",), criteria=("it divides",)))
    assert isinstance(reading, Review)
    assert [ruling.state for ruling in reading.rulings] == [RulingState.OPEN]
    assert [entry.met for entry in reading.compliance] == [False]


@pytest.mark.parametrize("note", AGREEING)
def test_a_note_that_explains_leaves_the_state_as_it_is(note: str) -> None:
    assert not denies(note)
    assert not denies(note, withdrawn=True)


@pytest.mark.parametrize("note", ["The code is as it was; it was never a problem.", "not fixed, and need not be", ""])
def test_a_withdrawn_finding_needs_no_fix(note: str) -> None:
    body = json.dumps({**json.loads(with_()), "prior": [{"id": "F1", "state": "invalid", "note": note}]})
    reading = read(block(body), N, expect=Expect(cycle=2, prior_ids=("F1",)))
    assert isinstance(reading, Review) and reading.rulings[0].state is RulingState.INVALID


@pytest.mark.parametrize("note", ["No.", "it is still valid", "This is a real bug.", "still open"])
def test_a_note_that_upholds_a_finding_counts_beside_invalid(note: str) -> None:
    assert denies(note, withdrawn=True)


@pytest.mark.parametrize("note", ["the bug is still there", "it was not fixed", "to be fixed later"])
def test_a_ruling_in_markdown_is_read_by_the_same_rule(note: str) -> None:
    assert rulings(f"F1: resolved, {note}", ("F1",))[0].state is RulingState.OPEN


DENYING_FIELDS = [
    {"status": "open"},
    {"resolved": False},
    {"verdict": "failed"},
    {"still_present": True},
    {"result": "unmet"},
]


@pytest.mark.parametrize("field", DENYING_FIELDS, ids=str)
def test_a_field_outside_of_the_contract_denies_the_state_as_a_note_does(field: dict[str, object]) -> None:
    reply = with_(
        prior=[{"id": "F1", "state": "resolved", **field}], compliance=[{"item": "it divides", "met": True, **field}]
    )
    reading = read(block(reply), N, expect=Expect(cycle=2, prior_ids=("F1",), criteria=("it divides",)))
    assert isinstance(reading, Review)
    assert [ruling.state for ruling in reading.rulings] == [RulingState.OPEN]
    assert [entry.met for entry in reading.compliance] == [False]


AGREEING_FIELDS = [
    *({"previous_state": "open"}, {"status": "fixed"}, {"resolved": True}, {"severity": "error"}, {"line": 4}),
    *({"evidence": "a.py:3"}, {"status": "done"}, {"was_open": True}, {"still_present": False}, {"result": "passed"}),
]


@pytest.mark.parametrize("field", AGREEING_FIELDS, ids=str)
def test_another_field_leaves_the_state_as_it_is(field: dict[str, object]) -> None:
    reply = with_(
        prior=[{"id": "F1", "state": "resolved", **field}], compliance=[{"item": "it divides", "met": True, **field}]
    )
    reading = read(block(reply), N, expect=Expect(cycle=2, prior_ids=("F1",), criteria=("it divides",)))
    assert isinstance(reading, Review)
    assert [ruling.state for ruling in reading.rulings] == [RulingState.RESOLVED]
    assert [entry.met for entry in reading.compliance] == [True]

"""Who may change what in the ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from burnish.core.finding import COMMENT_RULE, Category, FindingState, Remark, Severity, Waiver
from burnish.core.ledger.ledger import absorb_review, dispute, expire, reopen, waive
from burnish.core.review import Ruling, RulingState
from burnish.errors import BadInput, Refused
from testing.histories import change

TEXT = "".join(f"line_{n} = {n}\n" for n in range(1, 61))
WARN = Remark(
    Category.CODE,
    Severity.WARNING,
    "Magic number",
    "Name it.",
    file="a.py",
    line=10,
    quote="line_10 = 10",
    source="one",
)
FILES = {"a.py": TEXT}
WAIVER = Waiver("ann", "known", "2026-01-01", until="2026-02-01")


def ledger(*remarks: Remark):  # type: ignore[no-untyped-def]
    return absorb_review((), remarks=remarks or (WARN,), cycle=1, files=FILES.get).findings


def ruled(findings, state: RulingState, *remarks: Remark, note: str = "so"):  # type: ignore[no-untyped-def]
    return absorb_review(findings, remarks=remarks, rulings=(Ruling("F1", state, note),), cycle=2, files=FILES.get)


def test_silence_resolves_nothing() -> None:
    update = absorb_review(ledger(), remarks=(), cycle=2, files=FILES.get)
    assert update.still == ("F1",)


def test_a_ruling_by_id_resolves() -> None:
    update = ruled(ledger(), RulingState.RESOLVED)
    assert update.resolved == ("F1",)
    assert update.finding("F1").note == "so"


def test_an_invalid_finding_is_withdrawn() -> None:
    assert ruled(ledger(), RulingState.INVALID).finding("F1").note == "withdrawn: so"


def test_resolved_and_raised_in_one_review_stays_open() -> None:
    update = ruled(ledger(), RulingState.RESOLVED, WARN)
    assert update.finding("F1").state is FindingState.OPEN
    assert any("raised again" in note for note in update.notes)


def test_of_a_panel_that_disagrees_open_wins() -> None:
    rulings = (
        Ruling("F1", RulingState.OPEN),
        Ruling("F1", RulingState.RESOLVED),
        Ruling("F1", RulingState.INVALID),
    )
    update = absorb_review(ledger(), remarks=(), rulings=rulings, cycle=2, files=FILES.get)
    assert update.still == ("F1",)


def test_a_ruling_on_an_unknown_id_is_noted() -> None:
    update = absorb_review((), remarks=(), rulings=(Ruling("F9", RulingState.RESOLVED),), cycle=2)
    assert update.notes == ("F9 was ruled on but is not known",)


def test_severity_does_not_rise_where_no_code_changed() -> None:
    delta = change(FILES, {"a.py": TEXT.replace("line_50 = 50", "line_50 = 51")}, {})
    worse = replace(WARN, severity=Severity.ERROR)
    update = absorb_review(ledger(), remarks=(worse,), cycle=2, delta=delta, files=FILES.get)
    assert update.finding("F1").remark.severity is Severity.WARNING
    assert any("stays warning" in note for note in update.notes)


def test_severity_may_rise_where_the_code_changed() -> None:
    after = {"a.py": TEXT.replace("line_11 = 11", "line_11 = 12")}
    worse = replace(WARN, severity=Severity.ERROR)
    update = absorb_review(ledger(), remarks=(worse,), cycle=2, delta=change(FILES, after, {}), files=after.get)
    assert update.finding("F1").remark.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("old", "new", "rises"),
    [
        ("line_10 = 10\n", "# why\nline_10 = 10\n", False),
        ("line_10 = 10\n", "line_10 = 10\n# why\n", False),
        ("line_8 = 8\n", "line_8 = 0\n", False),
        ("line_12 = 12\n", "line_12 = 0\n", False),
        ("line_9 = 9\n", "line_9 = 0\n", True),
        ("line_9 = 9\n", "", True),
        ("line_10 = 10\n", "line_10 = 10 + 0\n", True),
    ],
)
def test_only_a_change_of_the_very_lines_lets_severity_rise(old: str, new: str, rises: bool) -> None:
    after = {"a.py": TEXT.replace(old, new)}
    quote = next(line for line in after["a.py"].split("\n") if line.startswith("line_10 "))
    line = after["a.py"].split("\n").index(quote) + 1
    worse = replace(WARN, severity=Severity.ERROR, line=line, quote=quote)
    update = absorb_review(ledger(), remarks=(worse,), cycle=2, delta=change(FILES, after, {}), files=after.get)
    assert update.finding("F1").remark.severity is (Severity.ERROR if rises else Severity.WARNING)


@pytest.mark.parametrize(
    ("line", "severity", "narrow", "kept"),
    [
        (30, Severity.WARNING, True, Severity.WARNING),  # in the delta
        (50, Severity.WARNING, True, Severity.INFO),
        (50, Severity.ERROR, True, Severity.ERROR),
        (50, Severity.WARNING, False, Severity.WARNING),
    ],
)
def test_later_rounds_narrow_to_the_delta(line: int, severity: Severity, narrow: bool, kept: Severity) -> None:
    after = {"a.py": TEXT.replace("line_30 = 30", "line_30 = 0")}
    quote = after["a.py"].split("\n")[line - 1]
    new = replace(WARN, title="Shadows a builtin", description="", line=line, quote=quote, severity=severity)
    update = absorb_review(
        ledger(), remarks=(new,), cycle=2, delta=change(FILES, after, {}), files=after.get, narrow=narrow
    )
    assert update.opened == ("F2",)
    assert update.finding("F2").remark.severity is kept


def test_a_wrong_line_is_put_right_by_the_quote() -> None:
    update = absorb_review((), remarks=(replace(WARN, line=33, end_line=34),), cycle=1, files=FILES.get)
    remark = update.finding("F1").remark
    assert (remark.line, remark.end_line) == (10, 11)
    assert update.reanchored == ("F1",)


def test_of_several_places_the_nearest_to_the_claimed_line_is_taken() -> None:
    files = {"a.py": "x = 1\n" * 3 + "same()\n" + "x = 1\n" * 20 + "  same( )\nsame()\n"}
    update = absorb_review((), remarks=(replace(WARN, line=22, quote="same()"),), cycle=1, files=files.get)
    assert update.finding("F1").remark.line == 26


def test_spaces_do_not_hide_the_quoted_code_nor_do_the_signs_of_a_diff() -> None:
    for quote in ("line_10=10", "+line_10 = 10\n+line_11 = 11"):
        update = absorb_review((), remarks=(replace(WARN, line=1, quote=quote),), cycle=1, files=FILES.get)
        assert update.finding("F1").remark.line == 10


def test_code_that_is_not_there_leaves_the_line_and_a_note() -> None:
    update = absorb_review((), remarks=(replace(WARN, quote="nowhere()"),), cycle=1, files=FILES.get)
    assert update.finding("F1").remark.line == 10
    assert update.notes == ("Magic number: the quoted code was not found in a.py",)


def test_a_reviewer_that_lists_all_there_is_resolves_by_leaving_out() -> None:
    known = ledger(replace(WARN, source="static"))
    for mechanical, state in ((frozenset({"static"}), FindingState.RESOLVED), (frozenset[str](), FindingState.OPEN)):
        update = absorb_review(known, remarks=(), cycle=2, files=FILES.get, mechanical=mechanical)
        assert update.finding("F1").state is state


def test_the_same_rule_at_another_line_is_another_finding_of_a_machine() -> None:
    known = ledger(replace(WARN, source="static", rule="E501", quote=""))
    moved = replace(WARN, source="static", rule="E501", quote="", line=14)
    update = absorb_review(known, remarks=(moved,), cycle=2, files=FILES.get, mechanical=frozenset({"static"}))
    assert (update.resolved, update.opened) == (("F1",), ("F2",))


def test_without_a_delta_nothing_is_narrowed() -> None:
    new = replace(WARN, title="Shadows a builtin", description="", line=50, quote="line_50 = 50")
    update = absorb_review(ledger(), remarks=(new,), cycle=2, files=FILES.get)
    assert update.finding("F2").remark.severity is Severity.WARNING


def test_a_dispute_is_upheld_or_withdrawn_by_the_next_review() -> None:
    disputed = dispute(ledger(), [("F1", "it is a line number"), ("F7", "?")], 2)
    assert disputed.disputed == ("F1",)
    assert disputed.notes == ("F7 was disputed but is not open",)
    upheld = ruled(disputed.findings, RulingState.OPEN).finding("F1")
    assert (upheld.state, upheld.disputes, upheld.note) == (FindingState.OPEN, 1, "upheld: so")
    assert ruled(disputed.findings, RulingState.INVALID).resolved == ("F1",)
    assert ruled(disputed.findings, RulingState.OPEN, WARN).finding("F1").state is FindingState.OPEN


def test_a_second_dispute_counts_only_after_the_first_was_ruled_on() -> None:
    once = dispute(ledger(), [("F1", "a")], 2).findings
    assert dispute(once, [("F1", "b")], 2).findings[0].disputes == 1
    upheld = ruled(once, RulingState.OPEN).findings
    assert dispute(upheld, [("F1", "b")], 3).findings[0].disputes == 2


def test_a_dispute_without_evidence_is_none() -> None:
    assert dispute(ledger(), [("F1", "  ")], 2).disputed == ()


def test_what_a_person_waived_does_not_cover_a_graver_problem_in_code_that_changed_since() -> None:
    waived = waive(ledger(), "F1", WAIVER).findings
    graver = replace(WARN, severity=Severity.ERROR, quote="line_10 = eval(x)")
    text = TEXT.replace("line_10 = 10", "line_10 = eval(x)")
    delta = change(FILES, {"a.py": text}, {})
    update = absorb_review(waived, remarks=(graver,), cycle=2, delta=delta, files={"a.py": text}.get)
    assert update.opened == ("F2",) and update.finding("F2").remark.severity is Severity.ERROR
    assert update.finding("F1").state is FindingState.WAIVED
    # where nothing changed, severity may not rise
    again = absorb_review(waived, remarks=(replace(WARN, severity=Severity.ERROR),), cycle=2, files=FILES.get)
    assert [finding.state for finding in again.findings] == [FindingState.WAIVED]


def test_a_waived_finding_stays_waived_when_it_is_raised_again() -> None:
    waived = waive(ledger(), "f1", WAIVER)
    assert waived.waived == ("F1",)
    assert (
        absorb_review(waived.findings, remarks=(WARN,), cycle=2, files=FILES.get).findings[0].state
        is FindingState.WAIVED
    )
    assert ruled(waived.findings, RulingState.OPEN).findings[0].state is FindingState.WAIVED


def test_a_waiver_ends_after_its_last_day() -> None:
    waived = waive(ledger(), "F1", WAIVER).findings
    assert expire(waived, "2026-02-01").reopened == ()
    over = expire(waived, "2026-02-02")
    assert over.reopened == ("F1",)
    assert over.finding("F1").waiver is None


def test_a_person_reopens_what_was_settled_but_not_what_is_open() -> None:
    settled = ruled(ledger(), RulingState.RESOLVED).findings
    assert reopen(settled, "F1", "not so", 2).finding("F1").note == "not so"
    with pytest.raises(Refused):
        reopen(ledger(), "F1", "", 2)
    with pytest.raises(Refused):
        waive(settled, "F1", WAIVER)
    with pytest.raises(BadInput):
        waive(ledger(), "F2", WAIVER)


@pytest.mark.parametrize(
    ("old", "new", "remark", "covered"),
    [
        ("line_20 = 20", "line_20 = 21", {}, True),
        ("line_20 = 20", "line_20 = 21", {"quote": "", "line": 12}, True),
        ("line_10 = 10", "line_10 = 11", {"quote": "line_10 = 11"}, False),
        ("line_10 = 10", "line_10 = 11", {"quote": ""}, False),
        ("line_20 = 20", "line_20 = 21", {"quote": "line_20 = 21", "line": 20}, False),
        ("line_20 = 20", "line_20 = 21", {"quote": "", "line": 19}, False),
        ("line_20 = 20", "line_20 = 21", {"quote": "line_15 = 15", "line": 15}, False),
        ("line_20 = 20", "line_20 = 21", {"quote": "", "line": None}, False),
        ("line_20 = 20", "line_20 = 21", {"quote": "", "line": None, "file": None}, False),
    ],
)
def test_a_waiver_covers_the_code_that_the_person_saw(old: str, new: str, remark: Any, covered: bool) -> None:
    first = replace(WARN, severity=Severity.ERROR, line=10, quote="line_10 = 10")
    waived = waive(absorb_review((), remarks=(first,), cycle=1, files=FILES.get).findings, "F1", WAIVER).findings
    text = TEXT.replace(old, new)
    delta = change(FILES, {"a.py": text}, {})
    again = replace(first, **remark)
    update = absorb_review(waived, remarks=(again,), cycle=2, delta=delta, files={"a.py": text}.get)
    assert update.opened == (() if covered else ("F2",)), update
    assert update.finding("F1").state is FindingState.WAIVED


def test_a_waiver_is_compared_with_the_code_that_the_person_saw_not_with_the_last_review() -> None:
    known = waive(ledger(), "F1", replace(WAIVER, until=None)).findings
    rewritten_text = TEXT.replace("line_10 = 10", "line_10 = 11")
    rewritten = change(FILES, {"a.py": rewritten_text}, {})
    unchanged = change({"a.py": rewritten_text}, {"a.py": rewritten_text}, {})
    remark = replace(WARN, quote="line_10 = 11")
    update = absorb_review(
        known,
        remarks=(remark,),
        cycle=3,
        delta=unchanged,
        files={"a.py": rewritten_text}.get,
        since=lambda waiver: rewritten,
    )
    assert update.opened == ("F2",)
    assert update.finding("F2").remark.severity is Severity.WARNING, "not narrowed to info"
    update = absorb_review(
        known, remarks=(WARN,), cycle=3, delta=unchanged, files=FILES.get, since=lambda waiver: unchanged
    )
    assert not update.opened and update.finding("F1").state is FindingState.WAIVED


@pytest.mark.parametrize(
    ("old", "new", "remark", "state"),
    [
        ("line_20 = 20", "line_20 = 21", {}, FindingState.WAIVED),
        ("line_10 = 10", "line_10 = 11", {}, FindingState.REOPENED),
        ("line_10 = 10", "line_10 = 11", {"quote": ""}, FindingState.REOPENED),
        ("line_20 = 20", "line_20 = 21", {"quote": "", "line": None}, FindingState.REOPENED),
        ("line_20 = 20", "line_20 = 21", {"quote": "", "line": None, "file": None}, FindingState.REOPENED),
    ],
)
def test_a_waiver_stands_against_a_ruling_only_for_the_code_that_the_person_saw(
    old: str, new: str, remark: Any, state: FindingState
) -> None:
    first = replace(WARN, **remark)
    waived = waive(absorb_review((), remarks=(first,), cycle=1, files=FILES.get).findings, "F1", WAIVER).findings
    text = TEXT.replace(old, new)
    rulings = (Ruling("F1", RulingState.OPEN, "worse"),)
    delta = change(FILES, {"a.py": text}, {})
    update = absorb_review(waived, remarks=(), rulings=rulings, cycle=2, delta=delta, files={"a.py": text}.get)
    finding = update.finding("F1")
    assert finding.state is state and (finding.waiver is None) == (state is FindingState.REOPENED)
    assert "worse" in finding.note or state is FindingState.WAIVED


def test_a_waived_finding_that_is_raised_in_new_code_and_ruled_open_is_one_new_finding() -> None:
    text = TEXT.replace("line_10 = 10", "line_10 = 11")
    update = absorb_review(
        waive(ledger(), "F1", WAIVER).findings,
        remarks=(replace(WARN, quote="line_10 = 11"),),
        rulings=(Ruling("F1", RulingState.OPEN, "still"),),
        cycle=2,
        delta=change(FILES, {"a.py": text}, {}),
        files={"a.py": text}.get,
    )
    assert update.opened == ("F2",) and update.finding("F1").state is FindingState.WAIVED


def test_a_comment_of_a_person_is_resolved_by_a_review_but_neither_disputed_nor_withdrawn() -> None:
    known = ledger(replace(WARN, rule=COMMENT_RULE, source="user:ada"))
    disputed = dispute(known, [("F1", "it is right")], 2)
    assert not disputed.disputed and "who alone can withdraw it" in disputed.notes[0]
    invalid = ruled(known, RulingState.INVALID)
    assert invalid.finding("F1").alive and invalid.finding("F1").note == "ruled invalid: so"
    assert ruled(known, RulingState.RESOLVED).resolved == ("F1",)


def test_a_waiver_covers_nothing_after_its_code_was_removed() -> None:
    lines = TEXT.splitlines(keepends=True)
    known = waive(ledger(replace(WARN, quote="")), "F1", replace(WAIVER, until=None)).findings
    shorter = "".join([*lines[:9], *lines[10:]])
    removed = change(FILES, {"a.py": shorter}, {})
    second = absorb_review(known, remarks=(), cycle=2, delta=removed, files={"a.py": shorter}.get)
    more = "".join([*lines[:9], *lines[10:], "last = 1\n"])
    unrelated = change({"a.py": shorter}, {"a.py": more}, {})
    # line 12 stood there all the time, two lines below the one that a person accepted
    other = replace(WARN, line=12, quote="")
    update = absorb_review(second.findings, remarks=(other,), cycle=3, delta=unrelated, files={"a.py": more}.get)
    assert update.opened == ("F2",)

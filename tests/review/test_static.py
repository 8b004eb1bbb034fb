"""The static reviewer's judgement over what analysers and its own eyes report."""

from __future__ import annotations

import pytest

from burnish.core.change import Change
from burnish.core.check import CheckReport, CheckStatus, Comparison, TestFailure
from burnish.core.finding import Category, Remark, Severity
from burnish.core.review import Review, Verdict
from burnish.review.static.files import FileScan, scan_file
from burnish.review.static.lines import line_ranges, unrun_remark
from burnish.review.static.review import conclude, elsewhere
from testing.defects import changed_file

BEFORE = "one\ntwo\nthree\nfour\nfive\n"
AFTER = "one\nTWO\nthree\nfour\nFIVE\nSIX\n"


def looked(path: str = "a.py", after: str = AFTER, before: str | None = BEFORE) -> FileScan:
    file = scan_file(changed_file(path, before, after), after.encode(), lambda _: before)
    assert file is not None
    return file


def said(
    line: int | None, *, end: int | None = None, rule: str = "F821", severity: Severity = Severity.ERROR
) -> Remark:
    return Remark(Category.CODE, severity, f"{rule} here", "why", file="a.py", line=line, end_line=end, rule=rule)


def judged(*remarks: Remark, **more: object) -> Review:
    file = looked()
    change = Change("0", "1", (file.file,))
    return conclude(change, {"a.py": file}, remarks, **more)  # type: ignore[arg-type]


def test_only_changed_lines_are_spoken_of() -> None:
    review = judged(*(said(n, rule="B006") for n in range(1, 7)), said(None))
    assert [remark.line for remark in review.remarks] == [2, 5, 6]
    assert [remark.quote for remark in review.remarks] == ["TWO", "FIVE", "SIX"]


def test_a_long_statement_is_cut_to_its_changed_lines() -> None:
    review = judged(said(1, end=3), said(4, end=9, rule="S608"))
    assert [(r.line, r.end_line) for r in review.remarks] == [(2, 2), (5, 6)]


def test_nothing_is_said_of_files_that_did_not_change() -> None:
    assert judged(Remark(Category.CODE, Severity.ERROR, "x", file="b.py", line=2)).remarks == ()


def test_the_same_is_said_once_and_as_bad_as_the_worst_of_them() -> None:
    review = judged(said(2, severity=Severity.INFO), said(2), said(2))
    assert [remark.severity for remark in review.remarks] == [Severity.ERROR]


def test_two_rules_for_one_mistake_are_one_finding() -> None:
    review = judged(said(2, rule="S110"), said(2, rule="E722"))
    assert [remark.rule for remark in review.remarks] == ["S110"]


@pytest.mark.parametrize(
    ("severity", "verdict"),
    [
        (Severity.ERROR, Verdict.CHANGES_REQUESTED),
        (Severity.WARNING, Verdict.APPROVED),
        (Severity.INFO, Verdict.APPROVED),
    ],
)
def test_only_what_is_surely_wrong_stops_a_change(severity: Severity, verdict: Verdict) -> None:
    review = judged(said(2, severity=severity))
    # Never `blocking`: that would call for a person, and an error can be sent back to be fixed.
    assert review.verdict is verdict and not review.blocking


def test_every_path_was_inspected_and_no_criterion_was_judged() -> None:
    gone = changed_file("gone.py", "x\n", "")
    review = conclude(Change("0", "1", (looked().file, gone)), {"a.py": looked()}, ())
    assert review.inspected == ("a.py", "gone.py") and review.compliance == ()
    assert review.verdict is Verdict.APPROVED and "No findings in 2 changed files" in review.summary


def test_a_missing_name_is_said_once_with_every_place_it_is_used() -> None:
    (remark,) = judged(said(6), said(2), said(5)).remarks
    assert remark.line == 2 and remark.description == "why Also at lines 5, 6."


def test_nothing_else_is_believed_of_a_file_that_cannot_be_read() -> None:
    assert [r.rule for r in judged(said(2), said(1, rule="syntax-error"), said(5, rule="B006")).remarks] == []
    assert [r.rule for r in judged(said(2), said(6, rule="syntax-error")).remarks] == ["syntax-error"]


def test_a_syntax_error_is_said_once_for_each_file() -> None:
    review = judged(said(2, rule="syntax-error"), said(5, rule="syntax-error"))
    assert [remark.line for remark in review.remarks] == [2]


def test_errors_elsewhere_in_a_changed_file_are_looked_into() -> None:
    file = {"a.py": looked()}
    assert [r.line for r in elsewhere(file, (said(1), said(2), said(3, severity=Severity.WARNING)))] == [1]


def test_what_a_change_broke_elsewhere_is_said_of_the_file() -> None:
    review = judged(caused_remarks=(said(1),))
    (remark,) = review.remarks
    assert remark.line is None and remark.file == "a.py" and "line 1" in remark.description


def test_no_field_repeats_a_secret() -> None:
    token = "gh" + "p_" + "a8Kd02mZqPw7Ls93Xc51Vb64Nn20Rt85Yu17"
    other = token[::-1].replace("_phg", "") + "Zz9"
    file = looked("a.py", f'T = "{token}"; password = "{other}"\n', None)
    talk = Remark(Category.CODE, Severity.INFO, f"T is {token}", token, f"drop {token}", "a.py", 1, rule="X1")
    review = conclude(Change("0", "1", (file.file,)), {"a.py": file}, (talk,))
    assert [remark.rule for remark in review.remarks] == ["secret", "X1"]
    assert token not in repr(review) and other not in repr(review)


def test_new_test_failures_are_remarks_where_asked_for() -> None:
    report = CheckReport("test", "pytest", CheckStatus.FAILED)
    new = (TestFailure("t::a", "failed", "boom", "a.py", 2), TestFailure("t::b", "failed", "", "t.py", 9))
    broken = Comparison(CheckReport("types", "mypy", CheckStatus.ERROR, error="not there"), None, broken=True)
    scan = Comparison(CheckReport("scan", "s", CheckStatus.FAILED), None, new_remarks=(said(1), said(5)))
    review = judged(comparisons=(Comparison(report, None, new=new), broken, scan))
    assert {(r.rule, r.file, r.line) for r in review.remarks} == {
        ("test-failure", "a.py", 2),
        ("test-failure", None, None),
        ("types-failure", None, None),
        ("F821", "a.py", 5),
    }
    assert all(remark.source == "static" for remark in review.remarks)


def test_changed_lines_that_no_test_runs_are_one_remark() -> None:
    remark = unrun_remark(looked(), {1, 2, 5, 6}, {3})
    assert remark and remark.title == "Lines 2, 5–6 are changed and no test runs them"
    assert remark.line == 2 and remark.severity is Severity.INFO and remark.category is Category.TEST
    assert unrun_remark(looked(), {1, 3}, {2}) is None
    assert unrun_remark(looked("tests/test_a.py"), {2}, ()) is None


def test_a_new_file_that_nothing_runs_is_a_warning() -> None:
    remark = unrun_remark(looked("b.py", "x\n" * 9, None), set(range(1, 10)), ())
    assert remark and remark.severity is Severity.WARNING


def test_many_places_are_cut_short() -> None:
    assert line_ranges([3]) == "Line 3"
    assert line_ranges(list(range(1, 40, 2))).endswith("and 12 more places")


def test_a_syntax_error_says_that_the_rest_was_not_analysed() -> None:
    (only,) = judged(said(2, rule="syntax-error"), said(5)).remarks
    assert only.description == "why Until this is fixed, the rest of the file is not analysed."

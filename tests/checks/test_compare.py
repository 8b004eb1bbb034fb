from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.base_tests import EditedTests, judge_base_tests
from burnish.core.check import CheckReport, CheckStatus, Counts, TestFailure, compare
from burnish.core.codec import decode, encode
from burnish.core.finding import Category, Remark, Severity

PASSED = CheckReport("test", "pytest", CheckStatus.PASSED, exit_code=0, counts=Counts(3, 3, 0, 0))
ERROR = CheckReport("test", "pytest", CheckStatus.ERROR, error="no pytest")


def failed(*names: str, exit_code: int = 1) -> CheckReport:
    cases = tuple(TestFailure(name, "failed") for name in names)
    counts = Counts(9, 9 - len(names), len(names), 0) if names else None
    return CheckReport("test", "pytest", CheckStatus.FAILED, exit_code=exit_code, counts=counts, failures=cases)


def lint(*remarks: tuple[str, int, str, str]) -> CheckReport:
    made = tuple(
        Remark(Category.CODE, Severity.ERROR, text, file=file, line=line, rule=rule)
        for file, line, rule, text in remarks
    )
    status = CheckStatus.FAILED if made else CheckStatus.PASSED
    return CheckReport("lint", "ruff check", status, exit_code=int(bool(made)), remarks=made)


def test_what_failed_before_is_old_and_the_rest_is_new() -> None:
    seen = compare(failed("a", "b"), failed("b", "c"))
    assert [one.name for one in seen.new] == ["a"]
    assert [one.name for one in seen.old] == ["b"]
    assert seen.fixed == ("c",)
    assert not seen.broken and not seen.clean


def test_tests_of_two_files_with_one_name_are_two_tests() -> None:
    before, now = (
        replace(failed("works"), failures=(TestFailure("works", "failed", file=file),))
        for file in ("a.test.js", "b.test.js")
    )
    seen = compare(now, before)
    assert [one.file for one in seen.new] == ["b.test.js"] and seen.fixed == ("works",)
    # where one report does not tell the file, the name decides
    assert compare(failed("works"), before).clean and compare(now, failed("works")).clean


def test_only_old_failures_are_clean() -> None:
    assert compare(failed("a"), failed("a")).clean


def test_without_a_baseline_every_failure_counts_as_new() -> None:
    for unknown in (None, ERROR):
        seen = compare(failed("a"), unknown)
        assert [one.name for one in seen.new] == ["a"]
        assert seen.baseline is None


def test_a_check_that_could_not_run_is_broken_and_never_clean() -> None:
    for base in (None, PASSED, failed("a"), ERROR):
        seen = compare(ERROR, base)
        assert seen.broken and not seen.clean
        assert seen.fixed == ()


def test_a_failure_by_exit_code_alone_is_broken_unless_the_base_failed_the_same_way() -> None:
    assert compare(failed(), PASSED).broken
    assert compare(failed(), None).broken
    assert compare(failed(exit_code=2), failed(exit_code=1)).broken
    assert not compare(failed(), failed()).broken


def test_a_crash_is_not_hidden_by_failures_that_are_old() -> None:
    assert compare(failed("a", exit_code=3), failed("a", exit_code=1)).broken
    assert compare(failed(exit_code=1), failed("a", exit_code=1)).broken


def test_a_remark_that_only_moved_is_not_new() -> None:
    base = lint(("a.py", 3, "E501", "Line too long (120 > 110)"))
    assert compare(lint(("a.py", 9, "E501", "Line too long (121 > 110)")), base).clean


def test_a_second_remark_of_the_same_kind_is_new() -> None:
    one, two = ("a.py", 3, "F401", "unused"), ("a.py", 4, "F401", "unused")
    assert len(compare(lint(one, two), lint(one)).new_remarks) == 1
    assert len(compare(lint(("b.py", 3, "F401", "unused")), lint(one)).new_remarks) == 1


NAMES = st.lists(st.sampled_from("abcde"), max_size=8)


@given(NAMES, NAMES)
def test_new_and_old_are_all_there_is(now: list[str], before: list[str]) -> None:
    seen = compare(failed(*now), failed(*before) if before else PASSED)
    assert sorted(one.name for one in (*seen.new, *seen.old)) == sorted(now)
    assert set(seen.fixed) == (set(before) - set(now) if now else set())


@given(NAMES)
def test_a_check_that_passes_is_clean_whatever_the_base_was(before: list[str]) -> None:
    seen = compare(PASSED, failed(*before))
    assert seen.clean
    assert set(seen.fixed) == set(before)
    assert compare(PASSED, replace(PASSED, status=CheckStatus.ERROR)).clean


def test_tests_without_cases_that_fall_silent_may_have_run_nothing() -> None:
    before = CheckReport("test", "npm test", CheckStatus.PASSED, exit_code=0, tail="> calc@1.0.0 test\n\nall good")
    now = replace(before, tail="> calc@1.0.0 test\n\nnpm warn Unknown user config")
    assert "prints nothing now" in compare(now, before).uncountable
    assert not compare(before, before).uncountable and not compare(now, now).uncountable
    # linters print problems alone, and a report with cases tells what ran
    assert not compare(replace(now, name="lint"), replace(before, name="lint")).uncountable
    assert not compare(replace(PASSED, tail=""), replace(PASSED, tail="3 passed")).uncountable


SCRIPT = CheckReport("test", "make test", CheckStatus.PASSED, exit_code=0, tail="./t\nrunning\nall 4 tests passed")
SCRIPT = replace(SCRIPT, last_line="all 4 tests passed")


def test_a_new_printed_failure_of_a_command_that_succeeds_is_uncountable() -> None:
    broken = replace(SCRIPT, failure_lines=("Assertion `add(1, 2) == 3' failed.",))
    assert "prints a failure that it did not print before" in compare(broken, SCRIPT).uncountable
    assert "prints a failure" in compare(broken, None).uncountable
    assert not compare(broken, replace(broken, failure_lines=("Assertion `add(4, 5) == 6' failed.",))).uncountable
    assert not compare(SCRIPT, broken).uncountable
    # one more than before, and another number of failures
    assert compare(replace(broken, failure_lines=broken.failure_lines * 2), broken).uncountable
    two, one = (replace(SCRIPT, failure_lines=(text,)) for text in ("2 failures", "1 failures"))
    assert compare(two, one).uncountable and not compare(two, two).uncountable


def test_fewer_passed_tests_in_the_last_line_are_uncountable() -> None:
    lines = ("3 tests passed (0.5 s)", "2 tests passed (0.9 s)")
    three, two = (replace(SCRIPT, tail=text, last_line=text) for text in lines)
    assert "reports 2 passed tests instead of 3" in compare(two, three).uncountable
    assert not compare(three, two).uncountable and not compare(three, three).uncountable


def test_tests_without_cases_that_end_before_their_last_line_may_have_ended_early() -> None:
    early = replace(SCRIPT, tail="./t\nrunning\nmake: Leaving directory '/x'")
    assert "prints less than before the change" in compare(early, SCRIPT).uncountable
    # a warning on standard error that is gone
    noisy = replace(SCRIPT, tail=f"{SCRIPT.tail}\nwarning: unused variable")
    assert not compare(SCRIPT, noisy).uncountable
    assert not compare(replace(SCRIPT, tail="./t\nall 5 tests passed"), SCRIPT).uncountable
    assert not compare(replace(SCRIPT, tail="./t\nrunning\nevery test passed"), SCRIPT).uncountable


def outputs(before: str, now: str, *, name: str = "test", counts: Counts | None = None) -> str:
    """The note on two runs that end with exit code 0 and print this."""
    base = CheckReport(name, "make test", CheckStatus.PASSED, exit_code=0, tail=before, counts=counts)
    return compare(replace(base, tail=now), base).output_note


def test_a_line_that_takes_the_place_of_another_one_is_named_where_no_cases_are_reported() -> None:
    note = "test ends with exit code 0, but prints `add is wrong` where it printed `add is right` before the change"
    assert outputs("start\nadd is right\nend", "start\nadd is wrong\nend") == note
    assert "`sum: -1`" in outputs("sum: 3\nend", "sum: -1\nend")
    assert "`[2/3] ok`" in outputs("[3/3] ok", "[2/3] ok") and "`rate: 66%`" in outputs("rate: 100%", "rate: 66%")


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("2 passed, 0 skipped", "2 passed, 1 skipped"),
        ("2 passed, 0 skipped", "3 passed, 1 skipped"),
        ("5 run, 4 passed", "7 run, 5 passed"),
        ("test 1 ok\ntest 2 ok", "test 1 ok\ntest 3 ok"),
    ],
)
def test_a_summary_in_which_more_than_passed_tests_is_added_is_named(before: str, now: str) -> None:
    assert outputs(f"{before}\nend", f"{now}\nend")


def test_a_passed_test_that_is_not_printed_any_more_is_named_where_no_cases_are_reported() -> None:
    note = "test ends with exit code 0, but does not print `test 2: ok` any more"
    assert outputs("test 1: ok\ntest 2: ok\ntest 3: ok", "test 1: ok\ntest 3: ok") == note
    assert outputs("a warning\ntest: ok", "test: ok") == ""


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("add ok\nend", "add ok\nsub ok\nend"),
        ("took 0.01s\nend", "took 1.42 s\nend"),
        ("12:00:01 start\n2026-01-02 end", "12:00:59 start\n2026-03-04 end"),
        ("cc -c a.c\nend", "cc -O2 -c a.c\nend"),
        ("a.c:3:5: warning: x", "a.c:7:5: warning: x"),
        ("read /tmp/a.1/x\nend", "read /tmp/b.2/x\nend"),
        ("seed 123\nat 0xff01", "seed 987\nat 0xab02"),
        ("b\na", "a\nb"),
        ("[ 50%] Building C object a.o\nend", "[ 33%] Building C object b.o\nend"),
        ("a\n…\nb", "a\n…\nc"),
        ("ran\n2 checks passed", "ran\n3 checks passed"),
        ("total: 5, passed: 4, failed: 0, skipped: 1", "total: 7, passed: 6, failed: 0, skipped: 1"),
    ],
)
def test_more_lines_and_what_differs_in_each_run_are_not_named(before: str, now: str) -> None:
    assert outputs(before, now) == ""


def test_other_output_of_tests_with_cases_and_of_linters_is_not_named() -> None:
    assert outputs("a\nb", "a\nc", counts=Counts(3, 3, 0, 0)) == ""
    assert outputs("a\nb", "a\nc", name="lint") == ""


def test_problems_are_not_new_if_an_older_report_of_the_base_does_not_have_them() -> None:
    now = CheckReport("lint", "make lint", CheckStatus.PASSED, exit_code=0, problem_lines=("a.py: line 9 is long",))
    data = encode(now)
    for key in ("problem_lines", "test_files"):
        del data[key]
    # a field that reports no longer have
    base = decode(CheckReport, {**data, "skipped_files": ["tests/test_a.py"]})
    seen = compare(now, base)
    assert seen.output_note == "" and seen.clean and not seen.uncountable


def test_problems_of_a_linter_are_not_new_if_the_base_has_too_many() -> None:
    now = CheckReport("lint", "make lint", CheckStatus.PASSED, exit_code=0, problem_lines=("a.py: line 9 is long",))
    assert compare(now, replace(now, problem_lines=None)).output_note == ""
    assert compare(replace(now, problem_lines=None), now).output_note == ""


def test_a_new_problem_of_a_linter_that_ends_with_0_is_named() -> None:
    base = CheckReport("lint", "make lint", CheckStatus.PASSED, exit_code=0, problem_lines=("a.py: line 3 is long",))
    now = replace(base, problem_lines=("a.py: line 9 is long", "b.py: use of eval"))
    seen = compare(now, base)
    assert seen.output_note.endswith("prints a problem that it did not print before: b.py: use of eval")
    assert seen.clean and not seen.uncountable
    assert compare(replace(now, problem_lines=("a.py: line 9 is long",)), base).output_note == ""


def test_a_failure_whose_name_changed_with_each_run_of_the_base_is_old() -> None:
    base = replace(failed("test_a.py::t[1763500000]"), changing_names=("test_a.py::t[#]",))
    seen = compare(failed("test_a.py::t[1763599999]"), base)
    assert seen.clean and [one.name for one in seen.old] == ["test_a.py::t[1763599999]"] and not seen.fixed


def test_more_failures_with_changing_names_than_on_the_base_are_new() -> None:
    base = replace(failed("test_a.py::t[17635]"), changing_names=("test_a.py::t[#]",))
    assert len(compare(failed("test_a.py::t[17636]", "test_a.py::t[17637]"), base).new) == 1
    assert [one.name for one in compare(failed("test_b.py::t[17636]"), base).new] == ["test_b.py::t[17636]"]


def test_a_constant_name_with_another_number_is_another_test() -> None:
    assert [one.name for one in compare(failed("test_a.py::t[2]"), failed("test_a.py::t[1]")).new] == [
        "test_a.py::t[2]"
    ]


@pytest.mark.parametrize(
    "tail",
    [
        "FAIL Required test coverage of 90% not reached. Total coverage: 83.33%",
        "Coverage failure: total of 83 is less than fail-under=90",
        'Jest: "global" coverage threshold for lines (90%) not met: 83%',
        "ERROR: Coverage for lines (83%) does not meet global threshold (90%)",
    ],
)
def test_tests_of_the_base_that_pass_and_do_not_cover_the_added_code_are_no_failure(tail: str) -> None:
    edits = EditedTests(("test_a.py",))
    now = replace(PASSED, status=CheckStatus.FAILED, exit_code=1, tail=f"{tail}\n3 passed")
    assert judge_base_tests(edits, now, PASSED).note == ""
    # the tests pass, and something else fails
    assert judge_base_tests(edits, replace(now, tail="3 passed\n1c1\n< 3\n> -1"), PASSED).failures
    with_failure = replace(failed("a"), tail=tail)
    assert [one.name for one in judge_base_tests(edits, with_failure, PASSED).failures] == ["a"]


@pytest.mark.parametrize("counts", [Counts(2, 2, 0, 0), Counts(3, 2, 0, 1), Counts(5, 2, 0, 3)])
def test_tests_of_the_base_that_do_not_run_with_the_change_are_not_taken_for_passed(counts: Counts) -> None:
    edits = EditedTests(("tests/test_a.py",))
    note = judge_base_tests(edits, replace(PASSED, counts=counts), PASSED).note
    assert note.endswith("which edits tests: test ran 2 of the 3 tests of the base.")
    assert judge_base_tests(edits, replace(PASSED, counts=Counts(4, 4, 0, 0)), PASSED).note == ""
    assert judge_base_tests(edits, replace(PASSED, counts=None), replace(PASSED, counts=None)).note == ""

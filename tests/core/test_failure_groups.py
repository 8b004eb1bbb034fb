"""Floods of failures: few findings, and none of the failures lost."""

from __future__ import annotations

import json
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.check import CheckReport, CheckStatus, Comparison, TestFailure
from burnish.core.codec import decode, encode
from burnish.core.failure_groups import covered_names
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity, Waiver
from burnish.core.ledger.ledger import LedgerDiff, absorb_checks, waive
from testing.long_forms import examples

BROKEN = "ImportError: cannot import name 'helper'"


def failing(failures: Iterable[TestFailure]) -> Comparison:
    new = tuple(failures)
    status = CheckStatus.FAILED if new else CheckStatus.PASSED
    return Comparison(CheckReport("test", "pytest", status, int(bool(new)), failures=new), None, new=new)


def flood(numbers: Iterable[int], message: str = BROKEN, file: str = "t/test_a.py") -> list[TestFailure]:
    return [TestFailure(f"t.test_a::test_{n}", "failed", message, file, 3) for n in numbers]


def absorb(findings: tuple[Finding, ...], failures: Iterable[TestFailure], cycle: int = 1) -> LedgerDiff:
    return absorb_checks(findings, comparisons=(failing(failures),), cycle=cycle)


def test_equal_failures_are_one_finding_with_a_count_and_examples() -> None:
    (finding,) = absorb((), flood(range(3000))).findings
    remark = finding.remark
    assert (remark.count, len(remark.examples), remark.file) == (3000, 20, "t/test_a.py")
    assert remark.title == f"3,000 tests fail: {BROKEN}"
    assert BROKEN in remark.description and "t.test_a::test_0" in remark.description
    assert len(json.dumps(encode(finding))) < 40_000


def test_two_causes_are_two_findings_and_a_failure_without_a_message_stays_alone() -> None:
    mixed = [*flood(range(5)), *flood(range(5, 9), "other"), *flood((9, 10), "")]
    assert [f.remark.count for f in absorb((), mixed).findings] == [5, 4, 1, 1]
    elsewhere = [*flood(range(5)), *flood(range(5, 9), file="t/test_b.py")]
    assert [f.remark.count for f in absorb((), elsewhere).findings] == [5, 4]


def test_the_message_is_the_first_line_and_the_trace_of_one_test_is_shown() -> None:
    traced = [TestFailure(f"t::{n}", "failed", f"{BROKEN}\nn = {n}", "a.py") for n in range(5)]
    (finding,) = absorb((), traced).findings
    assert finding.remark.title == f"5 tests fail: {BROKEN}" and "n = 0" in finding.remark.description
    assert finding.remark.description.count(BROKEN) == 1


def test_half_of_a_group_fixed_leaves_the_same_finding_with_a_smaller_count() -> None:
    known = absorb((), flood(range(3000))).findings
    half = absorb(known, flood(range(1500)), 2)
    assert half.still == ("F1",) and half.finding("F1").remark.count == 1500
    last = absorb(half.findings, flood([7]), 3)
    assert last.still == ("F1",) and last.finding("F1").remark.title == f"1 test fails: {BROKEN}"
    done = absorb(last.findings, [], 4)
    assert done.resolved == ("F1",)
    assert absorb(done.findings, flood([2999], "another message"), 5).reopened == ("F1",)


def test_a_group_is_known_by_its_tests_whatever_they_say() -> None:
    known = absorb((), flood(range(100))).findings
    update = absorb(known, [*flood(range(50), "one"), *flood(range(50, 100), "two")], 2)
    assert (update.still, update.opened) == (("F1",), ())
    assert update.finding("F1").remark.count == 100


def test_a_group_that_comes_back_with_other_tests_loses_none_of_them() -> None:
    known = absorb(absorb((), flood(range(2))).findings, [], 2).findings
    back = absorb(known, [*flood([0]), *flood([5, 6])], 3)
    assert back.reopened == ("F1",) and back.finding("F1").remark.count == 3 and not back.opened


def test_a_test_with_a_finding_of_its_own_keeps_it_in_a_flood() -> None:
    known = absorb((), flood([1])).findings
    update = absorb(known, flood(range(3000)), 2)
    assert (update.still, update.opened) == (("F1",), ("F2",))
    assert update.finding("F2").remark.count == 2999


def test_a_waiver_covers_the_failures_of_then_and_no_others() -> None:
    known = waive(absorb((), flood(range(30))).findings, "F1", Waiver("ann", "legacy", "2026-01-01")).findings
    fewer = absorb(known, flood(range(10)), 2)
    assert fewer.finding("F1").state is FindingState.WAIVED and not fewer.opened
    more = absorb(known, flood(range(60)), 2)
    assert more.finding("F1").state is FindingState.WAIVED
    assert more.opened == ("F2",) and more.finding("F2").remark.count == 30
    assert absorb(more.findings, flood(range(60)), 3).still == ("F2",)


def test_a_waived_group_does_not_take_in_a_test_that_passed_when_it_was_waived() -> None:
    known = absorb(absorb((), flood(range(10))).findings, flood(range(5)), 2).findings
    known = waive(known, "F1", Waiver("ann", "legacy", "2026-01-01")).findings
    update = absorb(known, flood(range(5, 10)), 3)
    assert update.finding("F1").state is FindingState.WAIVED
    assert update.opened == ("F2",) and update.finding("F2").remark.count == 5
    fewer = absorb(known, flood([1]), 3).findings
    assert absorb(fewer, flood([2]), 4).opened == (), "the person has seen it"


def _lint(places: Iterable[tuple[str, str]]) -> Comparison:
    remarks = tuple(
        Remark(Category.CODE, Severity.WARNING, f"Problem {rule}", file=file, line=n + 1, rule=rule)
        for n, (file, rule) in enumerate(places)
    )
    return Comparison(CheckReport("lint", "ruff", CheckStatus.FAILED, remarks=remarks), None, new_remarks=remarks)


def test_a_waived_group_of_lint_problems_does_not_take_in_others() -> None:
    old = [(f"f{n}.py", f"R{n}") for n in range(60)]
    made = absorb_checks((), comparisons=(_lint(old),), cycle=1)
    assert [f.remark.count for f in made.findings] == [60]
    known = waive(made.findings, "F1", Waiver("ann", "legacy", "2026-01-01")).findings
    assert absorb_checks(known, comparisons=(_lint(old[5:]),), cycle=2).opened == ()
    swapped = absorb_checks(known, comparisons=(_lint([*old[1:], ("new.py", "S602")]),), cycle=2)
    assert swapped.opened == ("F2",) and swapped.finding("F2").remark.rule == "S602"
    twice = absorb_checks(known, comparisons=(_lint([*old[1:], old[1]]),), cycle=2)
    assert twice.opened == ("F2",), "a second one of a kind was not waived"


def test_different_failures_in_a_flood_are_grouped_by_less_and_less() -> None:
    numbered = [TestFailure(f"t::{n}", "failed", f"assert {n} == 0", "a.py") for n in range(1000)]
    (finding,) = absorb((), numbered).findings
    assert finding.remark.count == 1000 and "assert 0 == 0" in finding.remark.description
    scattered = [TestFailure(f"t::{n}", "failed", chr(97 + n % 26) * (n + 1), f"f{n}.py") for n in range(1000)]
    made = absorb((), scattered)
    assert sum(f.remark.count for f in made.findings) == 1000 and len(made.findings) <= 50
    few = absorb(made.findings, scattered[:3], 2)
    assert (few.still, few.opened, few.finding("F1").remark.count) == (("F1",), (), 3)


def test_a_flood_of_lint_problems_is_grouped_and_a_few_are_not() -> None:
    def lint(count: int) -> Comparison:
        remarks = tuple(
            Remark(Category.CODE, Severity.WARNING, "Line too long", file=f"f{n % 3}.py", line=n + 1, rule="E501")
            for n in range(count)
        )
        return Comparison(CheckReport("lint", "ruff", CheckStatus.FAILED, remarks=remarks), None, new_remarks=remarks)

    assert len(absorb_checks((), comparisons=(lint(20),), cycle=1).findings) == 20
    made = absorb_checks((), comparisons=(lint(3000),), cycle=1)
    assert [f.remark.count for f in made.findings] == [1000, 1000, 1000]
    assert made.findings[0].remark.title == "1,000 problems: Line too long"
    fewer = absorb_checks(made.findings, comparisons=(lint(30),), cycle=2)
    assert fewer.still == ("F1", "F2", "F3") and [f.remark.count for f in fewer.findings] == [10, 10, 10]


def test_findings_of_older_logs_without_counts_can_be_read() -> None:
    old = encode(absorb((), flood([1])).findings[0])
    for key in ("count", "examples", "members"):
        del old[key]
    assert decode(Finding, old).remark.count == 1


_failure = st.builds(
    TestFailure,
    st.integers(0, 40).map("t::{}".format),
    st.just("failed"),
    st.sampled_from(["", "a", "b 1", "b 2"]),
    st.sampled_from([None, "a.py", "b.py"]),
)
_failures = st.lists(_failure, max_size=120, unique_by=lambda failure: failure.name)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(_failures, min_size=1, max_size=4))
def test_each_failure_is_covered_by_a_finding_that_is_open(rounds: list[list[TestFailure]]) -> None:
    findings: tuple[Finding, ...] = ()
    for cycle, failures in enumerate(rounds, 1):
        findings = absorb(findings, failures, cycle).findings
        alive = [finding.remark for finding in findings if finding.alive]
        names = {failure.name for failure in failures}
        assert covered_names(alive, names) == names
        assert sum(remark.count for remark in alive) == len(failures)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.tuples(_failures, st.sets(st.integers(0, 5))), min_size=1, max_size=5))
def test_a_failure_is_open_or_was_failing_when_a_person_waived_it(
    rounds: list[tuple[list[TestFailure], set[int]]],
) -> None:
    findings: tuple[Finding, ...] = ()
    waived: set[str] = set()
    for cycle, (failures, picked) in enumerate(rounds, 1):
        findings = absorb(findings, failures, cycle).findings
        alive = [finding for finding in findings if finding.alive]
        names = {failure.name for failure in failures}
        assert covered_names([finding.remark for finding in alive], names) | waived >= names
        for number in picked & set(range(len(alive))):
            finding = alive[number]
            waived |= covered_names([finding.remark], names)
            findings = waive(findings, finding.id, Waiver("ann", "legacy", "2026-01-01")).findings

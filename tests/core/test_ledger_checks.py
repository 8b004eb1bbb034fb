"""What the checks say, in the ledger."""

from __future__ import annotations

from dataclasses import replace

import pytest

from burnish.core.check import CheckReport, CheckStatus, Comparison, TestFailure
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity, Waiver
from burnish.core.ledger.ledger import absorb_checks, absorb_review, absorb_source, waive
from burnish.core.review import Ruling, RulingState
from testing.histories import change

LONG = Remark(Category.CODE, Severity.WARNING, "Line too long", file="a.py", line=4, rule="E501")
TEXT = "".join(f"line_{n} = {n}\n" for n in range(1, 41))


def failing(*names: str, **report: object) -> Comparison:
    failures = tuple(TestFailure(name, "failed", f"{name} broke") for name in names)
    status = CheckStatus.FAILED if names else CheckStatus.PASSED
    base = CheckReport("test", "pytest", status, exit_code=int(bool(names)), failures=failures)
    return Comparison(replace(base, **report), None, new=failures)  # type: ignore[arg-type]


def lint(*remarks: Remark) -> Comparison:
    status = CheckStatus.FAILED if remarks else CheckStatus.PASSED
    return Comparison(CheckReport("lint", "ruff", status, remarks=remarks), None, new_remarks=remarks)


def broken(status: CheckStatus = CheckStatus.FAILED) -> Comparison:
    return Comparison(CheckReport("test", "pytest", status, exit_code=2, tail="boom"), None, broken=True)


def absorb(findings: tuple[Finding, ...], *comparisons: Comparison, cycle: int = 1):  # type: ignore[no-untyped-def]
    return absorb_checks(findings, comparisons=comparisons, cycle=cycle)


def test_new_failures_become_findings_of_their_check() -> None:
    update = absorb((), failing("test_a", "test_b"), lint(LONG))
    assert update.opened == ("F1", "F2", "F3")
    first, _, third = (finding.remark for finding in update.findings)
    assert (first.category, first.severity, first.source, first.rule) == (
        Category.TEST,
        Severity.ERROR,
        "check:test",
        "test_a",
    )
    assert (third.category, third.severity, third.source) == (Category.CODE, Severity.ERROR, "check:lint")


def test_a_test_is_known_by_its_name_whatever_it_says() -> None:
    known = absorb((), failing("test_a", "test_b")).findings
    update = absorb(known, failing("test_b"), cycle=2)
    assert update.resolved == ("F1",)
    assert update.still == ("F2",)
    assert absorb(update.findings, failing("test_a"), cycle=3).reopened == ("F1",)


def test_the_same_test_name_in_another_check_is_another_finding() -> None:
    other = failing("test_a", name="slow")
    assert absorb((), failing("test_a"), other).opened == ("F1", "F2")


def test_a_check_that_could_not_be_run_resolves_nothing_and_is_a_finding() -> None:
    known = absorb((), failing("test_a")).findings
    update = absorb(known, broken(CheckStatus.ERROR), cycle=2)
    assert update.still == ("F1",)
    assert update.opened == ("F2",)
    assert "could not be run" in update.finding("F2").remark.title


def test_a_crash_before_any_test_ran_resolves_no_test() -> None:
    known = absorb((), failing("test_a")).findings
    update = absorb(known, broken(), cycle=2)
    assert update.still == ("F1",)
    healed = absorb(update.findings, failing(), cycle=3)
    assert healed.resolved == ("F1", "F2")


def test_a_check_that_did_not_run_resolves_nothing() -> None:
    known = absorb((), failing("test_a")).findings
    assert absorb(known, lint(), cycle=2).still == ("F1",)


def test_what_may_not_block_is_only_told() -> None:
    update = absorb((), failing("test_a", blocking=False))
    assert update.findings[0].remark.severity is Severity.INFO


def test_a_lint_problem_moves_with_its_line_and_a_second_one_is_new() -> None:
    known = absorb((), lint(LONG)).findings
    after = {"a.py": "# x\n# y\n" + TEXT}
    update = absorb_checks(
        known,
        comparisons=(lint(replace(LONG, line=30), replace(LONG, line=6)),),
        cycle=2,
        delta=change({"a.py": TEXT}, after, {}),
        files=after.get,
    )
    assert update.given == ("F2", "F1")


def test_lines_are_followed_by_the_diff_alone_where_no_files_are_given() -> None:
    known = absorb((), lint(LONG)).findings
    delta = change({"a.py": TEXT}, {"a.py": "# x\n" + TEXT.replace("line_20 = 20\n", "")}, {})
    said = (lint(replace(LONG, line=9)),)
    update = absorb_checks(known, comparisons=said, cycle=2, delta=delta)
    assert (update.resolved, update.opened) == (("F1",), ("F2",))
    said = (lint(replace(LONG, line=5)),)
    assert absorb_checks(known, comparisons=said, cycle=2, delta=delta).given == ("F1",)


def test_of_two_lint_problems_the_fixed_one_is_resolved() -> None:
    known = absorb((), lint(LONG, replace(LONG, line=5))).findings
    after = {"a.py": TEXT.replace("line_4 = 4\n", "")}
    update = absorb_checks(
        known,
        comparisons=(lint(replace(LONG, line=4)),),
        cycle=2,
        delta=change({"a.py": TEXT}, after, {}),
        files=after.get,
    )
    assert update.resolved == ("F1",)
    assert update.given == ("F2",)


@pytest.mark.parametrize("state", [RulingState.RESOLVED, RulingState.INVALID])
def test_a_reviewers_word_does_not_outweigh_a_failing_test(state: RulingState) -> None:
    known = absorb((), failing("test_a"), cycle=2).findings
    update = absorb_review(known, remarks=(), rulings=(Ruling("F1", state),), cycle=2)
    assert update.still == ("F1",)
    assert any("still reports it" in note for note in update.notes)


def test_a_review_leaves_the_findings_of_checks_where_they_are() -> None:
    known = absorb((), lint(LONG)).findings
    delta = change({"a.py": TEXT}, {"a.py": "\n" + TEXT}, {})
    update = absorb_review(known, remarks=(), cycle=1, delta=delta, files={"a.py": "\n" + TEXT}.get)
    assert update.findings == known


def test_any_other_source_that_lists_all_there_is_can_be_written_in() -> None:
    thinner = Remark(Category.GUARD, Severity.ERROR, "3 tests fewer than at the base", rule="thinning")
    opened = absorb_source((), source="check:guard", remarks=(thinner,), cycle=1)
    assert opened.findings[0].reviewers == ("check:guard",)
    settled = absorb_source(opened.findings, source="check:guard", remarks=(), cycle=2)
    assert settled.finding("F1").state is FindingState.RESOLVED


def test_a_waived_lint_problem_is_open_again_once_its_line_is_rewritten() -> None:
    waiver = Waiver("ann", "known", "2026-01-01")
    known = waive(absorb((), lint(LONG)).findings, "F1", waiver).findings
    line = f"line_{LONG.line} = {LONG.line}"
    elsewhere = change({"a.py": TEXT}, {"a.py": TEXT.replace("line_20 = 20", "line_20 = 21")}, {})
    rewritten = change({"a.py": TEXT}, {"a.py": TEXT.replace(f"{line}\n", f"{line} + 1\n")}, {})
    update = absorb_checks(known, comparisons=(lint(LONG),), cycle=2, delta=elsewhere)
    assert update.finding("F1").state is FindingState.WAIVED
    update = absorb_checks(known, comparisons=(lint(LONG),), cycle=2, delta=rewritten)
    assert update.reopened == ("F1",) and update.finding("F1").waiver is None


def test_a_waived_lint_problem_is_compared_with_the_code_that_the_person_saw() -> None:
    known = waive(absorb((), lint(LONG)).findings, "F1", Waiver("ann", "known", "2026-01-01", cycle=3)).findings
    line = f"line_{LONG.line} = {LONG.line}"
    rewritten = change({"a.py": TEXT}, {"a.py": TEXT.replace(f"{line}\n", f"{line} + 1\n")}, {})
    unchanged = change({"a.py": TEXT}, {"a.py": TEXT}, {})
    # waived in cycle 3, after its work began: the person saw the code of cycle 1
    for cycle in (3, 4):
        update = absorb_checks(
            known, comparisons=(lint(LONG),), cycle=cycle, delta=unchanged, since=lambda waiver: rewritten
        )
        assert update.reopened == ("F1",)
    update = absorb_checks(known, comparisons=(lint(LONG),), cycle=3, delta=rewritten, since=lambda waiver: unchanged)
    assert update.finding("F1").state is FindingState.WAIVED

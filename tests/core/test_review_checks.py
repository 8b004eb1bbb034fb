"""One line per check, from what the log of a task holds: the same words as in `burnish review`."""

from __future__ import annotations

from typing import Any

import pytest

from burnish.core.check import CheckReport, CheckStatus, compare
from burnish.core.journal import CheckRecord, read
from burnish.core.review_checks import CheckState, reviewed_check, stored_check


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({"status": "passed", "counts": {"passed": 3}}, "test: passed 3"),
        ({"status": "passed", "counts": {"passed": 3, "skipped": 2}}, "test: passed 3, 2 skipped"),
        (
            {"status": "failed", "old": ["b"], "counts": {"passed": 2, "skipped": 1}},
            "test: 1 failure, failed before too, 2 passed, 1 skipped",
        ),
        ({"status": "passed", "counts": {"passed": 3}, "flaky": ["t::a"]}, "test: passed 3, 1 flaky test"),
        ({"status": "failed", "new": ["a"], "old": ["b"]}, "test: 1 new failure, 1 failed before too"),
        ({"status": "failed", "old": ["b"], "counts": {"passed": 2}}, "test: 1 failure, failed before too, 2 passed"),
        ({"status": "failed", "broken": True}, "test: fails, and did not fail before"),
        (
            {"status": "failed", "uncountable": "test reports an exit code alone"},
            "test: reports an exit code alone: new failures cannot be distinguished from old ones",
        ),
        ({"status": "error", "error": "no such program"}, "test: could not start: no such program"),
        (
            {"status": "not_run", "why": "no changed file matches web/**"},
            "test: not run: no changed file matches web/**",
        ),
    ],
)
def test_a_stored_check_reads_as_in_a_review(data: dict[str, Any], line: str) -> None:
    assert stored_check(read(CheckRecord, {"name": "test", **data})).line == line


def test_the_json_of_a_check_has_the_number_of_skipped_tests() -> None:
    record = read(CheckRecord, {"name": "test", "status": "passed", "counts": {"passed": 3, "skipped": 2}})
    assert stored_check(record).as_json()["skipped"] == 2


def test_a_printed_failure_of_a_command_that_succeeds_has_not_passed() -> None:
    report = CheckReport("test", "make test", CheckStatus.PASSED, exit_code=0, failure_lines=("add: FAIL",))
    found = reviewed_check(compare(report, None))
    assert found.state is CheckState.UNCOUNTABLE and "add: FAIL" in found.why

"""Which failures count as flaky, judged by reports of several runs."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from burnish.checks.flakes import confirm_failures, flaky_failures
from burnish.core.check import CheckReport, CheckStatus, Counts, TestFailure
from burnish.core.policy import CheckSpec

COMMAND = "make own-tests"
SPEC = CheckSpec("test", COMMAND)


def report(*names: str) -> CheckReport:
    failures = tuple(TestFailure(name, "failed") for name in names)
    status = CheckStatus.FAILED if names else CheckStatus.PASSED
    return CheckReport("test", COMMAND, status, counts=Counts(3, 3 - len(names), len(names), 0), failures=failures)


def test_a_test_whose_name_changes_with_each_run_is_not_flaky(tmp_path: Path) -> None:
    numbers = count(1)
    first = report("sums (f=<function at 0x0>)")
    again = flaky_failures(
        SPEC, first, first.failures, lambda *_: report(f"sums (f=<function at 0x{next(numbers)}>)"), root=tmp_path
    )
    assert again == frozenset()


def test_a_test_that_passes_in_the_next_run_is_flaky(tmp_path: Path) -> None:
    first = report("sums", "loads")
    assert flaky_failures(SPEC, first, first.failures, lambda *_: report("loads"), root=tmp_path) == {"sums"}


def test_names_of_the_base_that_change_with_each_run_are_recorded(tmp_path: Path) -> None:
    numbers = count(1)
    first = report("test_sums.py::test_sum[1763500000]", "test_sums.py::test_old")

    def again(*_: object) -> CheckReport:
        return report(f"test_sums.py::test_sum[176360000{next(numbers)}]", "test_sums.py::test_old")

    confirmed = confirm_failures(SPEC, first, again, root=tmp_path)
    assert confirmed.changing_names == ("test_sums.py::test_sum[#]",)
    assert [one.name for one in confirmed.failures] == [one.name for one in first.failures]


def test_failures_of_the_base_with_constant_names_have_no_changing_names(tmp_path: Path) -> None:
    first = report("test_sums.py::test_sum[1]", "test_sums.py::test_old")
    assert confirm_failures(SPEC, first, lambda *_: first, root=tmp_path).changing_names == ()

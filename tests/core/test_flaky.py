from __future__ import annotations

import pytest

from burnish.core.change import Change, ChangedFile, Hunk
from burnish.core.check import CheckReport, CheckStatus, Counts, TestFailure, is_blamed, without_flaky

CHANGE = Change("a", "b", (ChangedFile("src/net.py", "M", hunks=(Hunk(9, 1, 9, 2, "@@\n-x\n+y\n+z\n"),)),))


@pytest.mark.parametrize(
    ("failure", "blamed"),
    [
        (TestFailure("t.py::a", "failed", "E  timeout", "t.py"), False),
        (TestFailure("src/net.py::a", "failed", "", "src/net.py"), True),
        (TestFailure("t.py::a", "failed", "src/net.py:10: TimeoutError", "t.py"), True),
        (TestFailure("t.py::a", "failed", "src/net.py:12: TimeoutError", "t.py"), False),
        (TestFailure("t.a", "failed", '  File "/tmp/x/src/net.py", line 9, in get'), True),
        (TestFailure("t.a", "failed", "    net.py:9: no"), True),
        (TestFailure("t.a", "failed", "    othernet.py:9: no"), False),
        (TestFailure("com.example.net.fails", "failed"), True),
    ],
)
def test_a_change_is_blamed_if_it_touches_the_test_or_a_line_of_its_traceback(
    failure: TestFailure, blamed: bool
) -> None:
    assert is_blamed(failure, CHANGE) is blamed


def test_a_report_whose_failures_all_passed_again_has_passed() -> None:
    failures = (TestFailure("a", "failed"), TestFailure("b", "failed"))
    report = CheckReport("test", "t", CheckStatus.FAILED, 1, counts=Counts(5, 3, 2, 0), failures=failures)
    one = without_flaky(report, {"a"})
    assert (one.status, one.flaky, one.counts) == (CheckStatus.FAILED, ("a",), Counts(5, 4, 1, 0))
    both = without_flaky(one, {"b"})
    assert (both.status, both.flaky, both.counts) == (CheckStatus.PASSED, ("a", "b"), Counts(5, 5, 0, 0))
    assert without_flaky(report, {"c"}) is report

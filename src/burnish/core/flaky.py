"""Tests that fail and then pass on the same tree: when that excuses them, and what it does to a report."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import PurePosixPath

from burnish.core.change import Change, ChangedFile
from burnish.core.check import CheckReport, CheckStatus, Counts, TestFailure

# More new failures than this are not run again: that many at once are not chance.
MOST_RERUN = 10
_PLACES = (re.compile(r'File "([^"\n]+)", line (\d{1,8})'), re.compile(r"([\w./@+-]+\.\w{1,8}):(\d{1,8})\b"))


def is_blamed(failure: TestFailure, change: Change) -> bool:
    """Whether the change touches the test itself or a line in its traceback."""
    return any(_touches_test(failure, file) for file in change.files) or _crosses(failure.message, change)


def _touches_test(failure: TestFailure, file: ChangedFile) -> bool:
    paths = {path for path in (file.path, file.old_path) if path}
    if failure.file:
        return failure.file in paths
    # Some runners name no file: a test is then known by the class, module or folder in its name.
    words = set(re.split(r"[^\w-]+", failure.name))
    return any(PurePosixPath(path).stem in words or path in failure.name for path in paths)


def _crosses(message: str, change: Change) -> bool:
    lines_by_path = {file.path: file.changed_lines() for file in change.files if file.hunks}
    for pattern in _PLACES:
        for place, line in pattern.findall(message):
            if any(_is_same_file(place, path) and int(line) in lines for path, lines in lines_by_path.items()):
                return True
    return False


def _is_same_file(place: str, path: str) -> bool:
    """A traceback may name a file by its full path, from the root, or by its name alone."""
    return place == path or place.endswith(f"/{path}") or path.endswith(f"/{place.removeprefix('./')}")


def without_flaky(report: CheckReport, names: Collection[str]) -> CheckReport:
    """The report with these failures counted as passed, since they passed when they were run again."""
    flaky = tuple(one for one in report.failures if one.name in names)
    if not flaky:
        return report
    failures = tuple(one for one in report.failures if one.name not in names)
    counts = report.counts
    if counts:
        # a case with several failed subtests is counted once
        cases = min(len(flaky), counts.failed)
        counts = Counts(counts.total, counts.passed + cases, counts.failed - cases, counts.skipped)
    status = report.status if failures or report.remarks else CheckStatus.PASSED
    flaky_names = (*report.flaky, *(one.name for one in flaky))
    return replace(report, failures=failures, counts=counts, status=status, flaky=flaky_names)

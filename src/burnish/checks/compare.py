"""Compares a check's report with its report at the base, to find what the change broke."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from burnish.core.check import CheckReport, CheckStatus, Comparison, TestFailure
from burnish.core.finding import Remark

T = TypeVar("T")


def compare(report: CheckReport, baseline: CheckReport | None) -> Comparison:
    """Sort failures into new and old. Without a usable baseline all failures are new."""
    base = baseline if baseline and baseline.status is not CheckStatus.ERROR else None
    key = _failure_key(report, base)
    new, old = _split(report.failures, base.failures if base else (), key=key)
    new_remarks, _ = _split(report.remarks, base.remarks if base else (), key=_identity)
    return Comparison(
        report=report,
        baseline=base,
        new=new,
        old=old,
        fixed=_fixed(report, base, key),
        new_remarks=new_remarks,
        broken=not new and not new_remarks and _broken(report, base),
    )


def _split(
    now: Iterable[T], before: Iterable[T], *, key: Callable[[T], Hashable]
) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """New and old items; of two equal items where the base had one, one is new and one is old."""
    remaining = Counter(key(one) for one in before)
    new: list[T] = []
    old: list[T] = []
    for one in now:
        is_old = remaining[key(one)] > 0
        remaining[key(one)] -= is_old
        (old if is_old else new).append(one)
    return tuple(new), tuple(old)


def _failure_key(report: CheckReport, base: CheckReport | None) -> Callable[[TestFailure], Hashable]:
    """Name and file: node:test and mocha leave the file out of the name, and tests of two files may share one."""
    failures = (*report.failures, *(base.failures if base else ()))
    without_file = {one.name for one in failures if one.file is None}
    return lambda one: (one.name, None if one.name in without_file else one.file)


def _identity(remark: Remark) -> tuple[str | None, str, str]:
    # Line numbers shift with every edit above them, and some linters put them into their messages.
    return remark.file, remark.rule, re.sub(r"\d+", "#", remark.title)


def _fixed(report: CheckReport, base: CheckReport | None, key: Callable[[TestFailure], Hashable]) -> tuple[str, ...]:
    if base is None or report.counts is None or report.status is CheckStatus.ERROR:
        return ()
    still = {key(one) for one in report.failures}
    return tuple(dict.fromkeys(one.name for one in base.failures if key(one) not in still))


def _broken(report: CheckReport, base: CheckReport | None) -> bool:
    """True if the check fails and neither a new failure nor the state of the base explains it."""
    if report.status is CheckStatus.PASSED:
        return False
    if report.status is CheckStatus.ERROR or base is None or base.status is CheckStatus.PASSED:
        return True
    had_cases, has_cases = _has_cases(base), _has_cases(report)
    return report.exit_code != base.exit_code or (had_cases and not has_cases)


def _has_cases(report: CheckReport) -> bool:
    return bool(report.failures or report.remarks)

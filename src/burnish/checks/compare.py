"""A check now against the same check at the base: what is this change to blame for?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from burnish.core.check import CheckReport, CheckStatus, Comparison
from burnish.core.finding import Remark

T = TypeVar("T")


def compare(report: CheckReport, baseline: CheckReport | None) -> Comparison:
    """Sort what fails into new and old. Without a usable baseline everything counts as new."""
    base = baseline if baseline and baseline.status is not CheckStatus.ERROR else None
    new, old = _split(report.failures, base.failures if base else (), key=lambda one: one.name)
    new_remarks, _ = _split(report.remarks, base.remarks if base else (), key=_identity)
    return Comparison(
        report=report,
        baseline=base,
        new=new,
        old=old,
        fixed=_fixed(report, base),
        new_remarks=new_remarks,
        broken=not new and not new_remarks and _broken(report, base),
    )


def _split(
    now: Iterable[T], before: Iterable[T], *, key: Callable[[T], Hashable]
) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """New and old; two of a kind where there was one are one new and one old."""
    left = Counter(key(one) for one in before)
    new: list[T] = []
    old: list[T] = []
    for one in now:
        known = left[key(one)] > 0
        left[key(one)] -= known
        (old if known else new).append(one)
    return tuple(new), tuple(old)


def _identity(remark: Remark) -> tuple[str | None, str, str]:
    # Lines shift with every edit above them, and some linters name lines in their words.
    return remark.file, remark.rule, re.sub(r"\d+", "#", remark.title)


def _fixed(report: CheckReport, base: CheckReport | None) -> tuple[str, ...]:
    if base is None or report.counts is None or report.status is CheckStatus.ERROR:
        return ()
    still = {one.name for one in report.failures}
    return tuple(dict.fromkeys(one.name for one in base.failures if one.name not in still))


def _broken(report: CheckReport, base: CheckReport | None) -> bool:
    """It does not pass, and neither a new case nor the state of the base explains it."""
    if report.status is CheckStatus.PASSED:
        return False
    if report.status is CheckStatus.ERROR or base is None or base.status is CheckStatus.PASSED:
        return True
    had_cases, has_cases = _has_cases(base), _has_cases(report)
    return report.exit_code != base.exit_code or (had_cases and not has_cases)


def _has_cases(report: CheckReport) -> bool:
    return bool(report.failures or report.remarks)

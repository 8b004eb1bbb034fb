"""Check results at the base and now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from burnish.core.check import CheckReport, Counts
from burnish.core.finding import Category, Finding
from burnish.core.history import with_result
from burnish.core.images import Evidence
from burnish.core.journal import CheckRecord, CheckResult, RecordedCounts
from burnish.core.review_checks import CheckState, stored_check
from burnish.store import Store

NAMES = ("total", "passed", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class FailedTest:
    name: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """One count, then and now; None if unknown."""

    name: str
    before: int | None
    now: int | None

    @property
    def change(self) -> int:
        return 0 if self.before is None or self.now is None else self.now - self.before


@dataclass(frozen=True, slots=True)
class CheckView:
    name: str
    command: str
    status: str
    tone: str
    seconds: float | None
    exit_code: int | None
    blocking: bool
    has_baseline: bool
    # "" where there is none, or it could not be run
    baseline_status: str
    numbers: tuple[Number, ...]
    new: tuple[FailedTest, ...]
    old: tuple[FailedTest, ...]
    fixed: tuple[str, ...]
    # of each how many there are in all: a flood lists only the first
    new_count: int
    old_count: int
    fixed_count: int
    # problems with a place, which are findings as well
    problems: int
    broken: bool
    error: str
    tail: str
    # what it came to, as `burnish review` prints it
    line: str = ""
    uncountable: bool = False
    flaky: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class ChecksView:
    run: int
    cycle: int
    commit: str
    checks: tuple[CheckView, ...]
    warnings: tuple[str, ...]
    guard: tuple[Finding, ...]


def checks_view(store: Store, project: str, id: int, *, tree: str) -> ChecksView | None:
    """Of the newest checks that were finished, against the base, which is `tree`; None before the first."""
    records = with_result(store.phases(project, id), CheckResult)
    if not records:
        return None
    last = records[-1]
    views = [_check(store, project, check, tree) for check in last.result.checks]
    guard = [f for f in store.findings(project, id) if f.remark.category is Category.GUARD]
    return ChecksView(
        last.run,
        last.cycle,
        last.result.commit,
        tuple(views),
        last.result.warnings,
        tuple(guard),
    )


def _check(store: Store, project: str, check: CheckRecord, tree: str) -> CheckView:
    # measured once for a tree and a command, maybe by another task
    base = store.baseline(project, tree, check.command) if check.baseline and tree else None
    status = check.status
    new = tuple(FailedTest(name, check.new_messages.get(name, "")) for name in check.new)
    clean = not new and not check.problems and not check.broken
    left_out, entry = status == "not_run", stored_check(check)
    return CheckView(
        name=check.name or "check",
        command=check.command,
        status="not run" if left_out else status,
        tone="" if left_out else "good" if status == "passed" else ("warn" if clean else "bad"),
        seconds=check.seconds,
        exit_code=check.exit_code,
        blocking=check.blocking,
        has_baseline=check.baseline or left_out,
        baseline_status=base.status.value if base else "",
        numbers=_numbers(base.counts if base else None, check.counts),
        new=new,
        old=_old(base, check.old),
        fixed=check.fixed,
        new_count=check.new_count,
        old_count=check.old_count,
        fixed_count=check.fixed_count,
        problems=check.problems,
        broken=check.broken,
        error=check.error or check.why,
        tail=check.tail,
        line=entry.line.partition(": ")[2],
        uncountable=entry.state is CheckState.UNCOUNTABLE,
        flaky=entry.flaky,
        evidence=check.evidence,
    )


def _numbers(before: Counts | None, now: RecordedCounts | None) -> tuple[Number, ...]:
    if now is None and before is None:
        return ()
    return tuple(
        Number(
            "collected" if name == "total" else name,
            getattr(before, name) if before else None,
            getattr(now, name) if now else None,
        )
        for name in NAMES
    )


def _old(base: CheckReport | None, names: Sequence[str]) -> tuple[FailedTest, ...]:
    messages = {failure.name: failure.message for failure in base.failures} if base else {}
    return tuple(FailedTest(name, messages.get(name, "")) for name in names)

"""What the checks said at the base, and what they say now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from burnish.core.check import CheckReport, Counts, count_of
from burnish.core.finding import Category, Finding
from burnish.core.review_checks import CheckState, stored_check
from burnish.store import Store

NAMES = ("total", "passed", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class Failure:
    name: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """One count, then and now; None where nobody knows."""

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
    new: tuple[Failure, ...]
    old: tuple[Failure, ...]
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
    done = [p for p in store.phases(project, id) if p.phase == "check" and p.state == "finished"]
    if not done:
        return None
    last = done[-1]
    views = [_check(store, project, check, tree) for check in last.result.get("checks") or ()]
    guard = [f for f in store.findings(project, id) if f.remark.category is Category.GUARD]
    return ChecksView(
        last.run,
        last.cycle,
        str(last.result.get("commit") or ""),
        tuple(views),
        tuple(str(w) for w in last.result.get("warnings") or ()),
        tuple(guard),
    )


def _check(store: Store, project: str, check: Mapping[str, Any], tree: str) -> CheckView:
    command = str(check.get("command") or "")
    # measured once for a tree and a command, maybe by another task
    base = store.baseline(project, tree, command) if check.get("baseline") and tree else None
    messages = check.get("new_messages") or {}
    status = str(check.get("status") or "")
    new = tuple(Failure(str(name), str(messages.get(name) or "")) for name in check.get("new") or ())
    clean = not new and not check.get("problems") and not check.get("broken")
    left_out, entry = status == "not_run", stored_check(check)
    return CheckView(
        name=str(check.get("name") or "check"),
        command=command,
        status="not run" if left_out else status,
        tone="" if left_out else "good" if status == "passed" else ("warn" if clean else "bad"),
        seconds=check.get("seconds"),
        exit_code=check.get("exit_code"),
        blocking=bool(check.get("blocking", True)),
        has_baseline=bool(check.get("baseline")) or left_out,
        baseline_status=base.status.value if base else "",
        numbers=_numbers(base.counts if base else None, check.get("counts")),
        new=new,
        old=_old(base, check.get("old") or ()),
        fixed=tuple(str(name) for name in check.get("fixed") or ()),
        new_count=count_of(check, "new"),
        old_count=count_of(check, "old"),
        fixed_count=count_of(check, "fixed"),
        problems=int(check.get("problems") or 0),
        broken=bool(check.get("broken")),
        error=str(check.get("error") or check.get("why") or ""),
        tail=str(check.get("tail") or ""),
        line=entry.line.partition(": ")[2],
        uncountable=entry.state is CheckState.UNCOUNTABLE,
        flaky=entry.flaky,
    )


def _numbers(before: Counts | None, now: Mapping[str, Any] | None) -> tuple[Number, ...]:
    if now is None and before is None:
        return ()
    return tuple(
        Number(
            "collected" if name == "total" else name, getattr(before, name) if before else None, (now or {}).get(name)
        )
        for name in NAMES
    )


def _old(base: CheckReport | None, names: Sequence[Any]) -> tuple[Failure, ...]:
    messages = {failure.name: failure.message for failure in base.failures} if base else {}
    return tuple(Failure(str(name), messages.get(str(name), "")) for name in names)

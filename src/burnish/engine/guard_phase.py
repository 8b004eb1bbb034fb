"""Run the guard, which looks for weakened checks, and add its remarks to the ledger with those of the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from burnish.core.change import Change
from burnish.core.check import Comparison
from burnish.core.event import Event
from burnish.core.finding import Category, Finding, Remark, Severity, Waiver
from burnish.core.journal_events import GuardBreach, new_event
from burnish.core.ledger.ledger import LedgerDiff, absorb_source
from burnish.core.ledger.ledger_diff import diff_ledgers
from burnish.core.task import Task
from burnish.engine.ports import Deps
from burnish.engine.task_setup import TaskSetup
from burnish.errors import PhaseFailed
from burnish.review.target_text import TargetChanges

SOURCE = "check:guard"
# what reviewers do; not one with what authors do, or the next look at the change would settle it
BREACH = "check:snapshot"
CHECKOUT = "check:checkout"
MERGE = "check:merge"


def absorb_guard(
    deps: Deps,
    setup: TaskSetup,
    findings: tuple[Finding, ...],
    check_update: LedgerDiff,
    comparisons: tuple[Comparison, ...],
    *,
    cycle: int,
    delta: Change | None,
    since: Callable[[Waiver], Change | None],
) -> LedgerDiff:
    """From `findings` to the ledger after the checks and the guard, which looks at the whole change."""
    head = setup.head()
    remarks = deps.checks(setup.task_id).guard(
        setup.workspace.changes(setup.base.tree, head.tree),
        comparisons=comparisons,
        old=partial(setup.workspace.read, setup.base.commit),
        new=partial(setup.workspace.read, head.sha),
        levels=dict(setup.policy.guard),
    )
    guard_update = absorb_source(
        check_update.findings, source=SOURCE, remarks=remarks, cycle=cycle, delta=delta, since=since
    )
    return diff_ledgers(
        findings, guard_update.findings, notes=(*check_update.notes, *guard_update.notes), raised_ids=check_update.given
    )


@contextmanager
def watched(deps: Deps, setup: TaskSetup, task: Task, cycle: int, phase: str) -> Iterator[list[str]]:
    """Watch the user's checkout for changes while an agent runs without a sandbox.

    The list is filled at the end. If the agent fails, the changes are recorded at once.
    """
    list_changes: Callable[[], list[str]] = deps.repository.watch(setup.base.commit) if deps.sandbox == "none" else list
    touched_paths: list[str] = []
    try:
        yield touched_paths
    except PhaseFailed:
        if events := touched_event(task, cycle, phase, list_changes()):
            deps.record(task, *events)
        raise
    touched_paths += list_changes()


def touched_event(task: Task, cycle: int, phase: str, paths: Sequence[str]) -> list[Event]:
    if not paths:
        return []
    what = f"{_many(len(paths))} in your own checkout changed while the agent ran ({phase}): {', '.join(paths[:5])}"
    return [new_event("guard.breach", GuardBreach(what, tuple(paths[:50])), run=task.run, cycle=cycle)]


def absorb_touched(
    findings: tuple[Finding, ...], update: LedgerDiff, paths: Sequence[str], cycle: int, on: Severity
) -> LedgerDiff:
    """Report changes in the user's checkout. The user may have made them: they are not undone and do not block."""
    if not paths:
        return update
    remark = Remark(
        category=Category.GUARD,
        severity=Severity.WARNING if on is Severity.ERROR else Severity.INFO,
        title=f"{_many(len(paths))} in your own checkout changed while the agent ran",
        description=f"The agent was not confined, and may have done it: {', '.join(paths[:20])}. Nothing was undone.",
        rule="checkout",
    )
    ledger = absorb_source(update.findings, source=CHECKOUT, remarks=(remark,), cycle=cycle)
    return diff_ledgers(findings, ledger.findings, notes=(*update.notes, *ledger.notes), raised_ids=update.given)


def _many(count: int) -> str:
    return f"{count} file{'s' * (count != 1)}"


def absorb_breach(
    findings: tuple[Finding, ...], update: LedgerDiff, breaches: Sequence[str], cycle: int, block_on: Severity
) -> LedgerDiff:
    """A reviewer wrote to its snapshot: shown, but never blocking, because the author cannot fix it."""
    has_breach = any(finding.remark.source == BREACH for finding in update.findings)
    if not breaches and not has_breach:
        return update
    mild = Severity.WARNING if block_on is Severity.ERROR else Severity.INFO
    remark = Remark(
        category=Category.GUARD,
        severity=mild,
        title="A reviewer wrote to its snapshot",
        description=f"Changed there, and thrown away: {', '.join(breaches[:20])}",
        rule="breach",
    )
    ledger = absorb_source(update.findings, source=BREACH, remarks=(remark,) if breaches else (), cycle=cycle)
    return diff_ledgers(findings, ledger.findings, notes=(*update.notes, *ledger.notes), raised_ids=update.given)


def absorb_dropped(
    findings: tuple[Finding, ...],
    update: LedgerDiff,
    changes: TargetChanges | None,
    cycle: int,
    block_on: Severity,
    *,
    is_judged: bool,
) -> LedgerDiff:
    """Report files with a conflict that are as before the merge: nothing of the target's change to them is left.

    That may be right, and reviewers are told. `is_judged`: by more than a program; else a person has to accept it.
    """
    paths = changes.unchanged if changes else ()
    if not paths and not any(finding.remark.source == MERGE for finding in update.findings):
        return update
    mild = Severity.WARNING if block_on is Severity.ERROR else Severity.INFO
    remarks = tuple(
        Remark(
            category=Category.GUARD,
            severity=mild if is_judged else Severity.ERROR,
            title=f"The merge dropped what {(changes and changes.name) or 'the target'} changed in {path}",
            description="The file had a conflict, and is exactly as it was before the merge.",
            file=path,
            rule="dropped",
        )
        for path in paths
    )
    ledger = absorb_source(update.findings, source=MERGE, remarks=remarks, cycle=cycle)
    return diff_ledgers(findings, ledger.findings, notes=(*update.notes, *ledger.notes), raised_ids=update.given)

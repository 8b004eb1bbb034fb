"""The guard at work: did the author make it easier to pass? What it says is written into the ledger with the checks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from burnish.core.change import Change
from burnish.core.check import Comparison
from burnish.core.finding import Category, Finding, Remark, Severity
from burnish.core.ledger import Update, absorb_source
from burnish.core.update import between
from burnish.engine.ports import Deps
from burnish.engine.site import Site

SOURCE = "check:guard"
# what reviewers do; not one with what authors do, or the next look at the change would settle it
BREACH = "check:snapshot"


def absorb_guard(
    deps: Deps,
    site: Site,
    findings: tuple[Finding, ...],
    checked: Update,
    comparisons: tuple[Comparison, ...],
    *,
    cycle: int,
    delta: Change | None,
) -> Update:
    """From `findings` to the ledger after the checks and the guard, which looks at the whole change."""
    head = site.head()
    remarks = deps.checks(site.task_id).guard(
        site.workspace.changes(site.base.tree, head.tree),
        comparisons=comparisons,
        old=partial(site.workspace.read, site.base.commit),
        new=partial(site.workspace.read, head.sha),
        levels=dict(site.policy.guard),
    )
    guarded = absorb_source(checked.findings, source=SOURCE, remarks=remarks, cycle=cycle, delta=delta)
    return between(findings, guarded.findings, notes=(*checked.notes, *guarded.notes), given=checked.given)


def absorb_breach(
    findings: tuple[Finding, ...], said: Update, breaches: Sequence[str], cycle: int, block_on: Severity
) -> Update:
    """A reviewer wrote to its snapshot: shown, but nothing that the author could mend, so it never blocks."""
    known = any(finding.remark.source == BREACH for finding in said.findings)
    if not breaches and not known:
        return said
    mild = Severity.WARNING if block_on is Severity.ERROR else Severity.INFO
    remark = Remark(
        category=Category.GUARD,
        severity=mild,
        title="A reviewer wrote to its snapshot",
        description=f"Changed there, and thrown away: {', '.join(breaches[:20])}",
        rule="breach",
    )
    told = absorb_source(said.findings, source=BREACH, remarks=(remark,) if breaches else (), cycle=cycle)
    return between(findings, told.findings, notes=(*said.notes, *told.notes), given=said.given)

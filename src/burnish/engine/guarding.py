"""The guard at work: did the author make it easier to pass? What it says is written into the ledger with the checks."""

from __future__ import annotations

from functools import partial

from burnish.core.change import Change
from burnish.core.check import Comparison
from burnish.core.finding import Finding
from burnish.core.ledger import Update, absorb_source
from burnish.core.update import between
from burnish.engine.ports import Deps
from burnish.engine.site import Site

SOURCE = "check:guard"


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

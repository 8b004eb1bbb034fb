"""A change of the ledger as events, one for each finding that is not as it was."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.core.event import Event
from burnish.core.finding import Finding
from burnish.core.journal_events import FindingChanged, new_event
from burnish.core.ledger.ledger import LedgerDiff
from burnish.core.task import Task


def finding_events(task: Task, cycle: int, before: Sequence[Finding], update: LedgerDiff) -> list[Event]:
    old = {f.id: f for f in before}
    changed_findings = [f for f in update.findings if old.get(f.id) != f]
    return [
        new_event(f"finding.{_kind(f.id, update)}", FindingChanged(f), run=task.run, cycle=cycle)
        for f in changed_findings
    ]


def _kind(finding_id: str, update: LedgerDiff) -> str:
    for kind in ("opened", "resolved", "reopened", "waived", "disputed"):
        if finding_id in getattr(update, kind):
            return kind
    return "reanchored"

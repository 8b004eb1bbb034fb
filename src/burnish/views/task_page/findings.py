"""Findings with their history: what happened to each, and who did it."""

from __future__ import annotations

from dataclasses import dataclass

from burnish.core.event import RecordedEvent
from burnish.core.finding import Finding
from burnish.core.journal import read
from burnish.core.journal_events import FindingChanged
from burnish.store import Store
from burnish.views.task_page.page import sorted_findings

_WORDS = {
    "finding.opened": "raised",
    "finding.resolved": "resolved",
    "finding.reopened": "open again",
    "finding.waived": "waived",
    "finding.disputed": "disputed by who works on it",
    "finding.reanchored": "moved with the code",
}


@dataclass(frozen=True, slots=True)
class FindingEvent:
    at: str
    cycle: int
    words: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class FindingView:
    finding: Finding
    history: tuple[FindingEvent, ...]


def findings_view(store: Store, project: str, id: int) -> tuple[FindingView, ...]:
    """What is alive first, then the worst. Only of the run that counts."""
    task = store.task(project, id)
    changes: dict[str, list[FindingEvent]] = {}
    for event in store.events(project, task=id):
        if event.type in _WORDS and event.run in (0, task.run):
            finding = read(FindingChanged, event.data).finding
            changes.setdefault(finding.id, []).append(_change(event, finding))
    return tuple(FindingView(f, tuple(changes.get(f.id, ()))) for f in sorted_findings(store.findings(project, id)))


def _change(event: RecordedEvent, finding: Finding) -> FindingEvent:
    note = finding.note
    if event.type == "finding.waived" and finding.waiver:
        note = f"{finding.waiver.by.removeprefix('user:')}: {finding.waiver.reason}"
    if event.type == "finding.disputed":
        note = finding.evidence or note
    return FindingEvent(event.ts, event.cycle, _WORDS[event.type], note)

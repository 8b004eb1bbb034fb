"""Findings with their lives: what happened to each, and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from burnish.core.event import RecordedEvent
from burnish.core.finding import Finding
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
    told: dict[str, list[FindingEvent]] = {}
    for event in store.events(project, task=id):
        if event.type in _WORDS and event.run in (0, task.run):
            data: Mapping[str, Any] = event.data.get("finding") or {}
            told.setdefault(str(data.get("id")), []).append(_happened(event, data))
    return tuple(FindingView(f, tuple(told.get(f.id, ()))) for f in sorted_findings(store.findings(project, id)))


def _happened(event: RecordedEvent, data: Mapping[str, Any]) -> FindingEvent:
    waiver = data.get("waiver") or {}
    note = str(data.get("note") or "")
    if event.type == "finding.waived" and waiver:
        note = f"{str(waiver.get('by') or '').removeprefix('user:')}: {waiver.get('reason') or ''}"
    if event.type == "finding.disputed":
        note = str(data.get("evidence") or note)
    return FindingEvent(event.ts, event.cycle, _WORDS[event.type], note)

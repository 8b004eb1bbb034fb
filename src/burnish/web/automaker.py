"""Events with the names and payloads of automaker, for programs that use those."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from burnish.core.event import RecordedEvent
from burnish.core.journal import is_review
from burnish.features.review.single_review import in_three
from burnish.store import Store

_NAMES = {
    "review.started": "started",
    "review.progress": "progress",
    "finding.opened": "progress",
    "finding.resolved": "progress",
    "finding.reopened": "progress",
    "review.completed": "completed",
    "review.approved": "approved",
    "review.rejected": "rejected",
    "review.failed": "failed",
    "phase.failed": "failed",
    "review.max_cycles": "max-iterations",
}
_FOUND = ("finding.opened", "finding.reopened", "finding.reanchored", "finding.disputed")
_FINDING = ("category", "severity", "title", "description", "suggestion", "file", "line")


def renamed(event: RecordedEvent, store: Store) -> dict[str, Any] | None:
    """The event as automaker names it; None if automaker has no such event. `id` is the event's id, for resuming."""
    name = _NAMES.get(event.type)
    if name is None or event.task is None or (event.type == "phase.failed" and not _of_review(event)):
        return None
    payload = {"featureId": str(event.task), **_payload(name, event, store)}
    return {"id": event.id, "type": f"feature:code-review-{name}", "payload": payload}


def _payload(name: str, event: RecordedEvent, store: Store) -> dict[str, Any]:
    data, number = event.data, {"iterationNumber": event.cycle}
    match name:
        case "started":
            return number
        case "progress":
            return {**number, "message": _message(event)}
        case "completed":
            result = {"status": in_three(data.get("verdict")), "findings": _findings(event, store)}
            return {**number, **result, "summary": str(data.get("summary") or data.get("but") or "")}
        case "approved":
            return {"nextStatus": _next_status(event, store)}
        case "rejected":
            return {**number, "rejectionReason": _reason(event, store)}
        case "failed":
            return {"error": str(data.get("what") or data.get("why") or data.get("error") or "")}
    return {}


def _message(event: RecordedEvent) -> str:
    if event.type == "review.progress":
        return str(event.data.get("message", ""))
    found = event.data.get("finding") or {}
    title = (found.get("remark") or {}).get("title", "")
    return f"{found.get('id', '')} {event.type.removeprefix('finding.')}: {title}".strip()


def _findings(event: RecordedEvent, store: Store) -> list[dict[str, Any]]:
    """The findings of the review in their state at that time, from the event log."""
    by_id: dict[str, dict[str, Any]] = {}
    for one in _before(event, store, _FOUND):
        found = one.data.get("finding") or {}
        by_id[str(found.get("id"))] = found
    findings = [by_id[id] for id in dict.fromkeys(map(str, event.data.get("findings") or ())) if id in by_id]
    return [{"id": one["id"], **{key: one.get("remark", {}).get(key) for key in _FINDING}} for one in findings]


def _reason(event: RecordedEvent, store: Store) -> str:
    """The reviewer's rejection reason, or why the task was sent back."""
    reviews = [one for one in _before(event, store, ["phase.finished"]) if _of_review(one) and one.cycle == event.cycle]
    reason = str(reviews[-1].data.get("rejection_reason") or "") if reviews and not event.data.get("by") else ""
    return reason or str(event.data.get("why") or "")


def _next_status(event: RecordedEvent, store: Store) -> str:
    """The status that was recorded together with the approval."""
    after = store.events(event.project, task=event.task, since=event.id, limit=1, types=["task.status"])
    return str(after[0].data.get("to")) if after else "verified"


def _before(event: RecordedEvent, store: Store, types: Iterable[str]) -> list[RecordedEvent]:
    found = store.events(event.project, task=event.task, types=types)
    return [one for one in found if one.id < event.id and one.run == event.run]


def _of_review(event: RecordedEvent) -> bool:
    return is_review(str(event.data.get("phase") or ""))

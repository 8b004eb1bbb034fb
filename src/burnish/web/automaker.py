"""Events with the names and payloads of automaker, for programs that use those."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from burnish.core.codec import encode
from burnish.core.event import RecordedEvent
from burnish.core.journal import Failure, PhaseResult, ReviewResult, is_review, read
from burnish.core.journal_events import FindingChanged, ReviewCompleted, ReviewProgress, ReviewStopped, TaskStatus
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
    number = {"iterationNumber": event.cycle}
    match name:
        case "started":
            return number
        case "progress":
            return {**number, "message": _message(event)}
        case "completed":
            review = read(ReviewCompleted, event.data)
            findings = _findings(event, review, store)
            status, summary = in_three(review.verdict), review.summary or review.caveat
            return {**number, "status": status, "findings": findings, "summary": summary}
        case "approved":
            return {"nextStatus": _next_status(event, store)}
        case "rejected":
            return {**number, "rejectionReason": _reason(event, store)}
        case "failed":
            return {"error": _error(event)}
    return {}


def _message(event: RecordedEvent) -> str:
    if event.type == "review.progress":
        return read(ReviewProgress, event.data).message
    finding = read(FindingChanged, event.data).finding
    return f"{finding.id} {event.type.removeprefix('finding.')}: {finding.remark.title}".strip()


def _error(event: RecordedEvent) -> str:
    if event.type == "phase.failed":
        failure = read(Failure, event.data)
        return failure.what or failure.error
    stop = read(ReviewStopped, event.data)
    return stop.why or stop.error


def _findings(event: RecordedEvent, review: ReviewCompleted, store: Store) -> list[dict[str, Any]]:
    """Those that the review gave, as they stood then: from the log, since the tables tell of now."""
    changes = (read(FindingChanged, one.data).finding for one in _before(event, store, _FOUND))
    known = {finding.id: finding for finding in changes}
    findings = [known[id] for id in dict.fromkeys(review.findings) if id in known]
    return [{"id": one.id, **{key: encode(getattr(one.remark, key)) for key in _FINDING}} for one in findings]


def _reason(event: RecordedEvent, store: Store) -> str:
    """The reviewer's rejection reason, or why the task was sent back."""
    reviews = [one for one in _before(event, store, ["phase.finished"]) if _of_review(one) and one.cycle == event.cycle]
    stop = read(ReviewStopped, event.data)
    words = read(ReviewResult, reviews[-1].data).rejection_reason if reviews and not stop.by else ""
    return words or stop.why


def _next_status(event: RecordedEvent, store: Store) -> str:
    """The status that was recorded together with the approval."""
    after = store.events(event.project, task=event.task, since=event.id, limit=1, types=["task.status"])
    return read(TaskStatus, after[0].data).to if after else "verified"


def _before(event: RecordedEvent, store: Store, types: Iterable[str]) -> list[RecordedEvent]:
    found = store.events(event.project, task=event.task, types=types)
    return [one for one in found if one.id < event.id and one.run == event.run]


def _of_review(event: RecordedEvent) -> bool:
    return is_review(read(PhaseResult, event.data).phase)

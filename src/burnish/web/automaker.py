"""Events under the names and payloads of S3 §3.3, for programs that know those."""

from __future__ import annotations

from typing import Any

from burnish.core.event import Recorded

_NAMES = {
    "review.started": "feature:code-review-started",
    "review.progress": "feature:code-review-progress",
    "review.completed": "feature:code-review-completed",
    "review.approved": "feature:code-review-approved",
    "review.rejected": "feature:code-review-rejected",
    "review.failed": "feature:code-review-failed",
    "review.max_cycles": "feature:code-review-max-iterations",
}


def renamed(event: Recorded) -> dict[str, Any] | None:
    """None where S3 has no such event. `id` is the log's own number, so that these resume as well."""
    name = _NAMES.get(event.type)
    if name is None:
        return None
    return {"id": event.id, "type": name, "payload": {"featureId": str(event.task), **_payload(event)}}


def _payload(event: Recorded) -> dict[str, Any]:
    data = event.data
    match event.type:
        case "review.started":
            return {"iterationNumber": event.cycle}
        case "review.progress":
            return {"iterationNumber": event.cycle, "message": data.get("message", "")}
        case "review.completed":
            told = {key: data.get(key) for key in ("status", "findings", "summary")}
            return {"iterationNumber": event.cycle, **told}
        case "review.approved":
            return {"nextStatus": data.get("next_status", "verified")}
        case "review.rejected":
            return {"iterationNumber": event.cycle, "rejectionReason": data.get("rejection_reason", "")}
        case "review.failed":
            return {"error": data.get("error", "")}
    return {}

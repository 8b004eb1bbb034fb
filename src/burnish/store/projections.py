"""What each type of event changes in the tables. One function a type; types not listed change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from burnish.core.codec import decode, encode
from burnish.core.cost import CostSource, joint_source
from burnish.core.event import RecordedEvent
from burnish.core.finding import ALIVE, Finding, FindingState
from burnish.core.journal import REVIEW_FIX, current
from burnish.core.status import ErrorCode, FinalVerdict, Reason, ReviewStatus, Status, check_move
from burnish.core.task import Spec
from burnish.errors import Refused
from burnish.store.database import Database, ResultRow
from burnish.store.rows import brief_spec, to_json
from burnish.store.trouble import no_such_task

# under way: the phase that was cut stays visible
_UNDER_WAY = (Status.IN_PROGRESS, Status.CODE_REVIEW)


def apply(db: Database, event: RecordedEvent) -> None:
    """Change the tables as the event says. Call inside a transaction."""
    change = PROJECTIONS.get(event.type)
    if change is not None:
        change(db, event)


def _here(event: RecordedEvent) -> dict[str, Any]:
    return {"project": event.project, "id": event.task, "ts": event.ts}


def _row(db: Database, event: RecordedEvent) -> ResultRow:
    row = db.one("task_one", {"project": event.project, "id": event.task})
    if row is None:
        raise no_such_task(event.task)
    return row


def _created(db: Database, event: RecordedEvent) -> None:
    spec = decode(Spec, event.data["spec"])
    db.all(
        "p_task_add",
        {
            **_here(event),
            **_written(spec),
            "max_cycles": event.data["max_cycles"],
            "auto_review": int(event.data["auto_review"]),
        },
    )
    db.all("project_seen_task", {"project": event.project, "next": (event.task or 0) + 1})
    _needs(db, event, spec)


def _edited(db: Database, event: RecordedEvent) -> None:
    row = _row(db, event)
    changes: Mapping[str, Any] = event.data["changes"]
    spec = decode(Spec, {**json.loads(row["spec"]), **changes})
    cycles, review = changes.get("max_cycles"), changes.get("auto_review")
    db.all(
        "p_task_edit",
        {
            **_here(event),
            **_written(spec),
            "max_cycles": row["max_cycles"] if cycles is None else cycles,
            "auto_review": row["auto_review"] if review is None else int(review),
        },
    )
    if "depends_on" in changes:
        _needs(db, event, spec)


def _written(spec: Spec) -> dict[str, Any]:
    data = encode(spec)
    return {"head": brief_spec(data), "spec": to_json(data), "priority": spec.priority}


def _needs(db: Database, event: RecordedEvent, spec: Spec) -> None:
    where = {"project": event.project, "task": event.task}
    db.all("p_needs_clear", where)
    for other in spec.depends_on:
        db.all("p_needs_add", {**where, "needs": other})


def _removed(db: Database, event: RecordedEvent) -> None:
    _row(db, event)
    db.all("p_task_remove", _here(event))


def _status(db: Database, event: RecordedEvent) -> None:
    row, data = _row(db, event), event.data
    old, new = Status(row["status"]), Status(data["to"])
    if data["from"] != old:
        raise Refused(
            f"Task {event.task} is {old} now, no longer {data['from']}.",
            hint=f"Somebody else moved it: look at `burnish show {event.task}` and decide again.",
        )
    check_move(str(event.task), old, new)
    stays = new in _UNDER_WAY
    db.all(
        "p_status",
        {
            **_here(event),
            "status": new,
            "reason": _word(Reason, data.get("reason")),
            "error": _word(ErrorCode, data.get("error")),
            "note": data.get("note") or "",
            "final_verdict": _word(FinalVerdict, data.get("final_verdict", row["final_verdict"])),
            "review_status": _word(ReviewStatus, data.get("review_status", row["review_status"])),
            "phase": row["phase"] if stays else None,
            "phase_started": row["phase_started"] if stays else None,
        },
    )


def _word(words: type[Reason | ErrorCode | FinalVerdict | ReviewStatus], word: str | None) -> str | None:
    """The value of the enum. Raises `ValueError` for an unknown word, which could not be read back."""
    return words(word).value if word else None


def _run_started(db: Database, event: RecordedEvent) -> None:
    row, data = _row(db, event), event.data
    new = {
        name: data.get(name, row[name])
        for name in ("branch", "target", "base", "max_cycles", "auto_review", "agent", "model")
    }
    new["auto_review"] = int(new["auto_review"])
    if data["run"] != row["run"]:
        db.all("p_run_fresh", _here(event))
    db.all("p_run", {**_here(event), **new, "run": data["run"]})


def _phase_key(event: RecordedEvent) -> dict[str, Any]:
    return {
        "project": event.project,
        "task": event.task,
        "run": event.run,
        "cycle": event.cycle,
        "phase": event.data["phase"],
        "attempt": event.data.get("attempt", 1),
        "event_id": event.id,
        "ts": event.ts,
    }


def _phase_started(db: Database, event: RecordedEvent) -> None:
    row = _row(db, event)
    db.all("p_phase_start", {**_phase_key(event), "runner": event.data.get("runner") or ""})
    error = None if row["error"] == ErrorCode.INTERRUPTED else row["error"]
    db.all("p_task_phase", {**_here(event), "cycle": event.cycle, "phase": event.data["phase"], "error": error})


def _phase_ended(db: Database, event: RecordedEvent) -> None:
    row, data = _row(db, event), event.data
    failed = event.type == "phase.failed"
    cost, tokens = data.get("cost_usd"), data.get("tokens") or 0
    db.all(
        "p_phase_end",
        {
            **_phase_key(event),
            "state": "failed" if failed else "finished",
            "result": to_json(data),
            "cost_usd": cost,
            "tokens": tokens,
        },
    )
    if data["phase"] == REVIEW_FIX and not failed:
        db.all("p_issues_fixed", {**_here(event), "issues_fixed": len(data.get("issues") or ())})
    interrupted = failed and data.get("error") == ErrorCode.INTERRUPTED
    db.all(
        "p_task_phase_end",
        {
            **_here(event),
            "commit_sha": row["commit_sha"] if failed else data.get("commit") or row["commit_sha"],
            "error": ErrorCode.INTERRUPTED if interrupted else row["error"],
            # unknown stays unknown: nothing is not zero dollars
            "cost_usd": row["cost_usd"] if cost is None else (row["cost_usd"] or 0.0) + cost,
            "cost_source": joint_source((row["cost_source"], _cost_source(data))),
            "tokens": tokens,
        },
    )


def _cost_source(data: Mapping[str, Any]) -> str | None:
    """Of one phase. Events from before sources were recorded tell only whether there was a cost."""
    if "cost_source" in data:
        return str(data["cost_source"]) if data["cost_source"] else None
    if data.get("cost_usd") is not None:
        return CostSource.MIXED
    return CostSource.UNKNOWN if data["phase"] in ("implement", "improve") and "agent" in data else None


def _finding(db: Database, event: RecordedEvent) -> None:
    finding = current(Finding, event.data["finding"])
    db.all(
        "p_finding",
        {
            "project": event.project,
            "task": event.task,
            # a new run counts its findings from F1 again; a person's waiver may not know the run
            "run": event.run or _row(db, event)["run"],
            "number": int(finding["id"][1:]),
            "alive": int(FindingState(finding["state"]) in ALIVE),
            "data": to_json(finding),
        },
    )
    db.all("p_open_findings", _here(event))


def _decision(db: Database, event: RecordedEvent) -> None:
    where = {"project": event.project, "task": event.task, "run": event.run, "cycle": event.cycle}
    db.all(
        "p_decision",
        {
            **where,
            "event_id": event.id,
            "action": event.data["action"],
            "by_whom": event.data["by"],
            "data": to_json(event.data),
        },
    )
    waits = event.data["action"] == "wait"
    db.all("p_decided", {**_here(event), "waits": int(waits), "waits_for": _waits_for(event.data) if waits else ""})
    if waits and "review_status" in event.data:
        review_status = _word(ReviewStatus, event.data["review_status"])
        db.all("p_review_status", {**_here(event), "review_status": review_status})
    if again := event.data.get("supersede"):
        db.all("p_supersede", {**where, "phases": list(again)})
    for phase, attempt in event.data.get("reinstate", ()):
        db.all("p_reinstate", {**where, "phase": phase, "attempt": attempt})


def _waits_for(data: Mapping[str, Any]) -> str:
    """What a person has to start or bring before the task goes on."""
    if data.get("outside"):
        return "outside"
    return "improve" if data.get("review_status") == ReviewStatus.FAILED else "review"


def _approved(db: Database, event: RecordedEvent) -> None:
    data = event.data
    db.all(
        "p_approve",
        {
            "project": event.project,
            "task": event.task,
            "base": data["base"],
            "tree": data["tree"],
            "judge": data["judge"],
            "commit_sha": data["commit"],
            "ts": event.ts,
            "event_id": event.id,
        },
    )


def _voided(db: Database, event: RecordedEvent) -> None:
    db.all("p_void", {"project": event.project, "task": event.task})


def _overridden(db: Database, event: RecordedEvent) -> None:
    db.all("p_override", _here(event))


PROJECTIONS: dict[str, Callable[[Database, RecordedEvent], None]] = {
    "task.created": _created,
    "task.edited": _edited,
    "task.removed": _removed,
    "task.status": _status,
    "run.started": _run_started,
    "phase.started": _phase_started,
    "phase.finished": _phase_ended,
    "phase.failed": _phase_ended,
    "finding.opened": _finding,
    "finding.resolved": _finding,
    "finding.reopened": _finding,
    "finding.waived": _finding,
    "finding.disputed": _finding,
    "finding.reanchored": _finding,
    "finding.replied": _finding,
    "decision.made": _decision,
    "review.approved": _approved,
    "approval.voided": _voided,
    "override.recorded": _overridden,
}

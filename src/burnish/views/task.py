"""A task as JSON, with the documented keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from burnish.core.codec import encode
from burnish.core.commit import left_out_words
from burnish.core.event import RecordedEvent
from burnish.core.finding import Finding
from burnish.core.history import AnyPhase, DecisionRecord, PhaseRecord, with_result
from burnish.core.journal import CheckResult, ReviewFixResult, ReviewResult, WorkResult, read, written
from burnish.core.journal_events import PhaseStarted, TaskStatus
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.store import Store
from burnish.views.status import Alive, LimitOf, is_running, task_json


def show_json(
    store: Store, project: str, id: int, alive: Alive = None, limit_of: LimitOf = lambda task: None
) -> dict[str, Any]:
    """What `show --json` prints: the task with its cycles, findings and events."""
    task = store.task(project, id)
    phases, decisions = store.phases(project, id), store.decisions(project, id)
    approval = store.approval(project, id)
    events = store.events(project, task=id)
    own_cycles = _cycles_of(task.run, phases, decisions)
    return {
        **task_json(task, alive, limit_of(task)),
        # False: no runner holds it, or only one that is dead
        "running": is_running(task, alive),
        **_asked(task),
        # of the newest review; each cycle has its own
        "review_findings": next((c["review_findings"] for c in reversed(own_cycles) if c["review_findings"]), None),
        "approval": encode(approval),
        # of a task that could not be run: the end of what the command printed
        "output": failure_output(task, events),
        # what its newest phase was shut into
        "sandbox": _newest_sandbox(events),
        "cycles": own_cycles,
        "earlier_runs": [
            {"run": run, "cycles": _cycles_of(run, phases, decisions)}
            for run in sorted({phase.run for phase in phases} - {task.run})
        ],
        "findings": [finding_json(finding) for finding in store.findings(project, id)],
        "overridden": [
            {"ts": e.ts, "run": e.run, "cycle": e.cycle, **e.data} for e in events if e.type == "override.recorded"
        ],
        "events": [event_json(event) for event in events],
    }


def _newest_sandbox(events: Sequence[RecordedEvent]) -> str | None:
    starts = (read(PhaseStarted, event.data) for event in reversed(events) if event.type == "phase.started")
    return next((start.sandbox for start in starts if start.sandbox), None)


def failure_output(task: Task, events: Sequence[RecordedEvent]) -> str:
    """The end of the output of the command that a task failed on; "" if there was none."""
    moves = [event for event in events if event.type == "task.status"]
    is_stopped = task.status in (Status.FAILED, Status.BLOCKED)
    return read(TaskStatus, moves[-1].data).output if is_stopped and moves else ""


def _asked(task: Task) -> dict[str, Any]:
    """The long fields that `status` leaves out."""
    spec = task.spec
    return {
        "description": spec.description,
        "scope": spec.scope,
        "criteria": list(spec.criteria),
        "checklist": encode(spec.checklist),
        "plan": spec.plan,
        "skip_tests": spec.skip_tests,
        "of": None if spec.of is None else str(spec.of),
        # what it was imported from
        "source": spec.source or None,
        "note": task.note,
        "target": task.target,
        "run": task.run,
        "phase": task.phase,
        "phase_started": task.phase_started,
    }


def _cycles_of(run: int, phases: Sequence[AnyPhase], decisions: Sequence[DecisionRecord]) -> list[dict[str, Any]]:
    own = [phase for phase in phases if phase.run == run]
    return cycles(own, [decision for decision in decisions if decision.run == run])


def finding_json(finding: Finding) -> dict[str, Any]:
    remark = finding.remark
    return {
        "id": finding.id,
        "state": finding.state.value,
        "category": remark.category.value,
        "severity": remark.severity.value,
        "title": remark.title,
        "description": remark.description,
        "suggestion": remark.suggestion,
        "file": remark.file,
        "line": remark.line,
        "end_line": remark.end_line,
        "quote": remark.quote,
        "rule": remark.rule,
        "confidence": remark.confidence,
        "first_cycle": finding.first_cycle,
        "last_cycle": finding.last_cycle,
        "reviewers": list(finding.reviewers),
        "waiver": encode(finding.waiver),
        "disputes": finding.disputes,
        "evidence": finding.evidence,
        "note": finding.note,
        "replies": encode(finding.replies),
        # of equal failures that are one finding
        "count": remark.count,
        "examples": list(remark.examples),
    }


def ruled_json(finding: Finding, task: Task) -> dict[str, Any]:
    """A finding after a person's ruling, and the state of its task."""
    return {**finding_json(finding), "task": str(task.id), "task_status": task.status.value}


def review_json(store: Store, project: str, id: int) -> dict[str, Any]:
    """What `review 29 --json` prints: the newest review of the task, and what is open."""
    phases = store.phases(project, id)
    reviews = [p.result for p in with_result(phases, ReviewResult) if p.phase == "review"]
    review = reviews[-1] if reviews else ReviewResult()
    checks = with_result(phases, CheckResult)
    warnings = checks[-1].result.warnings if checks else ()
    return {
        "verdict": review.effective_verdict,
        "summary": review.summary or review.why,
        "findings": [finding_json(finding) for finding in store.findings(project, id)],
        "inspected": list(review.inspected),
        "not_shown": [*review.uncovered, *(file.path for file in review.unseen_files)],
        "checks": encode(checks[-1].result.checks) if checks else [],
        "notes": [*warnings, *review.notes],
        "judged_by": list(dict.fromkeys(reviewer.agent for reviewer in review.reviewers)),
    }


def recorded_events(
    store: Store, project: str, task: int | None = None, *, since: int = 0, limit: int | None = None
) -> list[RecordedEvent]:
    """Events of a project or a task, oldest first; raises if there never was such a task."""
    found = store.events(project, task=task, since=since, limit=limit)
    # a removed task keeps its events
    if task is not None and not found and not store.events(project, task=task, limit=1):
        store.task(project, task)
    return found


def event_json(event: RecordedEvent) -> dict[str, Any]:
    return event.envelope()


# -- cycles ---------------------------------------------------------------------------------------
# The cycles of one run, from the phase journal and the decisions.

FINDINGS_BYTES = 2048
# fields of a result that tell who did it, and what went wrong
_PASSED_ON = ("agent", "model", "commit", "error", "what", "hint", "rescue", "by_hand", "why", "cost_source")


def cycles(phases: Sequence[AnyPhase], decisions: Sequence[DecisionRecord]) -> list[dict[str, Any]]:
    """One entry a cycle, in order. `phases` and `decisions` are of one run, oldest first."""
    numbers = sorted({phase.cycle for phase in phases} | {decision.cycle for decision in decisions})
    return [
        _cycle(number, [p for p in phases if p.cycle == number], [d for d in decisions if d.cycle == number])
        for number in numbers
    ]


def _cycle(number: int, phases: list[AnyPhase], decisions: list[DecisionRecord]) -> dict[str, Any]:
    standing = [p for p in phases if p.state == "finished" and not p.superseded]
    # the review and the pipeline steps after it: the last one decides
    reviews = with_result(standing, ReviewResult)
    review = reviews[-1] if reviews else None
    checks = with_result(standing, CheckResult)
    return {
        "number": number,
        "phases": [_phase(phase) for phase in phases],
        "commit": _last(standing, "commit"),
        "tree": _last(standing, "tree"),
        "review_status": _review_status(review, decisions),
        **_verdict(review, decisions),
        "summary": review.result.summary if review else None,
        "review_findings": review_findings([record.result for record in reviews]),
        # with `review.may_fix`: what the reviewer changed by itself
        "fixed": _fixed(standing),
        "reviewers": encode([reviewer for record in reviews for reviewer in record.result.reviewers]),
        "checks": encode(checks[-1].result.checks) if checks else [],
        # the author's own last message
        "last_words": _last(standing, "last_words"),
        "warnings": [*_left_out(standing), *(checks[-1].result.warnings if checks else ())],
        "unseen_files": encode(review.result.unseen_files) if review else [],
        "artifact": review.result.artifact if review else None,
        "decision": _decision(decisions[-1]) if decisions else None,
    }


def _fixed(standing: Sequence[AnyPhase]) -> dict[str, Any] | None:
    fixes = [p.result for p in with_result(standing, ReviewFixResult) if p.result.changed]
    if not fixes:
        return None
    return {"commit": fixes[-1].commit, "summary": fixes[-1].summary, "issues": list(fixes[-1].issues)}


def review_findings(reviews: Sequence[ReviewResult]) -> str | None:
    """The first 2 KB of the reviewers' prose; the summary of a reviewer that wrote none."""
    reviewers = [reviewer for review in reviews for reviewer in review.reviewers]
    texts = [(reviewer.prose or reviewer.summary).strip() for reviewer in reviewers]
    words = [
        f"{reviewer.agent}: {text}" if len(reviewers) > 1 else text
        for reviewer, text in zip(reviewers, texts, strict=True)
        if text
    ]
    text_bytes = "\n\n".join(words).encode("utf-8", "replace")[:FINDINGS_BYTES]
    return text_bytes.decode("utf-8", "ignore") or None


def _left_out(standing: Sequence[AnyPhase]) -> list[str]:
    names = [p.result.left_out for p in with_result(standing, WorkResult) if p.result.left_out]
    return [left_out_words(names[-1])] if names else []


def _verdict(record: PhaseRecord[ReviewResult] | None, decisions: list[DecisionRecord]) -> dict[str, Any]:
    """The effective verdict and why it differs from the reviewer's. Once accepted, the reviewer's own verdict."""
    review = record.result if record else ReviewResult()
    if decisions and decisions[-1].action == "accept":
        return {"verdict": review.verdict, "but": ""}
    return {"verdict": review.effective_verdict, "but": review.caveat}


def _decision(record: DecisionRecord) -> dict[str, Any]:
    return {"action": record.action, "by": record.by, **written(record.data, explicit=("review_status",))}


def _last(records: Sequence[AnyPhase], name: str) -> Any:
    return next((value for record in reversed(records) if (value := getattr(record.result, name, None))), None)


def _review_status(record: PhaseRecord[ReviewResult] | None, decisions: list[DecisionRecord]) -> str | None:
    """The status from the last decision, else from the review: a person may have skipped or rejected it."""
    if decisions and decisions[-1].action == "again":
        decisions = []
    for decision in reversed(decisions):
        if decision.data.review_status:
            return decision.data.review_status
    if record and record.result.review_status:
        return record.result.review_status
    # sent back before a review: a check failed
    return "failed" if record is None and decisions and decisions[-1].action == "revise" else None


def _phase(phase: AnyPhase) -> dict[str, Any]:
    return {
        "phase": phase.phase,
        "attempt": phase.attempt,
        "state": phase.state,
        "superseded": phase.superseded,
        "started_at": phase.started_at,
        "finished_at": phase.finished_at,
        "cost_usd": phase.cost_usd,
        "tokens": phase.tokens,
        "seconds": getattr(phase.result, "seconds", None),
        **{name: getattr(phase.result, name, None) or None for name in _PASSED_ON},
        **_reckoned(phase),
    }


def _reckoned(phase: AnyPhase) -> dict[str, Any]:
    """Duration and reviewers, which the stored result may lack."""
    details: dict[str, Any] = {}
    if getattr(phase.result, "seconds", None) is None and phase.finished_at and phase.started_at:
        details["seconds"] = _seconds(phase.started_at, phase.finished_at)
    if isinstance(phase.result, ReviewResult):
        reviewers = phase.result.reviewers
        details["agent"] = _names(reviewer.agent for reviewer in reviewers)
        details["model"] = _names(reviewer.model for reviewer in reviewers)
    return {key: value for key, value in details.items() if value is not None or key == "seconds"}


def _names(names: Iterable[str | None]) -> str | None:
    return ", ".join(dict.fromkeys(name for name in names if name)) or None


def _seconds(start: str, end: str) -> float | None:
    try:
        took = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except (ValueError, TypeError):
        return None
    # a clock may have been set back meanwhile
    return max(0.0, round(took.total_seconds(), 3))

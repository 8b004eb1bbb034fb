"""A task as JSON, with the documented keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burnish.core.codec import encode
from burnish.core.event import RecordedEvent
from burnish.core.finding import Finding
from burnish.core.history import AnyPhase, DecisionRecord, with_result
from burnish.core.journal import CheckResult, ReviewResult, read
from burnish.core.journal_events import PhaseStarted, TaskStatus
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.store import Store
from burnish.views.cycles import cycles
from burnish.views.status import Alive, is_running, task_json


def show_json(store: Store, project: str, id: int, alive: Alive = None) -> dict[str, Any]:
    """What `show --json` prints: the task with its cycles, findings and events."""
    task = store.task(project, id)
    phases, decisions = store.phases(project, id), store.decisions(project, id)
    approval = store.approval(project, id)
    events = store.events(project, task=id)
    own_cycles = _cycles_of(task.run, phases, decisions)
    return {
        **task_json(task, alive),
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


def event_json(event: RecordedEvent) -> dict[str, Any]:
    return event.envelope()

"""Writes `task.json` and `baseline-tests.json`, for people and other tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from burnish.core.check import CheckReport
from burnish.core.finding import Finding, Remark
from burnish.core.review import PanelResult, Verdict
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.review.artifact import file_name


@dataclass(frozen=True, slots=True)
class Iteration:
    """One cycle's review in `task.json`."""

    cycle: int
    commit: str
    # path of the stored diff, relative to the file
    diff: str
    panel: PanelResult | None
    findings: tuple[Finding, ...] = ()
    # the effective verdict; the panel's own if None
    verdict: Verdict | None = None
    # of a failed review: when, by which agent, and why
    failed_at: str = ""
    failed_agent: str = ""
    error: str = ""
    # why it was sent back, where the reviewer gave no reason
    why: str = ""


def render_task_json(task: Task, iterations: Sequence[Iteration] = (), *, approval_void: bool = False) -> str:
    """The task and its reviews, with automaker's field names."""
    spec = task.spec
    facts: dict[str, Any] = {
        "id": str(task.id),
        "title": spec.title,
        "description": spec.description,
        "type": spec.type.value,
        "status": task.status.value,
        "branchName": task.branch,
        "scope": spec.scope,
        "criteria": list(spec.criteria),
        "checklist": [{"text": item.text, "done": item.done} for item in spec.checklist],
        "plan": spec.plan,
        "dependencies": [str(id_) for id_ in spec.depends_on],
        "priority": spec.priority,
        "agent": spec.agent,
        "model": spec.model,
        "skipTests": spec.skip_tests,
        "createdAt": task.created_at,
        "codeReviewSpec": {
            "status": _spec_status(task, iterations, approval_void=approval_void),
            "currentIteration": max([task.cycle, *(one.cycle for one in iterations)]),
            "maxIterations": task.max_cycles,
            "iterations": [_iteration(one) for one in iterations],
        },
    }
    return _json(facts)


def _spec_status(task: Task, iterations: Sequence[Iteration], *, approval_void: bool) -> str:
    last = _status(iterations[-1]) if iterations else "pending"
    if last == "approved" and approval_void:
        # the approved tree or the approval criteria have changed
        return "pending"
    if task.status == Status.CODE_REVIEW and not task.waits_for and last != "failed":
        return "reviewing"
    if task.status == Status.CODE_REVIEW and task.waits_for != "improve":
        return "pending"
    return last


def _status(one: Iteration) -> str:
    verdict = one.verdict or (one.panel.verdict if one.panel else None)
    if verdict is None:
        return "failed"
    return "approved" if verdict == Verdict.APPROVED else "rejected"


def _iteration(one: Iteration) -> dict[str, Any]:
    results = one.panel.results if one.panel else ()
    facts = {
        "iterationNumber": one.cycle,
        "reviewedAt": max((result.reviewed_at for result in results), default=""),
        "reviewedByModel": ", ".join(result.model or result.agent for result in results),
        "reviewedByProvider": ", ".join(dict.fromkeys(result.provider or result.agent for result in results)),
        "status": _status(one),
        "gitCommitHash": one.commit,
        "gitDiff": one.diff,
        "findings": [{"id": f.id, "state": f.state.value, **_finding(f.remark)} for f in one.findings],
        "overallSummary": one.panel.summary if one.panel else "",
    }
    if not one.error:
        # a review that crashed or timed out has no file
        facts["reviewFile"] = file_name(one.cycle)
    if _status(one) == "rejected" and one.panel:
        facts["rejectionReason"] = one.panel.rejection_reason or one.panel.summary or one.why
    if one.error:
        facts |= {"error": one.error, "reviewedAt": one.failed_at, "reviewedByModel": one.failed_agent}
        facts |= {"reviewedByProvider": one.failed_agent, "overallSummary": one.error}
    return facts


def _finding(remark: Remark) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "category": remark.category.value,
        "severity": remark.severity.value,
        "title": remark.title,
        "description": remark.description,
    }
    optional = {"suggestion": remark.suggestion, "file": remark.file, "line": remark.line}
    return facts | {key: value for key, value in optional.items() if value}


def render_baseline_json(commit: str, tree: str, report: CheckReport, captured_at: str) -> str:
    """The checks at the base; a check that could not be run has -1 failures and a reason, never zero."""
    counts = report.counts
    facts: dict[str, Any] = {
        "commit": commit,
        "tree": tree,
        "command": report.command,
        "captured_at": captured_at,
        "total": counts.total if counts else None,
        "passed": counts.passed if counts else None,
        "failed": report.failed_count,
        "skipped": counts.skipped if counts else None,
        "failures": [{"name": f.name, "status": f.status, "message": f.message} for f in report.failures],
    }
    if report.failed_count is None:
        alone = f"it failed with exit code {report.exit_code} and reported no single cases"
        facts |= {"failed": -1, "error": report.error or alone}
    return _json(facts)


def _json(facts: dict[str, Any]) -> str:
    text = json.dumps(facts, ensure_ascii=False, indent=2)
    return text.encode("utf-8", "replace").decode("utf-8") + "\n"

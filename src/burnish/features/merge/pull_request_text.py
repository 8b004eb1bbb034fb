"""The text of a pull request: a summary of the task and its reviews."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from burnish.core.check import count_of
from burnish.core.cost import UNKNOWN_COST, cost_with_source
from burnish.core.finding import Finding, worst_first
from burnish.core.history import History, with_result
from burnish.core.journal import ReviewResult
from burnish.core.review import Compliance
from burnish.core.task import Task
from burnish.views.cycles import cycles

MOST = 50
_LONGEST = 300


def body(history: History, *, approved_commit: str | None) -> str:
    """Markdown: summary, criteria, findings with their state, checks, cycles, cost."""
    cycle_views = [cycle for cycle in cycles(history.phases, history.decisions) if cycle["phases"]]
    reviews = [p for p in with_result(history.phases, ReviewResult) if p.phase == "review" and not p.superseded]
    last = reviews[-1].result if reviews else ReviewResult()
    parts = [
        _head(history.task, last, approved_commit),
        _list("Criteria", [_criterion(entry) for entry in last.compliance]),
        _findings(history.findings),
        _list("Checks", [_check(check) for check in _last_checks(cycle_views)]),
        _list("Cycles", [_cycle(cycle) for cycle in cycle_views]),
        _foot(history.task),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def plain(text: object) -> str:
    """One escaped line: without markup, mentions of users, and keywords that close issues."""
    line = " ".join(str(text or "").split())
    line = re.sub(r"([\\`*_\[\]<>|~])", r"\\\1", line)
    line = re.sub(r"([@#])(?=\w)", "\\1\u200b", line).replace("://", ":\u200b//")
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip("\\") + "…"


def _head(task: Task, last: ReviewResult, approved_commit: str | None) -> str:
    verdict = (
        f"**Approved** by burnish at {approved_commit[:12]}."
        if approved_commit
        else f"**Not approved yet** ({task.status})."
    )
    lines = [plain(task.spec.description), verdict, plain(last.summary)]
    return "\n\n".join(line for line in lines if line)


def _list(title: str, items: Sequence[str]) -> str:
    lines = [f"- {item}" for item in items[:MOST]]
    more = [f"- … and {len(items) - MOST} more"] if len(items) > MOST else []
    return f"### {title}\n\n" + "\n".join([*lines, *more]) if items else ""


def _criterion(entry: Compliance) -> str:
    state = "not judged" if entry.met is None else "met" if entry.met else "**not met**"
    comment = plain(entry.note)
    return f"{plain(entry.item)}: {state}" + (f" ({comment})" if comment else "")


def _findings(findings: tuple[Finding, ...]) -> str:
    rows = []
    for finding in worst_first(findings)[:MOST]:
        remark = finding.remark
        place = f" ({plain(remark.file)}{f':{remark.line}' if remark.line else ''})" if remark.file else ""
        reason = f": {plain(finding.waiver.reason)}" if finding.waiver else ""
        rows.append(f"{finding.id} {remark.severity}, **{finding.state}**{reason}: {plain(remark.title)}{place}")
    return _list("Findings", rows) or "### Findings\n\nNone."


def _last_checks(cycle_views: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return next((list(cycle["checks"]) for cycle in reversed(cycle_views) if cycle["checks"]), [])


def _check(check: Mapping[str, Any]) -> str:
    if check.get("status") == "not_run":
        return f"{plain(check.get('name'))}: not run, {plain(check.get('why'))}"
    counts = check.get("counts") or {}
    numbers = ", ".join(f"{counts[key]} {key}" for key in ("passed", "failed", "skipped") if counts.get(key))
    new = f", {count_of(check, 'new')} new" if check.get("new") else ""
    return f"{plain(check.get('name'))}: {check.get('status')}" + (f" ({numbers}{new})" if numbers else "")


def _cycle(cycle: Mapping[str, Any]) -> str:
    who = ", ".join(plain(voice.get("agent")) for voice in cycle["reviewers"])
    verdict = f"{cycle['verdict'] or 'no review'}" + (f" by {who}" if who else "")
    summary = plain(cycle["summary"])
    return f"{cycle['number']}: {verdict}" + (f": {summary}" if summary else "")


def _foot(task: Task) -> str:
    words = cost_with_source(task.cost_usd, task.cost_source)
    cost = f", {words}" if words == UNKNOWN_COST else f", cost {words}" if words else ""
    tokens = f", {task.tokens:,} tokens" if task.tokens else ""
    overrides = f", {task.overrides} overridden by a person" if task.overrides else ""
    count = f"{task.cycle} cycle{'' if task.cycle == 1 else 's'}"
    return f"Task {task.id}, {count}{cost}{tokens}{overrides}."

"""Writes open findings as rdjson, the format of reviewdog. `checks/rdjson.py` reads them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burnish.core.finding import Finding, worst_first
from burnish.exchange.sarif import message


def write_rdjson(findings: Sequence[Finding]) -> dict[str, Any]:
    alive = worst_first(tuple(finding for finding in findings if finding.alive))
    return {"source": {"name": "burnish"}, "diagnostics": [_diagnostic(finding) for finding in alive]}


def _diagnostic(finding: Finding) -> dict[str, Any]:
    remark = finding.remark
    diagnostic: dict[str, Any] = {"message": message(remark), "severity": remark.severity.value.upper()}
    if remark.rule:
        diagnostic["code"] = {"value": remark.rule}
    if remark.file:
        place: dict[str, Any] = {"path": remark.file}
        if remark.line:
            has_end = remark.end_line and remark.end_line >= remark.line
            end = {"end": {"line": remark.end_line}} if has_end else {}
            place["range"] = {"start": {"line": remark.line}, **end}
        diagnostic["location"] = place
    # reviewdog shows it for debugging, and otherwise ignores it
    diagnostic["original_output"] = f"{finding.id} {remark.category} {remark.severity}: {remark.title}"
    return diagnostic

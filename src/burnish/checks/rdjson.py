"""Reads rdjson and rdjsonl, the formats of reviewdog. rdjsonl has one diagnostic per line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from burnish.checks.reading import (
    Reading,
    first_part,
    items,
    line_number,
    parse_json,
    path_in_repository,
    tool_names,
    value_at,
)
from burnish.core.finding import Category, Remark, Severity, outside_rule

MAX_DIAGNOSTICS = 20_000
# by name, or by protobuf's number
_SEVERITY = {
    "ERROR": Severity.ERROR,
    "WARNING": Severity.WARNING,
    "INFO": Severity.INFO,
    1: Severity.ERROR,
    2: Severity.WARNING,
    3: Severity.INFO,
}


def read_rdjson(data: bytes, *, source: str, root: Path | None = None, mounted_at: Path | None = None) -> Reading:
    """The diagnostics as remarks. Never raises."""
    report = parse_json(data, "rdjson report")
    if isinstance(report, Reading):
        return report
    found = value_at(report, "diagnostics")
    if not isinstance(found, list):
        return Reading(error="the rdjson report has no diagnostics")
    tool = tool_names([value_at(report, "source", "name")])
    return _read(found, tool, value_at(report, "severity"), source, root, mounted_at)


def read_rdjsonl(data: bytes, *, source: str, root: Path | None = None, mounted_at: Path | None = None) -> Reading:
    """The diagnostics as remarks. Never raises."""
    found = []
    for line in data.split(b"\n"):
        if line.strip():
            value = parse_json(line, "rdjsonl report")
            if isinstance(value, Reading):
                return value
            found.append(value)
    return _read(found, tool_names(value_at(one, "source", "name") for one in found), None, source, root, mounted_at)


def _read(
    found: Sequence[Any], tool: str, severity: Any, source: str, root: Path | None, mounted_at: Path | None
) -> Reading:
    remarks: list[Remark] = []
    for one in found[:MAX_DIAGNOSTICS]:
        text = value_at(one, "message")
        if not isinstance(text, str) or not text.strip():
            return Reading(remarks=tuple(remarks), tool=tool, error="a diagnostic has no message")
        remarks.append(_remark(one, text, severity, source, root, mounted_at))
    error = f"only the first {MAX_DIAGNOSTICS} diagnostics were read" if len(found) > MAX_DIAGNOSTICS else ""
    return Reading(remarks=tuple(remarks), tool=tool, error=error)


def _remark(one: Any, text: str, severity: Any, source: str, root: Path | None, mounted_at: Path | None) -> Remark:
    words = first_part(text, 2000)
    path, code = value_at(one, "location", "path"), value_at(one, "code", "value")
    level = value_at(one, "severity") or severity
    return Remark(
        category=Category.CODE,
        # as in reviewdog, a diagnostic without severity is an error
        severity=_SEVERITY.get(level, Severity.ERROR) if isinstance(level, str | int) else Severity.ERROR,
        title=first_part(words.split("\n")[0], 200),
        description=words,
        suggestion=_suggestion(one),
        file=path_in_repository(path, root, mounted_at) if isinstance(path, str) else None,
        line=line_number(value_at(one, "location", "range", "start", "line")),
        end_line=line_number(value_at(one, "location", "range", "end", "line")),
        rule=outside_rule(first_part(code, 200)) if isinstance(code, str) else "",
        source=source,
    )


def _suggestion(one: Any) -> str:
    """The replacement texts that the tool suggests."""
    texts = [text for s in items(one, "suggestions") if isinstance(text := value_at(s, "text"), str) and text.strip()]
    return first_part("\n\n".join(texts), 2000)

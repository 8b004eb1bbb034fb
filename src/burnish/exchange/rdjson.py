"""Reads reviewdog's rdjson and rdjsonl (one diagnostic per line)."""

from __future__ import annotations

from typing import Any

from burnish.core.finding import Category, Remark, Severity
from burnish.core.sarif import at, items, line_number
from burnish.exchange.report import NotReadable, Report, make_report, parse_json, place, shorten

# by name, or by protobuf's number
_SEVERITY = {
    "ERROR": Severity.ERROR,
    "WARNING": Severity.WARNING,
    "INFO": Severity.INFO,
    1: Severity.ERROR,
    2: Severity.WARNING,
    3: Severity.INFO,
}


def read_rdjson(text: str, *, source: str) -> Report:
    """Read a report; raises `NotReadable`."""
    report = parse_json(text, "rdjson report")
    found = at(report, "diagnostics")
    if not isinstance(found, list):
        raise NotReadable("the rdjson report has no diagnostics")
    tool = at(report, "source", "name")
    name = shorten(tool, 60) if isinstance(tool, str) else ""
    return make_report(name, [_remark(one, source, at(report, "severity")) for one in found])


def read_rdjsonl(text: str, *, source: str) -> Report:
    lines = [line for line in text.split("\n") if line.strip()]
    found = [parse_json(line, "rdjsonl report") for line in lines]
    names = [name for one in found if isinstance(name := at(one, "source", "name"), str)]
    tool = ", ".join(dict.fromkeys(shorten(name, 60) for name in names))
    return make_report(tool, [_remark(one, source, None) for one in found])


def _remark(one: Any, source: str, severity: Any) -> Remark:
    text = at(one, "message")
    if not isinstance(text, str) or not text.strip():
        raise NotReadable("a diagnostic has no message")
    words = shorten(text, 2000)
    path, code = at(one, "location", "path"), at(one, "code", "value")
    level = at(one, "severity") or severity
    return Remark(
        category=Category.CODE,
        # as in reviewdog, a diagnostic without severity is an error
        severity=_SEVERITY.get(level, Severity.ERROR) if isinstance(level, str | int) else Severity.ERROR,
        title=shorten(words.split("\n")[0], 200),
        description=words,
        suggestion=_suggestion(one),
        file=place(path) if isinstance(path, str) else None,
        line=line_number(at(one, "location", "range", "start", "line")),
        end_line=line_number(at(one, "location", "range", "end", "line")),
        rule=shorten(code, 200) if isinstance(code, str) else "",
        source=source,
    )


def _suggestion(one: Any) -> str:
    """The replacement texts that the tool suggests."""
    texts = [text for s in items(one, "suggestions") if isinstance(text := at(s, "text"), str) and text.strip()]
    return shorten("\n\n".join(texts), 2000)

"""reviewdog's rdjson, and rdjsonl with one diagnostic a line."""

from __future__ import annotations

from typing import Any

from burnish.core.finding import Category, Remark, Severity
from burnish.core.sarif import at, items, line_number
from burnish.exchange.report import NotReadable, Report, checked, parsed, place, shorten

# by name, or by number as protobuf has it
_SEVERITY = {
    "ERROR": Severity.ERROR,
    "WARNING": Severity.WARNING,
    "INFO": Severity.INFO,
    1: Severity.ERROR,
    2: Severity.WARNING,
    3: Severity.INFO,
}


def read_rdjson(text: str, *, source: str) -> Report:
    """The diagnostics of a whole report; `NotReadable` if it is none."""
    report = parsed(text, "rdjson report")
    found = at(report, "diagnostics")
    if not isinstance(found, list):
        raise NotReadable("the rdjson report has no diagnostics")
    tool = at(report, "source", "name")
    name = shorten(tool, 60) if isinstance(tool, str) else ""
    return checked(name, [_remark(one, source, at(report, "severity")) for one in found])


def read_rdjsonl(text: str, *, source: str) -> Report:
    lines = [line for line in text.split("\n") if line.strip()]
    found = [parsed(line, "rdjsonl report") for line in lines]
    names = [name for one in found if isinstance(name := at(one, "source", "name"), str)]
    tool = ", ".join(dict.fromkeys(shorten(name, 60) for name in names))
    return checked(tool, [_remark(one, source, None) for one in found])


def _remark(one: Any, source: str, severity: Any) -> Remark:
    text = at(one, "message")
    if not isinstance(text, str) or not text.strip():
        raise NotReadable("a diagnostic has no message")
    words = shorten(text, 2000)
    path, code = at(one, "location", "path"), at(one, "code", "value")
    said = at(one, "severity") or severity
    return Remark(
        category=Category.CODE,
        # reviewdog, too, takes a diagnostic without severity for an error
        severity=_SEVERITY.get(said, Severity.ERROR) if isinstance(said, str | int) else Severity.ERROR,
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
    """What the tool would put there."""
    texts = [text for s in items(one, "suggestions") if isinstance(text := at(s, "text"), str) and text.strip()]
    return shorten("\n\n".join(texts), 2000)

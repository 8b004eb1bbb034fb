"""Reads the reports of other tools: SARIF, and reviewdog's rdjson and rdjsonl."""

from __future__ import annotations

import json
import posixpath
import unicodedata
from dataclasses import dataclass
from typing import Any

from burnish.core.finding import Category, Remark, Severity
from burnish.core.sarif import ResultBuilder, at, failed, items, line_number, remarks_of, runs_of

# matching more findings across cycles takes minutes
MOST = 2000


class NotReadable(ValueError):
    """A report cannot be read completely; the message says why."""


@dataclass(frozen=True, slots=True)
class Report:
    # the tool, e.g. "semgrep"; "" if unknown
    tool: str
    remarks: tuple[Remark, ...]


def parse_json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotReadable(f"the {what} is not valid JSON: {str(error)[:200]}") from None


def make_report(tool: str, remarks: list[Remark]) -> Report:
    if len(remarks) > MOST:
        raise NotReadable(f"it reports {len(remarks):,} problems, more than {MOST:,}")
    return Report(tool, tuple(remarks))


def place(path: str) -> str | None:
    """The normalised path inside the repository, `./a/../b.py` as `b.py`; None for a path outside."""
    if not path or path.startswith("/") or "\0" in path:
        return None
    clean = posixpath.normpath(path)
    return None if clean == "." or clean == ".." or clean.startswith("../") else clean


def shorten(text: str, longest: int) -> str:
    """The first `longest` characters, without control and direction marks except newline and tab."""
    visible = "".join(c for c in text.replace("\r\n", "\n") if c in "\n\t" or unicodedata.category(c)[0] != "C").strip()
    return visible if len(visible) <= longest else f"{visible[: longest - 1].rstrip()}…"


def read_sarif(text: str, *, source: str) -> Report:
    """Read the results of all runs; raises `NotReadable` if the report or a run is incomplete."""
    runs = runs_of(parse_json(text, "SARIF report"))
    if runs is None:
        raise NotReadable("the SARIF report has no runs")
    if bad := sum(failed(run) for run in runs):
        raise NotReadable(f"the report says that {bad} of {len(runs)} runs of the analyser failed")
    builder = ResultBuilder(source, place, shorten)
    names = [name for run in runs if isinstance(name := at(run, "tool", "driver", "name"), str)]
    tool = ", ".join(dict.fromkeys(shorten(name, 60) for name in names))
    return make_report(tool, [remark for run in runs for remark in remarks_of(run, builder)])


# -- rdjson ---------------------------------------------------------------------------------------
# Reads reviewdog's rdjson and rdjsonl (one diagnostic per line).

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

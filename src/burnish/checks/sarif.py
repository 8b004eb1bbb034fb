"""SARIF 2.1.0, the report of most static analysers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from burnish.checks.reading import Reading, inside, shortened
from burnish.core.finding import Category, Remark, Severity

MOST_RESULTS = 20_000
_SEVERITY = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "note": Severity.INFO,
    "none": Severity.INFO,
}


def read_sarif(data: bytes, *, source: str, root: Path | None = None) -> Reading:
    """The results as remarks. Never raises."""
    try:
        log = json.loads(data)
    except (ValueError, RecursionError) as error:
        return Reading(error=f"the SARIF report is not valid JSON: {str(error)[:200]}")
    runs = _at(log, "runs")
    if not isinstance(runs, list):
        return Reading(error="the SARIF report has no runs")
    remarks: list[Remark] = []
    for run in runs:
        for remark in _remarks(run, source, root):
            if len(remarks) >= MOST_RESULTS:
                return Reading(remarks=tuple(remarks), error=f"only the first {MOST_RESULTS} results were read")
            remarks.append(remark)
    if failed := [run for run in runs if _failed(run)]:
        return Reading(remarks=tuple(remarks), error=f"{len(failed)} of the analyser's runs did not succeed")
    return Reading(remarks=tuple(remarks))


def _failed(run: Any) -> bool:
    return any(_at(one, "executionSuccessful") is False for one in _list(run, "invocations"))


def _remarks(run: Any, source: str, root: Path | None) -> Iterator[Remark]:
    rules = _list(run, "tool", "driver", "rules")
    by_id = {name: rule for rule in rules if isinstance(name := _at(rule, "id"), str)}
    for result in _list(run, "results"):
        if not isinstance(result, dict) or result.get("kind", "fail") not in ("fail", "open", "review"):
            continue
        if any(_at(one, "status") not in ("underReview", "rejected") for one in _list(result, "suppressions")):
            continue
        yield _remark(result, _rule(result, rules, by_id), source, root)


def _rule(result: Any, rules: list[Any], by_id: dict[str, Any]) -> Any:
    index = result.get("ruleIndex", _at(result, "rule", "index"))
    if isinstance(index, int) and 0 <= index < len(rules):
        return rules[index]
    name = _id(result)
    # `rule/sub` refers to the rule `rule`
    return by_id.get(name) or by_id.get(name.rsplit("/", 1)[0])


def _id(result: Any) -> str:
    name = result.get("ruleId", _at(result, "rule", "id"))
    return name if isinstance(name, str) else ""


def _remark(result: Any, rule: Any, source: str, root: Path | None) -> Remark:
    level = result.get("level") or _at(rule, "defaultConfiguration", "level") or "warning"
    text = _at(result, "message", "text") or _at(result, "message", "markdown")
    place = _at((_list(result, "locations") or [None])[0], "physicalLocation")
    words = shortened(text) if isinstance(text, str) and text.strip() else _id(result) or "(no message)"
    return Remark(
        category=Category.SECURITY if _about_security(rule) else Category.CODE,
        severity=_SEVERITY.get(level, Severity.WARNING) if isinstance(level, str) else Severity.WARNING,
        title=shortened(words.split("\n")[0], longest=200),
        description=words,
        file=_file(_at(place, "artifactLocation", "uri"), root),
        line=_line(_at(place, "region", "startLine")),
        end_line=_line(_at(place, "region", "endLine")),
        rule=shortened(_id(result), longest=200),
        source=source,
    )


def _about_security(rule: Any) -> bool:
    tags = _list(rule, "properties", "tags")
    return _at(rule, "properties", "security-severity") is not None or any(
        isinstance(tag, str) and "security" in tag.lower() for tag in tags
    )


def _file(uri: Any, root: Path | None) -> str | None:
    if not isinstance(uri, str) or "\0" in uri:
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme not in ("", "file"):
        return None
    return inside(unquote(parts.path), root)


def _line(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else None


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _list(value: Any, *keys: str) -> list[Any]:
    found = _at(value, *keys)
    return found if isinstance(found, list) else []

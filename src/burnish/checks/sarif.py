"""Reads SARIF 2.1.0, the report of most static analysers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

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

MAX_RESULTS = 20_000
_SEVERITY = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "note": Severity.INFO,
    "none": Severity.INFO,
}


@dataclass(frozen=True, slots=True)
class _Origin:
    """Whose remarks they are, and the folder that their paths refer to."""

    source: str
    root: Path | None
    mounted_at: Path | None


def read_sarif(data: bytes, *, source: str, root: Path | None = None, mounted_at: Path | None = None) -> Reading:
    """The results of all runs as remarks. Never raises."""
    log = parse_json(data, "SARIF report")
    if isinstance(log, Reading):
        return log
    runs = _runs_of(log)
    if runs is None:
        return Reading(error="the SARIF report has no runs")
    origin = _Origin(source, root, mounted_at)
    tool = tool_names(value_at(run, "tool", "driver", "name") for run in runs)
    remarks: list[Remark] = []
    for run in runs:
        for remark in _remarks_of(run, origin):
            if len(remarks) >= MAX_RESULTS:
                error = f"only the first {MAX_RESULTS} results were read"
                return Reading(remarks=tuple(remarks), tool=tool, error=error)
            remarks.append(remark)
    failures = sum(_failed(run) for run in runs)
    error = f"{failures} of {len(runs)} runs of the analyser failed" if failures else ""
    return Reading(remarks=tuple(remarks), tool=tool, error=error)


def _runs_of(log: Any) -> list[Any] | None:
    """The analyser's runs; None if this is not SARIF."""
    runs = value_at(log, "runs")
    return runs if isinstance(runs, list) else None


def _failed(run: Any) -> bool:
    return any(value_at(one, "executionSuccessful") is False for one in items(run, "invocations"))


def _remarks_of(run: Any, origin: _Origin) -> Iterator[Remark]:
    rules = items(run, "tool", "driver", "rules")
    by_id = {name: rule for rule in rules if isinstance(name := value_at(rule, "id"), str)}
    for result in items(run, "results"):
        if not isinstance(result, dict) or result.get("kind", "fail") not in ("fail", "open", "review"):
            continue
        if any(value_at(one, "status") not in ("underReview", "rejected") for one in items(result, "suppressions")):
            continue
        yield _remark(result, _rule(result, rules, by_id), origin)


def _rule(result: Any, rules: list[Any], by_id: dict[str, Any]) -> Any:
    index = result.get("ruleIndex", value_at(result, "rule", "index"))
    if isinstance(index, int) and 0 <= index < len(rules):
        return rules[index]
    name = _id(result)
    # `rule/sub` refers to the rule `rule`
    return by_id.get(name) or by_id.get(name.rsplit("/", 1)[0])


def _id(result: Any) -> str:
    name = result.get("ruleId", value_at(result, "rule", "id"))
    return name if isinstance(name, str) else ""


def _remark(result: Any, rule: Any, origin: _Origin) -> Remark:
    level = result.get("level") or value_at(rule, "defaultConfiguration", "level") or "warning"
    text = value_at(result, "message", "text") or value_at(result, "message", "markdown")
    place = value_at((items(result, "locations") or [None])[0], "physicalLocation")
    own = value_at(result, "properties", "burnish")
    words = first_part(text, 2000) if isinstance(text, str) and text.strip() else _id(result) or "(no message)"
    remark = Remark(
        category=Category.SECURITY if _about_security(rule) else Category.CODE,
        severity=_SEVERITY.get(level, Severity.WARNING) if isinstance(level, str) else Severity.WARNING,
        title=first_part(words.split("\n")[0], 200),
        description=words,
        file=_file(value_at(place, "artifactLocation", "uri"), origin),
        line=line_number(value_at(place, "region", "startLine")),
        end_line=line_number(value_at(place, "region", "endLine")),
        rule=outside_rule(first_part(_id(result), 200)),
        source=origin.source,
    )
    return _with_own_fields(remark, own) if isinstance(own, dict) else remark


def _with_own_fields(remark: Remark, own: dict[str, Any]) -> Remark:
    """What `burnish export` writes beside the fields of SARIF."""
    texts = {name: first_part(value, 200 if name in ("title", "rule") else 20_000) for name, value in _own_texts(own)}
    confidence, category = own.get("confidence"), own.get("category")
    is_share = isinstance(confidence, float | int) and not isinstance(confidence, bool) and 0 <= confidence <= 1
    return replace(
        remark,
        category=Category(category) if category in list(Category) else remark.category,
        title=texts.get("title") or remark.title,
        description=texts.get("description", ""),
        suggestion=texts.get("suggestion", ""),
        quote=texts.get("quote", ""),
        rule=outside_rule(texts.get("rule", "")),
        confidence=float(confidence) if confidence is not None and is_share else None,
    )


def _own_texts(own: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("title", "description", "suggestion", "quote", "rule"):
        if isinstance(value := own.get(name), str):
            yield name, value


def _about_security(rule: Any) -> bool:
    tags = items(rule, "properties", "tags")
    return value_at(rule, "properties", "security-severity") is not None or any(
        isinstance(tag, str) and "security" in tag.lower() for tag in tags
    )


def _file(uri: Any, origin: _Origin) -> str | None:
    if not isinstance(uri, str) or "\0" in uri:
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme not in ("", "file"):
        return None
    return path_in_repository(unquote(parts.path, errors="surrogateescape"), origin.root, origin.mounted_at)

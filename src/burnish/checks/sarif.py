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
# kinds of results that report no problem
_NO_PROBLEM = ("pass", "notApplicable", "informational")


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
    error = f"{failures} of {len(runs)} runs of the analyser failed" if failures else _unreadable(log, runs)
    return Reading(remarks=tuple(remarks), tool=tool, error=error)


def _runs_of(log: Any) -> list[Any] | None:
    """The analyser's runs; None if this is not SARIF."""
    runs = value_at(log, "runs")
    return runs if isinstance(runs, list) else None


def _failed(run: Any) -> bool:
    return any(value_at(one, "executionSuccessful") not in (None, True) for one in items(run, "invocations"))


def _unreadable(log: Any, runs: list[Any]) -> str:
    """Why results may be missing: an error among them must not be lost. "": all of them were read."""
    external = [value_at(run, "externalPropertyFileReferences", "results") for run in runs]
    inline = [value_at(one, "results") for one in items(log, "inlineExternalProperties")]
    if any(value is not None for value in (*external, *inline)):
        return "its results are in another place than its runs"
    for run in runs:
        results = run.get("results", []) if isinstance(run, dict) else None
        if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
            return "a run has results that cannot be read"
    return ""


def _remarks_of(run: Any, origin: _Origin) -> Iterator[Remark]:
    levels = _RuleLevels(run)
    for result in items(run, "results"):
        if not isinstance(result, dict) or result.get("kind") in _NO_PROBLEM:
            continue
        suppressions = items(result, "suppressions")
        if suppressions and all(_is_accepted(one) for one in suppressions):
            continue
        yield _remark(result, levels, origin)


def _is_accepted(suppression: Any) -> bool:
    return isinstance(suppression, dict) and suppression.get("status") in (None, "accepted")


class _RuleLevels:
    """The rules of a run: of its driver and of its extensions."""

    def __init__(self, run: Any) -> None:
        tool = value_at(run, "tool")
        self._components = [items(one, "rules") for one in (value_at(tool, "driver"), *items(tool, "extensions"))]
        self._by_id: dict[str, list[Any]] = {}
        for rule in (rule for rules in self._components for rule in rules):
            self._by_id.setdefault(str(value_at(rule, "id")), []).append(rule)
        # "": of any rule, because the override does not name one
        self._overrides: dict[str, list[Any]] = {}
        for call in items(run, "invocations"):
            for one in items(call, "ruleConfigurationOverrides"):
                level = value_at(one, "configuration", "level")
                self._overrides.setdefault(str(value_at(one, "descriptor", "id") or ""), []).append(level)

    def rules(self, result: Any) -> list[Any]:
        """Those that a result may refer to: by number and by name, which need not agree."""
        index = result.get("ruleIndex", value_at(result, "rule", "index"))
        component = value_at(result, "rule", "toolComponent", "index")
        at = component + 1 if _is_index(component) else 0
        component_rules = self._components[at] if at < len(self._components) else []
        found = [component_rules[index]] if _is_index(index) and index < len(component_rules) else []
        name = _id(result)
        # `rule/sub` refers to the rule `rule`
        return [*found, *(self._by_id.get(name) or self._by_id.get(name.rsplit("/", 1)[0], []))]

    def severity(self, result: Any) -> Severity:
        """The own level of the result, else the worst that its rules have."""
        if result.get("level") is not None:
            return _severity(result["level"])
        rules = self.rules(result)
        levels = [value_at(rule, "defaultConfiguration", "level") for rule in rules]
        for name in {"", _id(result), *(str(value_at(rule, "id")) for rule in rules)}:
            levels += self._overrides.get(name, [])
        severities = [_severity(level) for level in levels if level is not None]
        return min(severities, key=lambda severity: severity.rank, default=Severity.WARNING)


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _severity(level: Any) -> Severity:
    """A level that SARIF does not have ("critical") counts as an error."""
    return _SEVERITY.get(level.strip().lower(), Severity.ERROR) if isinstance(level, str) else Severity.ERROR


def _id(result: Any) -> str:
    name = result.get("ruleId", value_at(result, "rule", "id"))
    return name if isinstance(name, str) else ""


def _remark(result: Any, levels: _RuleLevels, origin: _Origin) -> Remark:
    text = value_at(result, "message", "text") or value_at(result, "message", "markdown")
    place = value_at((items(result, "locations") or [None])[0], "physicalLocation")
    own = value_at(result, "properties", "burnish")
    words = first_part(text, 2000) if isinstance(text, str) and text.strip() else _id(result) or "(no message)"
    remark = Remark(
        category=Category.SECURITY if any(map(_about_security, levels.rules(result))) else Category.CODE,
        severity=levels.severity(result),
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

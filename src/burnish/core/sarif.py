"""SARIF 2.1.0, the report of most static analysers: from its JSON to remarks. Never raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from burnish.core.finding import Category, Remark, Severity

_SEVERITY = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "note": Severity.INFO,
    "none": Severity.INFO,
}


@dataclass(frozen=True, slots=True)
class ResultBuilder:
    """What the reader needs to know about where it reads."""

    source: str
    # a path of the report as the repository knows it; None if it lies elsewhere
    place: Callable[[str], str | None]
    # clean, and no longer than that
    shorten: Callable[[str, int], str]


def runs_of(log: Any) -> list[Any] | None:
    """The analyser's runs; None if this is not SARIF."""
    runs = at(log, "runs")
    return runs if isinstance(runs, list) else None


def failed(run: Any) -> bool:
    return any(at(one, "executionSuccessful") is False for one in items(run, "invocations"))


def remarks_of(run: Any, means: ResultBuilder) -> Iterator[Remark]:
    rules = items(run, "tool", "driver", "rules")
    by_id = {name: rule for rule in rules if isinstance(name := at(rule, "id"), str)}
    for result in items(run, "results"):
        if not isinstance(result, dict) or result.get("kind", "fail") not in ("fail", "open", "review"):
            continue
        if any(at(one, "status") not in ("underReview", "rejected") for one in items(result, "suppressions")):
            continue
        yield _remark(result, _rule(result, rules, by_id), means)


def _rule(result: Any, rules: list[Any], by_id: dict[str, Any]) -> Any:
    index = result.get("ruleIndex", at(result, "rule", "index"))
    if isinstance(index, int) and 0 <= index < len(rules):
        return rules[index]
    name = _id(result)
    # `rule/sub` refers to the rule `rule`
    return by_id.get(name) or by_id.get(name.rsplit("/", 1)[0])


def _id(result: Any) -> str:
    name = result.get("ruleId", at(result, "rule", "id"))
    return name if isinstance(name, str) else ""


def _remark(result: Any, rule: Any, means: ResultBuilder) -> Remark:
    level = result.get("level") or at(rule, "defaultConfiguration", "level") or "warning"
    text = at(result, "message", "text") or at(result, "message", "markdown")
    place = at((items(result, "locations") or [None])[0], "physicalLocation")
    words = means.shorten(text, 2000) if isinstance(text, str) and text.strip() else _id(result) or "(no message)"
    return Remark(
        category=Category.SECURITY if _about_security(rule) else Category.CODE,
        severity=_SEVERITY.get(level, Severity.WARNING) if isinstance(level, str) else Severity.WARNING,
        title=means.shorten(words.split("\n")[0], 200),
        description=words,
        file=_file(at(place, "artifactLocation", "uri"), means),
        line=line_number(at(place, "region", "startLine")),
        end_line=line_number(at(place, "region", "endLine")),
        rule=means.shorten(_id(result), 200),
        source=means.source,
    )


def _about_security(rule: Any) -> bool:
    tags = items(rule, "properties", "tags")
    return at(rule, "properties", "security-severity") is not None or any(
        isinstance(tag, str) and "security" in tag.lower() for tag in tags
    )


def _file(uri: Any, means: ResultBuilder) -> str | None:
    if not isinstance(uri, str) or "\0" in uri:
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme not in ("", "file"):
        return None
    return means.place(unquote(parts.path))


def line_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else None


def at(value: Any, *keys: str) -> Any:
    """What lies at the end of the keys, None if the way is cut."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def items(value: Any, *keys: str) -> list[Any]:
    found = at(value, *keys)
    return found if isinstance(found, list) else []

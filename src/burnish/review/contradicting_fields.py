"""Finds fields of an approving verdict block that reject the change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from burnish.core.lookalikes import visible
from burnish.review.refusal import plain_line, refuses
from burnish.review.rejecting_lines import is_rejecting_line

_OTHER_VERDICTS = frozenset(
    "rejected|reject|disapproved|not approved|changes requested|request changes|needs revision|needs discussion"
    "|do not merge".split("|")
)
# names that models use instead of `findings`
_PROBLEM_LISTS = frozenset(
    "issues|problems|bugs|defects|vulnerabilities|blockers|errors|blocking issues|must fix|required changes"
    "|security issues|critical issues|blocking findings|critical".split("|")
)
_GRAVE = frozenset("error critical high blocker blocking major severe fatal p0 p1".split())
_VERDICT_NAMES = frozenset("decision status result outcome recommendation conclusion assessment".split())
_DENIALS = frozenset("no|false|denied|refused|withheld|fail|fails|failed|failure|blocked|not passed|never|0".split("|"))
_NONE = frozenset("|none|no|nothing|n a|na|null|0|not applicable|none found".split("|"))
_DEEPEST = 8


def contradicting_field(block: dict[str, Any], known_keys: frozenset[str]) -> str:
    """The field of an approving block that rejects, as `name: text`; "" if there is none."""
    for key, value in block.items():
        if key not in known_keys:
            if other := _other_verdict(key, value):
                return other
            for text in _texts(value):
                if refuses(plain_line(text)):
                    return f"{key}: {text[:80]}"
    for name, text in _known_texts(block):
        if refuses(plain_line(text)):
            return f"{name}: {' '.join(text.split())[:80]}"
    return ""


def _known_texts(block: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(block.get("summary"), str):
        yield "summary", block["summary"]
    for key, fields in (("findings", ("title", "description")), ("compliance", ("note",)), ("prior", ("note",))):
        for entry in block.get(key) or ():
            # errors beside an approval are compared with the ledger later: a person may have waived them
            if isinstance(entry, dict) and str(entry.get("severity")).strip().lower() not in _GRAVE:
                yield from ((f"{key}.{name}", entry[name]) for name in fields if isinstance(entry.get(name), str))


def _other_verdict(key: str, value: Any, depth: int = 0) -> str:
    """A field outside of the contract whose name and value state a rejection or a serious problem."""
    name = re.sub(r"[\W_]+", " ", key.casefold()).strip()
    excerpt = f"{key[:40]}: {json.dumps(value, ensure_ascii=False, default=str)[:60]}"
    if name in _PROBLEM_LISTS and isinstance(value, list | dict) and value:
        return excerpt
    approves = re.search(r"approv|mergeable|merge|lgtm|pass|accept|safe|^ready|^ok$", name)
    if isinstance(value, bool):
        rejects = re.search(r"reject|block|veto|fail|unsafe|malicious", name)
        return excerpt if (approves and not value) or (rejects and value) else ""
    if isinstance(value, str):
        words = re.sub(r"[\W_]+", " ", visible(value).casefold()).strip()
        is_grave = name in ("severity", "priority", "level", "risk") and words in _GRAVE
        is_denial = words in _DENIALS and (approves or name in _VERDICT_NAMES)
        is_problem = name in _PROBLEM_LISTS and words not in _NONE
        is_verdict = words in _OTHER_VERDICTS or is_rejecting_line(f"{key}: {value[:200]}")
        return excerpt if is_grave or is_denial or is_problem or is_verdict else ""
    if name == "vote" and isinstance(value, int | float) and value < 0:
        return excerpt
    if approves and isinstance(value, int | float) and not value and not name.startswith(("merge c", "pass")):
        return excerpt
    if depth >= _DEEPEST:
        return ""
    entries: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = [(key, one) for one in value]
    return next((found for inner, one in entries if (found := _other_verdict(inner, one, depth + 1))), "")


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < _DEEPEST:
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one, depth + 1)

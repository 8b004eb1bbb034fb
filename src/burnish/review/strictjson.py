"""A strict JSON parser for untrusted text: no duplicate keys, no NaN, limited nesting, one exception type."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 16
MAX_LENGTH = 1_000_000

_TOKEN = re.compile(r'\\.|["\[\]{}]', re.DOTALL)


class BadJson(ValueError):
    """The text is not valid JSON; the message says why."""


def loads(text: str) -> Any:
    """Parse JSON; raises only `BadJson`."""
    if len(text) > MAX_LENGTH:
        raise BadJson(f"the JSON is longer than {MAX_LENGTH:,} characters")
    if _depth(text) > MAX_DEPTH:
        raise BadJson(f"the JSON is nested deeper than {MAX_DEPTH}")
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except BadJson:
        raise
    except (ValueError, RecursionError) as why:
        raise BadJson(f"the JSON cannot be read: {why}") from None


def _depth(text: str) -> int:
    deepest = here = 0
    in_string = False
    for token in _TOKEN.finditer(text):
        if token[0] == '"':
            in_string = not in_string
        elif not in_string and token[0] in ("[", "{"):
            here += 1
            deepest = max(deepest, here)
        elif not in_string and token[0] in ("]", "}"):
            here -= 1
    return deepest


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise BadJson(f"the key {key[:40]!r} occurs twice")
        found[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise BadJson(f"{name} is not JSON")

"""Tokens in JSON files: without those that refresh, and when they expire. Pure."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from burnish.agents.credential_text import blank_refresh_tokens, looks_like_token

# Entries such as {"name": "refresh_token", "value": …}
_NAMES = ("name", "key", "type", "kind", "id", "label", "account", "username")
_NAMED_VALUES = ("value", "token", "secret", "data", "password")
_ACCESS = ("access", "access_token", "accessToken", "token")
# Times above this are milliseconds: as seconds they would be after the year 5000.
_MILLISECONDS = 1e11


def parsed(data: bytes) -> Any | None:
    """The JSON value of a file; None if it is not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def without_refresh_tokens(value: Any) -> Any:
    """The same value with every refresh token empty, at any depth, in strings that are JSON themselves too.

    Refresh tokens are used once: a copy that refreshes logs the original out. The keys stay, since codex wants them.
    """
    if isinstance(value, list):
        previous = [None, *value][: len(value)]
        return [
            "" if _is_value_of(name, item) else without_refresh_tokens(item)
            for name, item in zip(previous, value, strict=True)
        ]
    if isinstance(value, str):
        return _cleaned_string(value)
    if not isinstance(value, dict):
        return value
    # Some providers of opencode have one long-lived token under both names.
    access = {value[name] for name in _ACCESS if isinstance(value.get(name), str)}
    names = (value.get(name) for name in _NAMES)
    is_named = any(isinstance(name, str) and len(name) < 100 and is_refresh_key(name) for name in names)
    return {
        key: _emptied(item, access)
        if is_refresh_key(key) or (is_named and key.lower() in _NAMED_VALUES)
        else without_refresh_tokens(item)
        for key, item in value.items()
    }


def _is_value_of(name: object, item: object) -> bool:
    """Is the element after `name` in a list its value? Always after an option; `grant_types` list bare names, too."""
    if not isinstance(name, str) or not isinstance(item, str) or len(name) > 100 or not is_refresh_key(name):
        return False
    if "=" in name or item.startswith("-"):
        return False
    return name.startswith("-") or looks_like_token(item)


def is_refresh_key(key: str) -> bool:
    """Whatever stands between, before or after the words. `refresh` alone is opencode's name for it."""
    letters = re.sub(r"[^a-z]", "", key.lower())
    return letters == "refresh" or "refreshtoken" in letters


def _emptied(item: Any, access: set[str]) -> Any:
    """Of the same type, since programs check that. A number is a time or a count, not a token."""
    if isinstance(item, str):
        return item if item in access else ""
    return type(item)() if isinstance(item, list | dict) else item


def _cleaned_string(text: str) -> str:
    lower_text = text.lower()
    if "refresh" not in lower_text and "\\u00" not in lower_text:
        return text
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[", '"'):
        value = parsed(text.lstrip("\ufeff").encode("utf-8", "surrogatepass"))
        if value is not None:
            return json.dumps(without_refresh_tokens(value))
    return blank_refresh_tokens(text, prose=True)


def expiry(value: Any, keys: tuple[str, ...]) -> float | None:
    """The earliest of the times that the dotted keys lead to, in seconds since 1970; None if there is none."""
    times = [_time(found) for key in keys for found in _dug(value, key.split("."))]
    return min((time for time in times if time), default=None)


def _dug(value: Any, keys: list[str]) -> Iterator[Any]:
    if not keys:
        yield value
    elif isinstance(value, dict):
        for item in value.values() if keys[0] == "*" else [value.get(keys[0])]:
            yield from _dug(item, keys[1:])


def _time(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value / 1000 if value > _MILLISECONDS else float(value)
    if not isinstance(value, str):
        return None
    if value.count(".") == 2:
        return _time(_claims(value).get("exp"))
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError):
        return None


def _claims(token: str) -> dict[str, Any]:
    """What a JSON web token says; nothing is verified, only its time is read."""
    body = token.split(".")[1]
    try:
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}

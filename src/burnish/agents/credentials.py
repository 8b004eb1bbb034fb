"""Tokens in JSON files: without those that refresh, and when they expire. Pure."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

# `refresh` is opencode's name for it.
_REFRESH = re.compile(r"refresh(?:[_-]?token)?", re.IGNORECASE)
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
    """The same value with every refresh token empty, at any depth.

    Refresh tokens are used once: a copy that refreshes logs the original out. The keys stay, since codex wants them.
    """
    if isinstance(value, list):
        return [without_refresh_tokens(item) for item in value]
    if not isinstance(value, dict):
        return value
    # Some providers of opencode have one long-lived token under both names.
    access = {value[name] for name in _ACCESS if isinstance(value.get(name), str)}
    return {key: _cleared(key, item, access) for key, item in value.items()}


def _cleared(key: str, item: Any, access: set[str]) -> Any:
    if not _REFRESH.fullmatch(key):
        return without_refresh_tokens(item)
    return item if isinstance(item, str) and item in access else "" if isinstance(item, str) else None


def holds_refresh_token(value: Any) -> bool:
    return json.dumps(without_refresh_tokens(value)) != json.dumps(value)


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

"""Token files of real programs: what is left of them in a copy, and when they expire."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest

from burnish.agents.credentials import expiry, parsed, without_refresh_tokens
from burnish.agents.registry import AGENTS


def jwt(**claims: Any) -> str:
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, claims))
    return ".".join((*parts, "signature"))


# by program: its token file, when it expires, and what must be left in a copy
FILES: dict[str, tuple[dict[str, Any], float | None, str]] = {
    "claude": (
        {
            "claudeAiOauth": {"accessToken": "at", "refreshToken": "SECRET-RT", "expiresAt": 1_800_000_000_000},
            "mcpOAuth": {"linear|1": {"accessToken": "mcp", "refreshToken": "SECRET-RT", "clientId": "c"}},
        },
        1_800_000_000,
        "at mcp c",
    ),
    "codex": (
        {
            "OPENAI_API_KEY": None,
            "tokens": {"id_token": "it", "access_token": jwt(exp=1_800_000_000), "refresh_token": "SECRET-RT"},
            "last_refresh": "2026-11-15T00:00:00Z",
        },
        1_800_000_000,
        "it 2026-11-15T00:00:00Z",
    ),
    "gemini": (
        {"access_token": "at", "refresh_token": "SECRET-RT", "expiry_date": 1_800_000_000_000, "id_token": "it"},
        1_800_000_000,
        "at it",
    ),
    "qwen": (
        {"access_token": "at", "refresh_token": "SECRET-RT", "expiry_date": 1_800_000_000_000, "resource_url": "u"},
        1_800_000_000,
        "at u",
    ),
    "opencode": (
        {
            "anthropic": {"type": "oauth", "refresh": "SECRET-RT", "access": "at", "expires": 1_800_000_000_000},
            "openrouter": {"type": "api", "key": "sk-1"},
            "github-copilot": {"type": "oauth", "refresh": "gho_1", "access": "gho_1", "expires": 0},
        },
        1_800_000_000,
        "at sk-1 gho_1",
    ),
    "cursor": ({"accessToken": jwt(exp=1_800_000_000), "refreshToken": "SECRET-RT"}, 1_800_000_000, ""),
}


@pytest.mark.parametrize("name", FILES)
def test_a_copy_has_the_access_token_and_no_refresh_token(name: str) -> None:
    value, _, rest = FILES[name]
    copy = without_refresh_tokens(value)

    text = json.dumps(copy)
    assert "SECRET-RT" in json.dumps(value) and "SECRET-RT" not in text
    assert without_refresh_tokens(copy) == copy
    assert all(word in text for word in rest.split())


@pytest.mark.parametrize("name", FILES)
def test_the_expiry_is_read_where_the_adapter_says(name: str) -> None:
    value, expires, _ = FILES[name]
    assert expiry(value, AGENTS[name].login.token_files[0].expires) == expires


@pytest.mark.parametrize(
    "value", [None, [], "x", {}, {"expires": None}, {"expires": True}, {"expires": float("nan")}, {"expires": "a.b.c"}]
)
def test_a_file_without_a_time_of_expiry_has_none(value: Any) -> None:
    assert expiry(value, ("expires", "*.expires", "expires.deep")) is None


def test_times_are_read_in_seconds_milliseconds_and_words() -> None:
    assert expiry({"a": 1_800_000_000}, ("a",)) == expiry({"a": 1_800_000_000_000}, ("a",)) == 1_800_000_000
    assert expiry({"a": "2026-11-15T00:00:00+00:00"}, ("a",)) == 1_794_700_800
    assert expiry({"x": {"a": 5}, "y": {"a": time.time()}}, ("*.a",)) == 5


@pytest.mark.parametrize("data", [b"", b"not json", b"\xff\xfe", b"[" * 100_000])
def test_what_is_not_json_is_not_parsed(data: bytes) -> None:
    assert parsed(data) is None

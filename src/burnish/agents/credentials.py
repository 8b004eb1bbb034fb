"""Login files, in JSON and in other text: without the tokens that refresh, and when they expire. Pure."""

from __future__ import annotations

import base64
import codecs
import json
import math
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

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


# -- credential text ------------------------------------------------------------------------------
# Refresh tokens in text that is not JSON: values after such a key are blanked. Pure, and linear in the length.

# How far a value with brackets or over several lines may reach.
_MAX_VALUE_LENGTH = 4000
_MAX_BLOCK_LINES = 200

_KEY = re.compile(r"refresh(?:[^\w\n]|[\d_]){0,4}token[\w.-]{0,40}|(?<![\w-])refresh(?![\w-])", re.IGNORECASE)
# what may stand between a key and its value: quotes, up to two words, a sign; or the tags of a property list
_SEPARATOR = re.compile(
    r"""[\\"'`*\])]{0,8}
    (?: [,\s]{1,60} ["']? (?:value|secret|token) | (?:[ \t]{1,4}\w{1,20}){1,2} )?
    [\\"'`*\])]{0,8} [ \t]{0,40}
    (?: :=|=>|==?|[:|>]|</\w{1,20}>\s{0,80}<\w{1,20}> ) [ \t]{0,40}""",
    re.VERBOSE,
)
# what may stand between an option and its value: a space, the end of a line, or the border of two list elements
_SPACE = re.compile(r"[ \t]")
_ARGUMENT_GAP = re.compile(
    r"""[\\"'`]{0,8}
    (?: [ \t]{0,40},\s{0,200} | [ \t]{0,40}\\?\r?\n\s{0,200}(?:-[ \t]{1,8})? | [ \t]{1,40} )
    [\\"'`]{0,8}""",
    re.VERBOSE,
)
_NEXT_LINE_VALUE = re.compile(r"\s{0,200}(?=\\{0,7}[\"'\[{])")
_BLOCK_START = re.compile(r"(?:[|>][+-]?\d?|[&!][\w!-]{1,40})?[ \t]{0,40}(?:#[^\n]{0,400})?(?:\r?\n|\Z)")
_QUOTE = re.compile(r"\\{0,7}(?:\"\"\"|'''|[\"'`])")
_QUOTED_REST = {
    '"': re.compile(r'(?:[^"\\\n]|\\.)*'),
    "'": re.compile(r"(?:[^'\n]|'')*"),
    "`": re.compile(r"[^`\n]*"),
}
_BRACKET = re.compile(r"[\[\]{}]")
_WORD = re.compile(r"[^\s,;&<>\"'`)}\]\\]+")
_AFTER_VALUE = ("", "#", "//", ";", ",", "&", "<", "}", "]", ")", "|", "/*", "\\", '"', "'", "`")
_NOT_SECRET = re.compile(r"(?:\d{0,13}|true|false|null|none|yes|no|https?://[^?]*|\$.*|\*+|<.*>)", re.IGNORECASE)
_PLAIN_WORD = re.compile(r"[A-Za-z]?[a-z_'.:()\[\]*]*")


def blank_refresh_tokens(text: str, *, prose: bool) -> str:
    """The same text without the values. `prose`: instructions and source code, where only what looks like a token
    is one; in settings every value of such a key is.
    """
    pieces: list[str] = []
    position = 0
    while match := _KEY.search(text, position):
        is_certain = len(match[0]) > len("refresh") and not prose
        start, end, value = _value_after(text, match, is_certain=is_certain)
        pieces += (text[position:start], value)
        position = end
    return "".join((*pieces, text[position:]))


def _value_after(text: str, key: re.Match[str], *, is_certain: bool) -> tuple[int, int, str]:
    """Where the value stands, and what replaces it."""
    separator = _SEPARATOR.match(text, key.end())
    if separator is None:
        return _argument_after(text, key, is_certain=is_certain)
    start = separator.end()
    if next_line := _NEXT_LINE_VALUE.match(text, start):
        start = next_line.end()
    elif _BLOCK_START.match(text, start):
        return _block(text, key.start(), start, is_certain=is_certain)
    if quote := _QUOTE.match(text, start):
        return _quoted(text, quote, is_certain=is_certain)
    if text[start : start + 1] in ("[", "{"):
        return _bracketed(text, start, is_certain=is_certain)
    return _plain(text, start, is_certain=is_certain and " " not in key[0])


def _argument_after(text: str, key: re.Match[str], *, is_certain: bool) -> tuple[int, int, str]:
    """`--refresh-token VALUE`, also as two elements of a list: a value that cannot be a word of a sentence.

    In settings, the element after an option is its value, whatever it looks like.
    """
    position = key.end()
    gap = (_ARGUMENT_GAP if len(key[0]) > len("refresh") else _SPACE).match(text, position)
    word = _WORD.match(text, gap.end()) if gap else None
    if gap is None or word is None or word[0].startswith("-"):
        return position, position, ""
    is_element = is_certain and text[key.start() - 1 : key.start()] == "-" and bool(set(gap[0]) & set(",\n\"'"))
    if is_element and not _NOT_SECRET.fullmatch(word[0]):
        return word.start(), word.end(), ""
    if len(word[0]) >= 16 and re.search(r"\d", word[0]) and looks_like_token(word[0]):
        return word.start(), word.end(), ""
    return position, position, ""


def _quoted(text: str, quote: re.Match[str], *, is_certain: bool) -> tuple[int, int, str]:
    start, mark = quote.end(), quote[0]
    if mark in _QUOTED_REST:
        rest = _QUOTED_REST[mark].match(text, start)
        assert rest
        end = rest.end()
    else:
        # triple quotes, and quotes that are escaped because they stand in another string
        limit = start + _MAX_VALUE_LENGTH if len(mark.lstrip("\\")) == 3 else _line_end(text, start)
        end = text.find(mark, start, limit)
    if end < 0 or not text.startswith(mark, end):
        closing = text.find(mark, start, start + _MAX_VALUE_LENGTH)
        end = closing if closing >= 0 else _line_end(text, start)
    value = text[start:end]
    if is_certain and not _NOT_SECRET.fullmatch(value.strip()):
        return start, end, ""
    return start, end, "" if not re.search(r"\s", value.strip()) and looks_like_token(value.strip()) else value


def _bracketed(text: str, start: int, *, is_certain: bool) -> tuple[int, int, str]:
    depth, end = 0, min(len(text), start + _MAX_VALUE_LENGTH)
    for bracket in _BRACKET.finditer(text, start, end):
        depth += 1 if bracket[0] in "[{" else -1
        if depth == 0:
            end = bracket.start()
            break
    if text.startswith("](", end):
        return start, start, ""  # a link
    inner = text[start + 1 : end]
    return start + 1, end, "" if is_certain else _without_token_words(inner)


def _plain(text: str, start: int, *, is_certain: bool) -> tuple[int, int, str]:
    word = _WORD.match(text, start)
    if word is None:
        return start, start, ""
    rest = text[word.end() : min(_line_end(text, word.end()), word.end() + 200)].strip()
    alone = not rest or rest.startswith(_AFTER_VALUE[1:])
    secret = looks_like_token(word[0]) or (is_certain and alone and not _NOT_SECRET.fullmatch(word[0]))
    return start, word.end(), "" if secret else word[0]


def _block(text: str, key_start: int, start: int, *, is_certain: bool) -> tuple[int, int, str]:
    """A value on the lines below, which are indented more than the key, or are a list."""
    line_start = text.rfind("\n", 0, key_start) + 1
    indent = _indent(text[line_start : line_start + 200])
    end = position = min(len(text), _line_end(text, start) + 1)
    lines: list[str] = []
    while position < len(text) and len(lines) < _MAX_BLOCK_LINES:
        after = min(len(text), _line_end(text, position) + 1)
        line = text[position:after]
        inside = not line.strip() or _indent(line) > indent or (_indent(line) == indent and line.lstrip()[:2] == "- ")
        if not inside:
            break
        lines.append(_blank_line(line, is_certain=is_certain))
        end = position = after
    return start, end, text[start : min(len(text), _line_end(text, start) + 1)] + "".join(lines)


def _blank_line(line: str, *, is_certain: bool) -> str:
    label = re.match(r"\s*(?:-\s+)?(?:[\w.-]{1,60}:\s+)?", line)
    head = label[0] if label else ""
    value = line[len(head) :]
    if is_certain and len(value.split()) == 1 and not _NOT_SECRET.fullmatch(value.strip()):
        return head + line[len(line.rstrip()) :]
    return head + _without_token_words(value)


def _without_token_words(text: str) -> str:
    return _WORD.sub(lambda word: "" if looks_like_token(word[0]) else word[0], text)


def looks_like_token(word: str) -> bool:
    if len(word) < 8 or _NOT_SECRET.fullmatch(word) or _PLAIN_WORD.fullmatch(word):
        return False
    # an expression such as `login.refreshToken` or `REFRESH_TOKEN`
    if "refreshtoken" in re.sub(r"[^a-z]", "", word.lower()) and not re.search(r"\d", word):
        return False
    # a call, or words joined by hyphens
    return "(" not in word and not re.fullmatch(r"[A-Za-z]?[a-z]*(?:[-/][a-z]+)+\W?", word)


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


# -- credential files -----------------------------------------------------------------------------
# A file of a login without refresh tokens, whatever its name and format. Pure.

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

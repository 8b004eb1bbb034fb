"""Quotes unusual paths in prompts and replies as git does."""

from __future__ import annotations

import re

from burnish.core.text_encoding import has_invisible

_ESCAPES = {"\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", '"': '"', "\\": "\\"}
_BACK = {letter: char for char, letter in _ESCAPES.items()}
_ODD = re.compile(r'[\x00-\x1f\x7f"\\\x80-\x9f\u2028\u2029\ud800-\udfff]|^\s|\s$')
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|(.))", re.DOTALL)


def quoted(path: str) -> str:
    """The path on one line: unchanged, or C-quoted if it has quotes, invalid bytes or invisible characters."""
    if not _ODD.search(path) and not has_invisible(path):
        return path
    return '"' + "".join(_quoted_char(char) for char in path) + '"'


def _quoted_char(char: str) -> str:
    if char in _ESCAPES:
        return "\\" + _ESCAPES[char]
    if (_ODD.match(char) and char != " ") or has_invisible(char):
        return "".join(f"\\{byte:03o}" for byte in _raw(char))
    return char


def unquoted(name: str) -> str:
    """Undo git's quoting; a name without quotes is returned unchanged."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):
        return name
    out, at, body = bytearray(), 0, name[1:-1]
    for escape in _ESCAPE.finditer(body):
        out += _raw(body[at : escape.start()])
        if escape[1]:
            out.append(int(escape[1], 8) & 0xFF)
        else:
            out += _raw(_BACK.get(escape[2], escape[2]))
        at = escape.end()
    out += _raw(body[at:])
    return out.decode("utf-8", "surrogateescape")


def _raw(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # not a path from a file system, but a reply may contain anything
        return text.encode("utf-8", "surrogatepass")

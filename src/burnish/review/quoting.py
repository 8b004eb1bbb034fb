"""Quotes in prompts: untrusted text as data in a fence, and unusual paths as git quotes them."""

from __future__ import annotations

import hashlib
import re

from burnish.core.text_encoding import has_invisible


def fenced(text: str, info: str = "", *, tag: str = "") -> str:
    """The text between tag lines and backticks that do not occur in it."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    tag = _free_tag(text, tag)
    # four at least: a reply that quotes the prompt with three cannot close it by accident
    ticks = "`" * max(4, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    newline = "" if text.endswith("\n") or not text else "\n"
    return f"<data {tag}>\n{ticks}{info}\n{text}{newline}{ticks}\n</data {tag}>\n"


def _free_tag(text: str, tag: str) -> str:
    tag = tag or hashlib.sha256(text.encode()).hexdigest()[:8]
    while tag in text:
        tag = hashlib.sha256((tag + text).encode()).hexdigest()[:12]
    return tag


def one_line(text: str, *, longest: int = 300) -> str:
    """Text for a heading or list: one line, without control characters."""
    plain = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split()).encode("utf-8", "replace").decode("utf-8")
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def cut_text(text: str, limit: int, *, keep: str = "head") -> str:
    """At most `limit` bytes of the text, and a note about the rest."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    left_out = f"[… {len(raw) - limit:,} bytes left out …]"
    part = (raw[:limit] if keep == "head" else raw[-limit:]).decode("utf-8", "ignore")
    return f"{part}\n{left_out}" if keep == "head" else f"{left_out}\n{part}"


# -- path quoting ---------------------------------------------------------------------------------
# Quotes unusual paths in prompts and replies as git does.

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

"""Marks untrusted text as data, with a fence that does not occur in the text."""

from __future__ import annotations

import hashlib
import re


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

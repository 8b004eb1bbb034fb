"""The result of reading a report, and helpers of the readers."""

from __future__ import annotations

import json
import posixpath
import unicodedata
from dataclasses import dataclass
from typing import Any

from burnish.core.finding import Remark

# matching more findings across cycles takes minutes
MOST = 2000


class NotReadable(ValueError):
    """A report cannot be read completely; the message says why."""


@dataclass(frozen=True, slots=True)
class Report:
    # the tool, e.g. "semgrep"; "" if unknown
    tool: str
    remarks: tuple[Remark, ...]


def parse_json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotReadable(f"the {what} is not valid JSON: {str(error)[:200]}") from None


def make_report(tool: str, remarks: list[Remark]) -> Report:
    if len(remarks) > MOST:
        raise NotReadable(f"it reports {len(remarks):,} problems, more than {MOST:,}")
    return Report(tool, tuple(remarks))


def place(path: str) -> str | None:
    """The normalised path inside the repository, `./a/../b.py` as `b.py`; None for a path outside."""
    if not path or path.startswith("/") or "\0" in path:
        return None
    clean = posixpath.normpath(path)
    return None if clean == "." or clean == ".." or clean.startswith("../") else clean


def shorten(text: str, longest: int) -> str:
    """The first `longest` characters, without control and direction marks except newline and tab."""
    visible = "".join(c for c in text.replace("\r\n", "\n") if c in "\n\t" or unicodedata.category(c)[0] != "C").strip()
    return visible if len(visible) <= longest else f"{visible[: longest - 1].rstrip()}…"

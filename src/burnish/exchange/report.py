"""What a tool reported, and how a reader says that it cannot read it."""

from __future__ import annotations

import json
import posixpath
import unicodedata
from dataclasses import dataclass
from typing import Any

from burnish.core.finding import Remark

# A ledger of more than this helps nobody, and matching it across cycles takes minutes.
MOST = 2000


class NotReadable(ValueError):
    """Why a report cannot be read; half of one is never taken for the whole."""


@dataclass(frozen=True, slots=True)
class Report:
    # who made it, e.g. "semgrep"; "" if it does not say
    tool: str
    remarks: tuple[Remark, ...]


def parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotReadable(f"the {what} is not valid JSON: {str(error)[:200]}") from None


def checked(tool: str, remarks: list[Remark]) -> Report:
    if len(remarks) > MOST:
        raise NotReadable(f"it reports {len(remarks):,} problems, more than {MOST:,}")
    return Report(tool, tuple(remarks))


def place(path: str) -> str | None:
    """A relative path inside the repository, `./a/../b.py` as `b.py`; None for what lies elsewhere."""
    if not path or path.startswith("/") or "\0" in path:
        return None
    clean = posixpath.normpath(path)
    return None if clean == "." or clean == ".." or clean.startswith("../") else clean


def shorten(text: str, longest: int) -> str:
    """No control or direction marks but newline and tab, and of a long text the beginning."""
    kept = "".join(c for c in text.replace("\r\n", "\n") if c in "\n\t" or unicodedata.category(c)[0] != "C").strip()
    return kept if len(kept) <= longest else f"{kept[: longest - 1].rstrip()}…"

"""Patterns for paths of a repository, as people write them in settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


def matches(path: str, pattern: str) -> bool:
    """`*` stays in a folder, `**` crosses folders, `api/` is all below; a pattern without / holds at any depth."""
    return bool(_compiled(pattern).fullmatch(path))


def any_matches(paths: Iterable[str], patterns: Iterable[str]) -> bool:
    all_patterns = tuple(patterns)
    return any(matches(path, pattern) for path in paths for pattern in all_patterns)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    text = pattern.removeprefix("./").removeprefix("/")
    if text.endswith("/"):
        text += "**"
    if "/" not in pattern.rstrip("/"):
        text = f"**/{text}"
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", text)
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts), re.S)

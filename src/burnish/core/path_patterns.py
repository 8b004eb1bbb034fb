"""Patterns for paths of a repository, as people write them in settings."""

from __future__ import annotations

import re
import sys
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


def is_named(path: str, patterns: Iterable[str]) -> bool:
    """Does a pattern name this file, or a folder that it lies in, at any depth and in any case of letters?

    A pattern is a name or several joined by `/`; `*` stands for any part of one name. Some programs compare names
    without case, and some file systems do not distinguish it.
    """
    return _any_case(tuple(patterns)).search(path) is not None


def named_paths(paths: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Those of many paths for which `is_named` holds."""
    search = _any_case(tuple(patterns)).search
    return [path for path in paths if search(path)]


def is_named_as_written(path: str, patterns: Iterable[str]) -> bool:
    """The same, but below the top of the repository in the case of the pattern: `docs/agents.md` may be a page."""
    return _as_written(tuple(patterns)).search(path) is not None


@lru_cache(maxsize=16)
def _any_case(patterns: tuple[str, ...]) -> re.Pattern[str]:
    names = _names(patterns)
    return re.compile(rf"(?:^|/)(?:{names})(?:/|$)" if names else r"(?!)", re.IGNORECASE | re.DOTALL)


@lru_cache(maxsize=16)
def _as_written(patterns: tuple[str, ...]) -> re.Pattern[str]:
    names = _names(patterns)
    expression = rf"(?:^|/)(?:{names})(?:/|$)|^(?i:{names})(?:/|$)" if names else r"(?!)"
    return re.compile(expression, _CASE | re.DOTALL)


def _names(patterns: tuple[str, ...]) -> str:
    return "|".join(re.escape(pattern.strip("/")).replace(r"\*", "[^/]*") for pattern in patterns)


# There `docs/claude.md` is the file that a program opens as `docs/CLAUDE.md`.
_CASE = re.IGNORECASE if sys.platform in ("darwin", "win32") else re.NOFLAG

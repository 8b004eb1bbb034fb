"""Paths in a repository that a pattern names, whatever folder they lie in."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import lru_cache

# There `claude.md` is the file that a program opens as `CLAUDE.md`; elsewhere `docs/agents.md` is a page like others.
_CASE = re.IGNORECASE if sys.platform in ("darwin", "win32") else re.NOFLAG


def is_named(path: str, patterns: Iterable[str]) -> bool:
    """Does a pattern name this file, or a folder that it lies in, at any depth?

    A pattern is a name or several joined by `/`; `*` stands for any part of one name.
    """
    return _expression(tuple(patterns)).search(path) is not None


@lru_cache(maxsize=16)
def _expression(patterns: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(re.escape(pattern.strip("/")).replace(r"\*", "[^/]*") for pattern in patterns)
    return re.compile(rf"(?:^|/)(?:{names})(?:/|$)" if names else r"(?!)", _CASE | re.DOTALL)

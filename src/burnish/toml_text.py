"""Parses TOML of a repository in bounded time: `a.a.a… = 1` takes tomllib a time that is quadratic in its length."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any

# lock files of large projects have two megabytes
_LONGEST = 4 * 1024 * 1024
# parts of one key, and levels of arrays and tables inside of each other
DEEPEST_KEY = 64
_TOKEN = re.compile(r"""(?P<part>[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*')|(?P<dot>[ \t]*\.[ \t]*)|.""")


def parse_toml(text: str, *, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The document. Raises TOMLDecodeError for what is wrong, and ValueError for what is too long or too deep."""
    if len(text) > _LONGEST:
        raise ValueError(f"it is longer than {_LONGEST // 2**20} MB")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= DEEPEST_KEY and _has_deep_key(line):
            raise ValueError(f"a key has more than {DEEPEST_KEY} parts (at line {number})")
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _has_deep_key(line: str) -> bool:
    """More parts with a dot between them, in a row, than any honest key has; also in a text of several lines."""
    dots, after_part = 0, False
    for token in _TOKEN.finditer(line):
        if token["dot"] is not None and after_part:
            dots, after_part = dots + 1, False
            if dots >= DEEPEST_KEY:
                return True
        elif token["part"] is not None and not after_part:
            after_part = True
        else:
            dots, after_part = 0, token["part"] is not None
    return False

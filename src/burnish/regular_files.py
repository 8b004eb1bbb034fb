"""Reads files safely: only regular files, so that a pipe or device cannot block, and TOML in bounded time."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_LENGTH = 64 * 1024 * 1024
# lock files of large projects have two megabytes
_MAX_TOML_LENGTH = 4 * 1024 * 1024
# parts of one key, and levels of arrays and tables inside of each other
MAX_KEY_DEPTH = 64
_TOKEN = re.compile(r"""(?P<part>[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*')|(?P<dot>[ \t]*\.[ \t]*)|.""")


def read_regular(path: Path, *, longest: int = _MAX_LENGTH, start: int = 0, follow: bool = True) -> bytes | None:
    """At most `longest` bytes of a regular file from `start` on; None for anything else.

    `follow`: whether the last part of the path may be a link.
    """
    try:
        handle = os.open(path, _FLAGS | (0 if follow else os.O_NOFOLLOW))
    except OSError:
        return None
    try:
        return _read(handle, longest, start)
    finally:
        os.close(handle)


def read_below(folder: Path, place: PurePath, *, longest: int = _MAX_LENGTH) -> bytes | None:
    """The first bytes of a regular file below a folder; None also if a part of the path below it is a link."""
    try:
        handle = open_below(folder, place)
    except OSError:
        return None
    try:
        return _read(handle, longest)
    except OSError:
        return None
    finally:
        os.close(handle)


def open_below(folder: Path, place: PurePath) -> int:
    """A descriptor of a file below a folder. Raises OSError also if a part of the path below it is a link.

    A link that another process puts there after the path was examined is therefore not followed.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in place.parts:
            below = os.open(part, _FLAGS | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = below
    except OSError:
        os.close(handle)
        raise
    return handle


def _read(handle: int, longest: int, start: int = 0) -> bytes | None:
    # before `fdopen`, which raises for a directory
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        return None
    with os.fdopen(handle, "rb", closefd=False) as file:
        file.seek(start)
        return file.read(longest)


def parse_toml(text: str, *, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The document. Raises TOMLDecodeError for what is wrong, and ValueError for what is too long or too deep.

    `a.a.a… = 1` takes tomllib a time that is quadratic in its length.
    """
    if len(text) > _MAX_TOML_LENGTH:
        raise ValueError(f"it is longer than {_MAX_TOML_LENGTH // 2**20} MB")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= MAX_KEY_DEPTH and _has_deep_key(line):
            raise ValueError(f"a key has more than {MAX_KEY_DEPTH} parts (at line {number})")
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
            if dots >= MAX_KEY_DEPTH:
                return True
        elif token["part"] is not None and not after_part:
            after_part = True
        else:
            dots, after_part = 0, token["part"] is not None
    return False

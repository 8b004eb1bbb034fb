"""The creation time of a file, to distinguish a new directory from an old one of the same name."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

# struct statx (linux/stat.h): stx_btime is a 64-bit second and a 32-bit nanosecond at offset 80
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _STATX_BTIME = -100, 0x100, 0x800
_SIZE, _MASK_AT, _BTIME_AT = 256, 0, 80


def identity_of(path: Path) -> str:
    """Inode and, if known, creation time. The inode alone may be reused after a removal."""
    status = path.stat()
    born = getattr(status, "st_birthtime", None)
    nanoseconds = _linux_birth(path) if born is None else int(born * 1e9)
    return f"{status.st_ino}:{nanoseconds or 0}"


def _linux_birth(path: Path) -> int | None:
    """By statx(2), which `os.stat` does not call."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (OSError, AttributeError):  # a C library without it
        return None
    found = ctypes.create_string_buffer(_SIZE)
    if statx(_AT_FDCWD, os.fsencode(path), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, found) != 0:
        return None
    raw = found.raw
    if not int.from_bytes(raw[_MASK_AT : _MASK_AT + 4], sys.byteorder) & _STATX_BTIME:
        return None  # this file system does not record it
    seconds = int.from_bytes(raw[_BTIME_AT : _BTIME_AT + 8], sys.byteorder, signed=True)
    return seconds * 10**9 + int.from_bytes(raw[_BTIME_AT + 8 : _BTIME_AT + 12], sys.byteorder)

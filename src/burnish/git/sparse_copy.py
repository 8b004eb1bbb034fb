"""Copies sparse files with their holes, so that a copy never takes more space on disk than its source."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PIECE = 1024 * 1024


def copy_sparse(source: Path, target: Path) -> None:
    """Copy a regular file (readable by its owner only) or a symbolic link; pipes, sockets and devices are skipped."""
    with suppress(OSError):
        target.symlink_to(source.readlink())
        return
    reader = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(reader)
        if not stat.S_ISREG(status.st_mode):
            return
        writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            for start, end in _data_ranges(reader, status.st_size):
                _copy_range(reader, writer, start, end)
            os.ftruncate(writer, status.st_size)
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def _data_ranges(handle: int, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of the file that are not holes; the whole file where the file system does not support holes."""
    end = 0
    while end < size:
        try:
            start = os.lseek(handle, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                yield end, size
            return
        end = min(size, os.lseek(handle, start, os.SEEK_HOLE))
        yield start, end


def _copy_range(reader: int, writer: int, start: int, end: int) -> None:
    while start < end and (data := os.pread(reader, min(_PIECE, end - start), start)):
        start += os.pwrite(writer, data, start)

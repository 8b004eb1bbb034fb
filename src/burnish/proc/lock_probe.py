"""Checks that file locks work in a folder. Some network and FUSE file systems accept locks without effect."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from burnish.errors import BurnishError
from burnish.proc.folders import private_folder

PROBE = "probe"
# struct flock: type, whence, start, length, pid (which must be 0 for locks of an open file)
_WHOLE_FILE = (os.SEEK_SET, 0, 0, 0)


class LocksUnusable(BurnishError):
    """File locks do not work in the burnish home, so two runs could do the same work."""


def require_locks(home: Path) -> None:
    """Raise if file locks do not work in the home, before anything is written or paid for."""
    problem = lock_problem(home / "locks")
    if problem:
        raise LocksUnusable(
            f"File locks do not work in the burnish home {home}: {problem}.",
            hint="Set BURNISH_HOME to a folder on a local disk (network and FUSE mounts may lack locks), or mount "
            "this one with locking.",
        )


def lock_problem(folder: Path) -> str | None:
    """Why locks do not work there; None if they do. About ten system calls and no wait.

    The first lock is shared and the second only tried, so several processes may probe at once.
    """
    try:
        private_folder(folder)
        with contextlib.ExitStack() as files:
            first, second = (_open(folder / PROBE, files) for _ in range(2))
            return _flock_problem(first, second) or _fcntl_problem(first, second)
    except OSError:
        return None  # not writable: the code that writes there reports it


def _open(path: Path, files: contextlib.ExitStack) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    files.callback(os.close, fd)
    return fd


def _flock_problem(first: int, second: int) -> str | None:
    return _problem(
        "flock",
        lambda: fcntl.flock(first, fcntl.LOCK_SH),
        lambda: fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB),
    )


def _fcntl_problem(first: int, second: int) -> str | None:
    """Tests the locks that SQLite uses. Locks of one process do not exclude each other, those of open files do."""
    # Open file locks exist on Linux only; elsewhere only the first lock is tested.
    by_open_file = getattr(fcntl, "F_OFD_SETLK", None) if sys.platform.startswith("linux") else None
    lock_request = struct.pack("hhqqi4x", fcntl.F_WRLCK, *_WHOLE_FILE)

    def try_second() -> None:
        if by_open_file is None:
            raise BlockingIOError
        try:
            fcntl.fcntl(second, by_open_file, lock_request)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise BlockingIOError from error  # a kernel without it

    return _problem("fcntl", lambda: fcntl.lockf(first, fcntl.LOCK_SH | fcntl.LOCK_NB), try_second)


def _problem(kind: str, take: Callable[[], object], try_second: Callable[[], object]) -> str | None:
    try:
        take()
    except OSError as error:
        return f"{kind} fails ({error.strerror})"
    try:
        try_second()
    except BlockingIOError:
        return None
    except PermissionError:
        return None  # EACCES: returned by some systems instead of EAGAIN
    except OSError as error:
        return f"{kind} fails ({error.strerror})"
    return f"{kind} does not exclude a second holder"

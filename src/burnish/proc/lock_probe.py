"""Do file locks hold in a folder? Some network and user-space file systems accept locks that do not hold."""

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
    """The burnish home lies where locks do not hold: two runs would pay for the same work."""


def require_locks(home: Path) -> None:
    """Refuse a home whose locks do not hold, before anything is written or paid for there."""
    problem = lock_problem(home / "locks")
    if problem:
        raise LocksUnusable(
            f"File locks do not work in the burnish home {home}: {problem}.",
            hint="Set BURNISH_HOME to a folder on a local disk (network and FUSE mounts may lack locks), or mount "
            "this one with locking.",
        )


def lock_problem(folder: Path) -> str | None:
    """Why locks cannot be relied on there; None if they hold. About ten system calls and no wait.

    Everybody takes the first lock shared and only tries the second: several processes may probe at once.
    """
    try:
        private_folder(folder)
        with contextlib.ExitStack() as files:
            first, second = (_open(folder / PROBE, files) for _ in range(2))
            return _flock_problem(first, second) or _fcntl_problem(first, second)
    except OSError:
        return None  # a folder that cannot be written: whatever wants to write there reports it


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
    """What SQLite relies on. Locks of one process do not exclude each other, but those of an open file do."""
    # the lock of an open file is Linux's own; elsewhere only the first half can be tried
    by_open_file = getattr(fcntl, "F_OFD_SETLK", None) if sys.platform.startswith("linux") else None
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, *_WHOLE_FILE)

    def try_second() -> None:
        if by_open_file is None:
            raise BlockingIOError
        try:
            fcntl.fcntl(second, by_open_file, wanted)
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
        return None  # EACCES: what some systems answer instead of EAGAIN
    except OSError as error:
        return f"{kind} fails ({error.strerror})"
    return f"{kind} does not exclude a second holder"

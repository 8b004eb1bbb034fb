"""The file system of a folder: its type, whether locks work in it, whether it is full."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from burnish.errors import BurnishError, PhaseFailed
from burnish.proc.folders import private_folder

# Types in Linux's mount table; some FUSE file systems are local.
_SHARED = re.compile(r"nfs\d?|cifs|smb.*|9p|virtiofs|afs|ceph|lustre|gpfs|beegfs.*|ocfs2|gfs2|vboxsf|fuse(\..*)?")
_LOCAL_FUSE = frozenset({"fuse.fuse-overlayfs", "fuseblk", "fuse.ntfs-3g", "fuse.gocryptfs", "fuse.encfs"})


def is_shared(folder: Path) -> bool:
    """True if other machines may share this folder; False if unknown."""
    kind = file_system_of(folder)
    return kind not in _LOCAL_FUSE and _SHARED.fullmatch(kind) is not None


def file_system_of(folder: Path) -> str:
    """Its type in the mount table; "" if it cannot be read."""
    try:
        device = folder.stat().st_dev
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        before, _, after = line.partition(" - ")
        if before.split(" ")[2] == number and after:
            return after.split(" ")[0]
    return ""


# -- lock probe -----------------------------------------------------------------------------------
# Checks that file locks work in a folder. Some network and FUSE file systems accept locks without effect.

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
    ofd_lock = getattr(fcntl, "F_OFD_SETLK", None) if sys.platform.startswith("linux") else None
    lock_request = struct.pack("hhqqi4x", fcntl.F_WRLCK, *_WHOLE_FILE)

    def try_second() -> None:
        if ofd_lock is None:
            raise BlockingIOError
        try:
            fcntl.fcntl(second, ofd_lock, lock_request)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise BlockingIOError from error  # the kernel has no such locks

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


# -- full disk ------------------------------------------------------------------------------------
# Detects that a program failed because a disk was full, even if its output does not say so.

FULL_DISK_MESSAGES = ("No space left on device", "Disk quota exceeded", "ENOSPC", "EDQUOT")
# A program that failed to write may leave a few free blocks.
_MIN_FREE_BYTES = 64 * 1024


def is_full(folder: Path) -> bool:
    """True if its file system has no space or no inodes left for normal users."""
    try:
        found = os.statvfs(folder if folder.is_dir() else folder.parent)
    except OSError:
        return False
    no_space = found.f_blocks > 0 and found.f_bavail * found.f_frsize < _MIN_FREE_BYTES
    return no_space or (found.f_files > 0 and found.f_favail == 0)


def full_disk_failure(program: str, folders: Iterable[Path], output: str = "") -> PhaseFailed | None:
    """DISK_FULL for a failed program if one of the folders or TMPDIR is full, or its output reports that; else None.

    Its files may be removed when it ends, which frees space, so the output counts as well.
    """
    # Not `tempfile.gettempdir()`, which skips a full folder.
    temporary = Path(os.environ.get("TMPDIR") or "/tmp")
    full = next((folder for folder in (*folders, temporary) if is_full(folder)), None)
    message = next(
        (line.strip() for line in output.splitlines() if any(text in line for text in FULL_DISK_MESSAGES)), ""
    )
    if full is None and not message:
        return None
    where = f"no space left in {full}" if full else message
    return PhaseFailed(
        "DISK_FULL",
        f"The disk is full: {program} failed, {where}" + ("" if where.endswith(".") else "."),
        hint="Free some space (`burnish clean` shows the size of the workspaces), then run `burnish retry`.",
        output=output,
    )

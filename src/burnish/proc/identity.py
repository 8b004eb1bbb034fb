"""Who runs a task, and the proof that it is dead: its lock is free and its process has ended; never an age."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import socket
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from burnish.proc.file_systems import is_shared
from burnish.proc.folders import private_folder

# The runners of this process. One that ended and could not say so (the disk was full) is not held for ever by a server.
_held_here: set[str] = set()


@dataclass(frozen=True, slots=True)
class RunnerIdentity:
    """This process, in a way that no later process can be mistaken for it."""

    uuid: str
    pid: int
    # of the process, in clock ticks since boot (Linux) or seconds since 1970: a pid given out again differs
    start_time: str
    boot_id: str
    host: str
    user: str
    # a pid says nothing in another one; "" where it is not known
    pid_namespace: str = ""

    @classmethod
    def here(cls) -> RunnerIdentity:
        pid = os.getpid()
        start = process_start(pid) or ""
        return cls(uuid.uuid4().hex, pid, start, boot_id(), socket.gethostname(), _user_name(), _pid_namespace())

    def __str__(self) -> str:
        return f"{self.user}@{self.host}, pid {self.pid}"


@dataclass(frozen=True, slots=True)
class RunnerLock:
    """Held for as long as the process lives; also a context manager, for those who leave earlier."""

    runner: RunnerIdentity
    path: Path
    fd: int

    def release(self, *, is_recorded: bool = False) -> None:
        """`is_recorded`: the record of this runner elsewhere may still be there, e.g. because the disk is full.

        Then the file stays, empty and with a free lock, as the proof for other processes that the runner has ended
        although its process, a server, lives. To empty a file takes no room.
        """
        _held_here.discard(self.runner.uuid)
        with contextlib.suppress(OSError):
            os.ftruncate(self.fd, 0) if is_recorded else self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            os.close(self.fd)

    def __enter__(self) -> RunnerLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release(is_recorded=kind is not None)


def hold(lock_dir: Path) -> RunnerLock:
    """Give this process an identity, and a lock that falls when it dies, however it dies."""
    private_folder(lock_dir)
    runner = RunnerIdentity.here()
    path = lock_dir / f"runner-{runner.uuid}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    _held_here.add(runner.uuid)
    os.write(fd, json.dumps(asdict(runner)).encode())
    return RunnerLock(runner, path, fd)


def is_dead(lock_dir: Path, runner: str, recorded: Callable[[], RunnerIdentity | None] = lambda: None) -> bool:
    """Proof that a runner is gone: its lock can be had, or its file is not there, and its process has ended.

    Both, because each may mislead: a lock may not hold on this file system, a pid may not be visible from here.
    `recorded` is what it said of itself elsewhere, asked for where the file is not there.
    """
    if not runner.isalnum():
        raise ValueError(f"{runner!r} is not a runner's uuid")
    try:
        fd = os.open(lock_dir / f"runner-{runner}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        # put away by the runner itself, which removes its record first; or by a person, who knows of other machines
        known = recorded()
        return known is None or has_ended(known, shared=False)
    except PermissionError:
        return False  # another user's: no proof
    try:
        # Shared, so that two who look at the same moment do not take each other for the runner.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        is_free = True
    except BlockingIOError:
        return False
    except OSError:
        is_free = False  # no locks on this file system: the process alone decides
    finally:
        os.close(fd)
    known = describe(lock_dir, runner)
    if not is_free and (known is None or known.pid_namespace != _pid_namespace()):
        return False  # neither its lock nor its process can be looked at
    return is_free if known is None else has_ended(known, shared=is_shared(lock_dir))


def has_ended(runner: RunnerIdentity, *, shared: bool) -> bool:
    """Has the process of a runner ended whose lock seems to be free? `shared`: other machines use its folder, too."""
    if runner.boot_id == boot_id():
        if runner.pid_namespace and runner.pid_namespace != _pid_namespace():
            return True  # not visible, but the same kernel keeps the locks of both
        if runner.pid == os.getpid() and runner.uuid not in _held_here:
            return True
        return process_start(runner.pid) != runner.start_time
    # after another start of this machine nothing of the old one is left; of another machine nothing is known
    return not shared or runner.host == socket.gethostname()


def describe(lock_dir: Path, runner: str) -> RunnerIdentity | None:
    """What a runner wrote about itself, for people."""
    try:
        return RunnerIdentity(**json.loads((lock_dir / f"runner-{runner}").read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def process_start(pid: int) -> str | None:
    """When the process began; None where there is none."""
    if sys.platform.startswith("linux"):
        try:
            text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The name, in parentheses, may hold spaces and parentheses itself: count from the last one.
        fields = text.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    import psutil

    try:
        return f"{psutil.Process(pid).create_time():.6f}"
    except psutil.NoSuchProcess:
        return None


def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        import psutil

        return f"{psutil.boot_time():.0f}"


def boot_time() -> float:
    """When this machine was started, in seconds since 1970 by the clock of now."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    import psutil

    return float(psutil.boot_time())


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())

"""The identity of a runner, and the proof that it is dead: its lock is free and its process ended. Age never counts."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import socket
import stat
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from burnish.proc.file_systems import is_shared
from burnish.proc.folders import private_folder
from burnish.regular_files import read_regular

MAX_RECORD_BYTES = 64 * 1024
# The runners of this process. A server must not keep a runner that ended without a record, e.g. on a full disk.
_held_here: set[str] = set()


@dataclass(frozen=True, slots=True)
class RunnerIdentity:
    """A unique identity of this process, which no later process can have."""

    uuid: str
    pid: int
    # In clock ticks since boot (Linux) or seconds since 1970; differs if the pid is reused.
    start_time: str
    boot_id: str
    host: str
    user: str
    # A pid is valid only in its namespace; "" if unknown.
    pid_namespace: str = ""

    @classmethod
    def here(cls) -> RunnerIdentity:
        pid = os.getpid()
        start = process_start(pid) or ""
        return cls(uuid.uuid4().hex, pid, start, boot_id(), socket.gethostname(), login_name(), _pid_namespace())

    def __str__(self) -> str:
        return f"{self.user}@{self.host}, pid {self.pid}"


@dataclass(frozen=True, slots=True)
class RunnerLock:
    """Held as long as the process lives, or until the context manager exits."""

    runner: RunnerIdentity
    path: Path
    fd: int

    def release(self, *, is_recorded: bool = False) -> None:
        """Release the lock. `is_recorded`: another record of this runner may still exist, e.g. on a full disk.

        Then the file stays, empty and unlocked, as proof for other processes that the runner ended although its
        process, a server, lives. Truncating a file needs no disk space.
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
    """Give this process an identity, and a lock that the system releases when it dies."""
    private_folder(lock_dir)
    runner = RunnerIdentity.here()
    path = lock_dir / f"runner-{runner.uuid}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    _held_here.add(runner.uuid)
    os.write(fd, json.dumps(asdict(runner)).encode())
    return RunnerLock(runner, path, fd)


def is_dead(lock_dir: Path, runner: str, read_record: Callable[[], RunnerIdentity | None] = lambda: None) -> bool:
    """True if a runner is proven dead: its lock is free or its file is missing, and its process ended.

    Both are needed: a lock may not work on this file system, and a pid may not be visible from here.
    `read_record` reads another record of its identity, if the file is missing.
    """
    if not runner.isalnum():
        raise ValueError(f"{runner!r} is not a runner's uuid")
    try:
        fd = os.open(lock_dir / f"runner-{runner}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        # Removed by the runner itself, which removes its record first, or by a person, who knows of other machines.
        identity = read_record()
        return identity is None or has_ended(identity, is_shared_folder=False)
    except OSError:
        return False  # the file of another user, or a link: no proof
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return False  # a pipe or a folder
    try:
        # Shared, so that two concurrent probes do not mistake each other for the runner.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        is_free = True
    except BlockingIOError:
        return False
    except OSError:
        is_free = False  # no locks on this file system: only the process counts
    finally:
        os.close(fd)
    identity = describe(lock_dir, runner)
    if not is_free and (identity is None or identity.pid_namespace != _pid_namespace()):
        return False  # neither its lock nor its process can be checked
    return is_free if identity is None else has_ended(identity, is_shared_folder=is_shared(lock_dir))


def has_ended(runner: RunnerIdentity, *, is_shared_folder: bool) -> bool:
    """True if the process of a runner with a free lock ended. `is_shared_folder`: other machines use its folder."""
    if runner.boot_id == boot_id():
        if runner.pid_namespace and runner.pid_namespace != _pid_namespace():
            return True  # not visible, but the same kernel manages the locks of both
        if runner.pid == os.getpid() and runner.uuid not in _held_here:
            return True
        return process_start(runner.pid) != runner.start_time
    # A reboot ended all processes of this machine; processes of another machine are unknown.
    return not is_shared_folder or runner.host == socket.gethostname()


def describe(lock_dir: Path, runner: str) -> RunnerIdentity | None:
    """The identity in a runner's lock file; None if it cannot be read."""
    try:
        data = read_regular(lock_dir / f"runner-{runner}", longest=MAX_RECORD_BYTES, follow=False)
        return None if data is None else RunnerIdentity(**json.loads(data))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def process_start(pid: int) -> str | None:
    """The start time of a process; None if it does not exist."""
    if sys.platform.startswith("linux"):
        try:
            fields = _fields_of(pid)
        except (FileNotFoundError, ProcessLookupError):
            return None
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
    """The boot time of this machine in seconds since 1970, by the current clock."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    import psutil

    return float(psutil.boot_time())


def login_name() -> str:
    """The name of the user; their number if nothing names them (an arbitrary uid in a container, without `USER`)."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


# -- ancestors -------------------------------------------------------------------------------------
# The processes that this one was started by.


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A process: the words of its command line, and when it was started (seconds since 1970)."""

    words: tuple[str, ...]
    started: float


def ancestors() -> Iterator[Ancestor]:
    """All ancestors, nearest first, some perhaps twice; ends early at one that cannot be read."""
    if not sys.platform.startswith("linux"):
        yield from _ancestors_elsewhere()
        return
    tick, boot, child, pid = os.sysconf("SC_CLK_TCK"), boot_time(), os.getpid(), os.getppid()
    while pid > 0:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            fields = _fields_of(pid)
        except OSError:
            # Another user's, or it has just ended: then another process is the parent now.
            parent = _parent_of(child)
            if parent == pid or (parent is None and child == os.getpid()):
                return
            child, pid = (os.getpid(), os.getppid()) if parent is None else (child, parent)
            continue
        yield Ancestor(tuple(words), boot + int(fields[19]) / tick)
        child, pid = pid, int(fields[1])


def _fields_of(pid: int) -> list[str]:
    """The fields of a process in /proc, from its state on. Its name may contain spaces and parentheses."""
    return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()


def _parent_of(pid: int) -> int | None:
    """The parent of a process; None if the process has ended."""
    try:
        return int(_fields_of(pid)[1])
    except OSError:
        return None


def _ancestors_elsewhere() -> Iterator[Ancestor]:
    import psutil

    for process in psutil.Process().parents():
        try:
            yield Ancestor(tuple(process.cmdline()), process.create_time())
        except psutil.Error:
            yield Ancestor((), 0.0)


def program_start(name: str) -> float | None:
    """When the nearest ancestor was started that is this program, or an interpreter of it; None if there is none."""
    for ancestor in ancestors():
        # `claude`, `node /usr/bin/claude`, `node --option /opt/claude/claude.js`
        if any(Path(word).stem == name for word in ancestor.words[:4]):
            return ancestor.started
    return None

"""Who runs a task, and the proof that it is dead: a lock the system lets go of, never a pid or an age."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import socket
import sys
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from burnish.proc.folders import private_folder


@dataclass(frozen=True, slots=True)
class Runner:
    """This process, in a way that no later process can be mistaken for it."""

    uuid: str
    pid: int
    # of the process, in clock ticks since boot (Linux) or seconds since 1970: a pid given out again differs
    start_time: str
    boot_id: str
    host: str
    user: str

    @classmethod
    def here(cls) -> Runner:
        return cls(uuid.uuid4().hex, os.getpid(), _start_time(), _boot_id(), socket.gethostname(), _user_name())

    def __str__(self) -> str:
        return f"{self.user}@{self.host}, pid {self.pid}"


@dataclass(frozen=True, slots=True)
class RunnerLock:
    """Held for as long as the process lives; also a context manager, for those who leave earlier."""

    runner: Runner
    path: Path
    fd: int

    def release(self) -> None:
        self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            os.close(self.fd)

    def __enter__(self) -> RunnerLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def hold(lock_dir: Path) -> RunnerLock:
    """Give this process an identity, and a lock that falls when it dies, however it dies."""
    private_folder(lock_dir)
    runner = Runner.here()
    path = lock_dir / f"runner-{runner.uuid}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.write(fd, json.dumps(asdict(runner)).encode())
    return RunnerLock(runner, path, fd)


def is_dead(lock_dir: Path, runner: str) -> bool:
    """Proof that a runner of this machine is gone: its lock can be had, or its file was put away."""
    if not runner.isalnum():
        raise ValueError(f"{runner!r} is not a runner's uuid")
    try:
        fd = os.open(lock_dir / f"runner-{runner}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    except PermissionError:
        return False  # another user's: no proof
    try:
        # Shared, so that two who look at the same moment do not take each other for the runner.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def describe(lock_dir: Path, runner: str) -> Runner | None:
    """What a runner wrote about itself, for people."""
    try:
        return Runner(**json.loads((lock_dir / f"runner-{runner}").read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _start_time() -> str:
    if sys.platform.startswith("linux"):
        # The name, in parentheses, may hold spaces and parentheses itself: count from the last one.
        return Path("/proc/self/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    import psutil

    return f"{psutil.Process().create_time():.6f}"


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        import psutil

        return f"{psutil.boot_time():.0f}"


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())

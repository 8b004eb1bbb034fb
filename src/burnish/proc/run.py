"""Starts a program under the shim, waits for it, and returns how it ended."""

from __future__ import annotations

import contextlib
import errno
import marshal
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.durability import is_sync_enabled
from burnish.errors import BurnishError
from burnish.proc import shim
from burnish.proc.capture import Program
from burnish.proc.memory import capped
from burnish.proc.mounts import without_lost_masks
from burnish.proc.sandbox import nesting_bubblewrap
from burnish.proc.shim_files import (
    ExitRecord,
    exit_record,
    finished_call,
    held_lock,
    outcome_file,
    read_outcome,
    wait_for_orphans,
)
from burnish.proc.stop import Stopped, StopToken
from burnish.proc.text import clean_text, read_text

__all__ = [
    "Command",
    "DiskFull",
    "ExitRecord",
    "ProgramMissing",
    "ShimLost",
    "StopToken",
    "Stopped",
    "clean_text",
    "finished_call",
    "read_text",
    "run",
    "wait_for_orphans",
]

SHIM = str(Path(shim.__file__).resolve())
# The time that the shim needs at most to end all processes; a shim that takes longer hangs.
_PATIENCE = shim.GRACE + shim.GIVE_UP + 2.0
# The interval of checks whether a program should continue.
_LOOK_EVERY = 2.0
# A program may end by itself in this time: what it printed may have been its last message.
_LAST_MESSAGE = 0.3
_NEVER = float("inf")
# Asked whenever the program has printed lines, and, with True, at that interval. If it is True again at a later line,
# the program gets no more time to end by itself.
Enough = Callable[[bool], bool]


class ProgramMissing(BurnishError):
    """The program does not exist or is not executable."""


class DiskFull(BurnishError):
    """The output of the program could not be stored."""


class ShimLost(BurnishError):
    """The shim was killed, so it is unknown how the program ended."""


@dataclass(frozen=True, slots=True)
class Command:
    """One program. `call_dir` exists and is private: stdout and stderr go into it, the outcome beside it."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    call_dir: Path
    # the prompt on disk; None = /dev/null
    stdin: Path | None = None
    timeout_seconds: float = 3600.0
    # of stdout and of stderr each; head and tail are kept
    cap_bytes: int = 64 * 1024 * 1024
    # Held (shared) by the shim until all its processes ended.
    lock_file: Path | None = None
    # the program is a sandbox around the one that matters
    wrapped: bool = False
    # Its outcome and its files in `cwd` must survive a power loss.
    durable: bool = False
    # of the program and all that it starts, together; None = no cap
    memory_bytes: int | None = None


def run(
    command: Command,
    *,
    stop: StopToken | None = None,
    on_output: Callable[[str], None] | None = None,
    enough: Enough | None = None,
) -> ExitRecord:
    """Run the program until it ends or is stopped. `on_output` gets some of the last lines; `enough` may end it."""
    stop = stop or StopToken()
    ending = _run_once(command, stop, on_output, enough)
    if command.wrapped and _was_not_set_up(ending):
        # A socket that was to be masked may have been removed meanwhile.
        argv = without_lost_masks(command.argv)
        if argv != command.argv:
            return _run_once(replace(command, argv=argv), stop, on_output, enough)
    return ending


def _was_not_set_up(ending: ExitRecord) -> bool:
    """True if bubblewrap failed before it started the program, and not if a program writes what it would write."""
    if ending.was_started or ending.ended != "exit" or ending.exit_code != 1:
        return False
    if ending.stdout_bytes or not ending.stderr_bytes:
        return False
    with ending.stderr.open("rb") as file:
        return file.read(64).startswith(b"bwrap: Can't ")


def _run_once(
    command: Command, stop: StopToken, on_output: Callable[[str], None] | None, enough: Enough | None
) -> ExitRecord:
    for path in (outcome_file(command.call_dir), command.call_dir / "stdout", command.call_dir / "stderr"):
        path.unlink(missing_ok=True)
    if stop.requested:
        return exit_record(command.call_dir, {"ended": "stopped"})
    with stop.listening() as stop_fd, _shim(command, live=on_output is not None, news=enough is not None) as connection:
        last_message = connection.follow(stop_fd, stop, on_output or (lambda _: None), enough)
    if last_message == ["done"] and (outcome := read_outcome(command.call_dir)):
        return exit_record(command.call_dir, outcome)
    raise _no_outcome_error(command, last_message)


class _ShimConnection:
    """The connection to one shim."""

    def __init__(self, process: subprocess.Popen[bytes], command: Command) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self.command = process, command
        self.control, self.words = process.stdin.fileno(), process.stdout.fileno()
        self.main = 0
        self.give_up: float | None = None
        self.look_at = 0.0
        self.has_news, self.end_at = False, _NEVER

    def order(self, *, live: bool, news: bool, keep: list[int]) -> None:
        command = self.command
        order = marshal.dumps(
            {
                "argv": list(command.argv),
                "cwd": str(command.cwd),
                "env": dict(command.env),
                "dir": str(command.call_dir.resolve()),
                "outcome": str(outcome_file(command.call_dir).absolute()),
                "stdin": str(command.stdin.resolve()) if command.stdin else None,
                "timeout": float(command.timeout_seconds),
                "cap": command.cap_bytes,
                "live": live,
                "news": news,
                "keep": keep,
                "wrapped": command.wrapped,
                "outer": nesting_bubblewrap() if command.wrapped else "",
                "durable": command.durable and is_sync_enabled(),
                "counts_oom": command.memory_bytes is not None,
            }
        )
        with contextlib.suppress(BrokenPipeError):
            shim.write_all(self.control, len(order).to_bytes(8, "big") + order)

    def follow(
        self, stop_fd: int, stop: StopToken, on_output: Callable[[str], None], enough: Enough | None
    ) -> list[str]:
        """Read messages of the shim until it ends; returns its last message."""
        deadline = time.monotonic() + self.command.timeout_seconds
        self.look_at = time.monotonic() + _LOOK_EVERY if enough else deadline
        buffer, last = b"", [""]
        with selectors.DefaultSelector() as selector:
            selector.register(stop_fd, selectors.EVENT_READ)
            selector.register(self.words, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select(self._pause(deadline))}
                if stop_fd in ready:
                    os.read(stop_fd, 64)
                    self.send(b"k" if stop.now else b"t")
                if time.monotonic() >= deadline and self.give_up is None:
                    self.send(b"o")
                if self.give_up is not None and time.monotonic() >= self.give_up:
                    return ["stuck"]
                if self.words in ready:
                    data = os.read(self.words, 65536)
                    if not data:
                        return last
                    *lines, buffer = (buffer + data).split(b"\n")
                    last = self._hear(lines, on_output) or last
                if enough:
                    self._ask(enough, time.monotonic())

    def _pause(self, deadline: float) -> float:
        until = min(deadline, self.look_at, self.end_at) if self.give_up is None else self.give_up
        return max(0.0, until - time.monotonic())

    def _ask(self, enough: Enough, now: float) -> None:
        is_ending = self.give_up is not None
        is_due = now >= self.look_at and not is_ending
        if is_due:
            self.look_at = now + _LOOK_EVERY
        has_news, self.has_news = self.has_news, False
        if (is_due or has_news) and enough(is_due):
            if is_ending:
                self.send(b"k")
            # at once if the program went on, else when it had the time to end by itself
            self.end_at = now if self.end_at != _NEVER else now + _LAST_MESSAGE
        if now >= self.end_at and self.give_up is None:
            self.send(b"e")

    def _hear(self, lines: list[bytes], on_output: Callable[[str], None]) -> list[str]:
        last: list[str] = []
        for line in lines:
            match line.decode("utf-8", "replace").split():
                case ["started", pid]:
                    self.main = int(pid)
                case ["live", data]:
                    on_output(clean_text(bytes.fromhex(data).decode("utf-8", "replace")))
                case ["new"]:
                    self.has_news = True
                case [*words]:
                    last = words
        return last

    def send(self, letter: bytes) -> None:
        self.give_up = self.give_up or time.monotonic() + _PATIENCE
        with contextlib.suppress(OSError):
            os.write(self.control, letter)
        # Its program may have suspended it.
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """Close the pipe, which makes the shim end all processes, and wait for that."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(0.1 if self._is_stuck() else _PATIENCE)
        except subprocess.TimeoutExpired:
            pass  # it was suspended, perhaps by the program it supervises
        finally:
            self._by_force()
            self.process.stdout.close()

    def _is_stuck(self) -> bool:
        return self.give_up is not None and time.monotonic() >= self.give_up

    def _by_force(self) -> None:
        """End the remaining processes of a shim that hangs or was killed."""
        if self.process.poll() == 0:
            return
        if self.process.returncode is None:
            shim.signal_tree(self.process.pid, self.main or self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
        elif self.main:
            shim.send(self.main, signal.SIGKILL, group=True)


@contextlib.contextmanager
def _shim(command: Command, *, live: bool, news: bool) -> Iterator[_ShimConnection]:
    """A started shim; no process of it is left afterwards."""
    argv, manager_env = capped([sys.executable, "-I", "-S", SHIM], command.memory_bytes)
    with held_lock(command.lock_file) as keep:
        process = Program(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ} | manager_env,
            cwd="/",
            start_new_session=True,
            pass_fds=keep,
            bufsize=0,
        )
    connection = _ShimConnection(process, command)
    try:
        connection.order(live=live, news=news, keep=keep)
        yield connection
    finally:
        connection.close()


def _no_outcome_error(command: Command, last_message: list[str]) -> BurnishError:
    """The error for a program without an outcome."""
    program = command.argv[0]
    match last_message:
        case ["missing", _] if not command.cwd.is_dir():
            return BurnishError(
                f"Cannot start {program} in {command.cwd}: there is no such directory.",
                hint="If the workspace was removed, run `burnish retry` to create it again.",
            )
        case ["missing", code]:
            return ProgramMissing(
                f"Cannot start {program}: {os.strerror(int(code))}.",
                hint="Check that it is installed, executable and on your PATH. `burnish doctor` shows what was found.",
            )
        case ["failed", code] if int(code) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return DiskFull(
                f"No space to store the output of {program}: {os.strerror(int(code))}.",
                hint=f"Free some space under {command.call_dir}; see also `burnish clean`.",
            )
        case ["failed", code]:
            return BurnishError(
                f"Cannot store the output of {program}: {os.strerror(int(code))}.",
                hint=f"Check that burnish can write to {command.call_dir}.",
            )
        case _:
            return ShimLost(
                f"It is unknown how {program} ended ({' '.join(last_message) or 'its supervisor was killed'}).",
                hint=f"Run it again; its output is in {command.call_dir}.",
            )

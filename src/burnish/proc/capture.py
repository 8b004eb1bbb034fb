"""Runs a short program and captures its output. Agents and checks use `run` instead."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import BurnishError


@dataclass(frozen=True, slots=True)
class Captured:
    """The output and exit code of a program."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class Program(subprocess.Popen[bytes]):
    """A process whose end is noticed at once. With a timeout, `Popen.wait` sleeps for 1 ms and more between looks."""

    def wait(self, timeout: float | None = None) -> int:
        if timeout is None or self.returncode is not None:
            return super().wait(timeout)
        end = time.monotonic() + timeout
        _wait_for_exit(self.pid, timeout)
        return super().wait(max(0.0, end - time.monotonic()))


def _wait_for_exit(pid: int, timeout: float) -> None:
    """Return when this child has exited or the time is over; at once where the system cannot say (macOS)."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        poller.poll(max(0.0, timeout) * 1000)
    finally:
        os.close(handle)


def capture(
    argv: Sequence[str | bytes],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes = b"",
    timeout: float = 600.0,
    slow: tuple[float, Callable[[], None]] | None = None,
) -> Captured:
    """Run the program and wait for it. A non-zero exit code does not raise.

    `slow`: seconds after which to call a function, which may raise to stop the program.
    """
    name = Path(argv[0] if isinstance(argv[0], str) else argv[0].decode(errors="replace")).name
    try:
        return _wait(argv, cwd, env, stdin, timeout, slow)
    except subprocess.TimeoutExpired:
        raise BurnishError(
            f"{name} did not finish within {timeout:g} seconds.",
            hint="The disk or the machine may be overloaded.",
        ) from None
    except FileNotFoundError as error:
        # A missing program and a missing working directory raise the same error.
        if not cwd.is_dir():
            raise BurnishError(
                f"The directory {cwd} does not exist.", hint="It may have been removed while burnish ran."
            ) from error
        raise BurnishError(f"{name} is not installed.", hint=f"Install {name} and try again.") from error
    except PermissionError as error:
        raise BurnishError(
            f"Cannot start {name}: {error.strerror}.", hint=f"Check that {argv[0]!r} is executable."
        ) from error


def _wait(
    argv: Sequence[str | bytes],
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes,
    timeout: float,
    slow: tuple[float, Callable[[], None]] | None,
) -> Captured:
    pipe = subprocess.PIPE
    with Program(argv, cwd=cwd, env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe) as program:
        try:
            if slow is not None and slow[0] < timeout:
                try:
                    out, err = program.communicate(stdin, timeout=slow[0])
                    return Captured(program.returncode, out, err)
                except subprocess.TimeoutExpired:
                    slow[1]()
                    # The second `communicate` continues with the input of the first.
                    stdin = b""
            out, err = program.communicate(stdin, timeout=timeout)
            return Captured(program.returncode, out, err)
        except BaseException:
            # as subprocess.run does
            program.kill()
            raise

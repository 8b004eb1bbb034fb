"""Runs a short program and captures its output. Agents and checks use `run` instead."""

from __future__ import annotations

import os
import select
import selectors
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


class TooMuchOutput(BurnishError):
    """The program printed more than was allowed, and was ended."""


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
    max_bytes: int | None = None,
) -> Captured:
    """Run the program and wait for it. A non-zero exit code does not raise.

    `slow`: seconds after which to call a function, which may raise to stop the program. `max_bytes`: of its output,
    if others decide how much it prints; more raises TooMuchOutput.
    """
    name = Path(argv[0] if isinstance(argv[0], str) else argv[0].decode(errors="replace")).name
    try:
        return _wait(argv, cwd, env, stdin, timeout, slow, max_bytes)
    except _Overflow:
        raise TooMuchOutput(
            f"{name} printed more than {(max_bytes or 0) // 1024**2} MB and was ended.", hint="Try it by hand."
        ) from None
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
    max_bytes: int | None,
) -> Captured:
    pipe = subprocess.PIPE
    with Program(argv, cwd=cwd, env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe) as program:
        try:
            if max_bytes is not None:
                out, err = _limited_output(program, stdin, time.monotonic() + timeout, max_bytes)
                return Captured(program.wait(), out, err)
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


class _Overflow(Exception):
    pass


def _limited_output(program: Program, stdin: bytes, deadline: float, max_bytes: int) -> tuple[bytes, bytes]:
    """`communicate`, which would take any amount into memory."""
    assert program.stdin and program.stdout and program.stderr
    parts: dict[int, list[bytes]] = {program.stdout.fileno(): [], program.stderr.fileno(): []}
    size, rest = 0, memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for handle in parts:
            selector.register(handle, selectors.EVENT_READ)
        if rest:
            os.set_blocking(program.stdin.fileno(), False)
            selector.register(program.stdin, selectors.EVENT_WRITE)
        else:
            program.stdin.close()
        while selector.get_map():
            if (seconds := deadline - time.monotonic()) <= 0:
                raise subprocess.TimeoutExpired(program.args, 0)
            for key, _ in selector.select(seconds):
                if key.fileobj is program.stdin:
                    rest = _write_part(program.stdin.fileno(), rest)
                    if not rest:
                        selector.unregister(program.stdin)
                        program.stdin.close()
                    continue
                data = os.read(key.fd, 65536)
                size += len(data)
                if size > max_bytes:
                    raise _Overflow
                parts[key.fd].append(data)
                if not data:
                    selector.unregister(key.fd)
    program.wait(max(0.0, deadline - time.monotonic()))
    out, err = (b"".join(found) for found in parts.values())
    return out, err


def _write_part(handle: int, data: memoryview) -> memoryview:
    """What is left to write; nothing if the program does not read it."""
    try:
        return data[os.write(handle, data[:4096]) :]
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return data[:0]

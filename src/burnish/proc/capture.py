"""Run one short program to its end and keep what it said. Agents and checks go another way."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import BurnishError


@dataclass(frozen=True, slots=True)
class Captured:
    """What a program said, and how it ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes


def capture(
    argv: Sequence[str | bytes],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes = b"",
    timeout: float = 600.0,
    slow: tuple[float, Callable[[], None]] | None = None,
) -> Captured:
    """Wait for the program; an exit code other than 0 is the caller's to judge.

    `slow`: seconds after which a function is called that may raise, to end the program.
    """
    name = Path(argv[0] if isinstance(argv[0], str) else argv[0].decode(errors="replace")).name
    try:
        return _wait(argv, cwd, env, stdin, timeout, slow)
    except subprocess.TimeoutExpired:
        raise BurnishError(
            f"{name} did not finish within {timeout:g} seconds.",
            hint="Is the disk or the machine overloaded?",
        ) from None
    except FileNotFoundError as gone:
        # The same error tells of a missing program and of a missing working directory.
        if not cwd.is_dir():
            raise BurnishError(f"The directory {cwd} is gone.", hint="Was it removed while burnish ran?") from gone
        raise BurnishError(f"{name} is not installed.", hint=f"Install {name} and try again.") from gone
    except PermissionError as refused:
        raise BurnishError(
            f"{name} may not be started: {refused.strerror}.", hint=f"Check that {argv[0]!r} can be executed."
        ) from refused


def _wait(
    argv: Sequence[str | bytes],
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes,
    timeout: float,
    slow: tuple[float, Callable[[], None]] | None,
) -> Captured:
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, cwd=cwd, env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe) as program:
        try:
            if slow is not None and slow[0] < timeout:
                try:
                    out, err = program.communicate(stdin, timeout=slow[0])
                    return Captured(program.returncode, out, err)
                except subprocess.TimeoutExpired:
                    slow[1]()
                    # the second `communicate` goes on with the input of the first
                    stdin = b""
            out, err = program.communicate(stdin, timeout=timeout)
            return Captured(program.returncode, out, err)
        except BaseException:
            # the same as subprocess.run does
            program.kill()
            raise

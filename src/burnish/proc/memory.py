"""The memory of a program: a cap for it and everything that it starts, by a scope of the user's systemd."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

from burnish.errors import BurnishError
from burnish.proc.capture import capture
from burnish.proc.own_programs import find_own_program

# how systemd-run finds the user's manager; the program itself does not get them
_MANAGER_VARIABLES = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_PROBE_SECONDS = 10.0
_PROBE_BYTES = 1 << 30


def capped(argv: list[str], memory_bytes: int | None) -> tuple[list[str], dict[str, str]]:
    """The command in a scope with this much memory and no swap, and the variables that starting it needs.

    The scope is made by the process that then becomes the program: its pid, pipes and session stay.
    """
    prefix = _scope() if memory_bytes is not None else None
    if prefix is None:
        return argv, {}
    limits = ("-p", f"MemoryMax={memory_bytes}", "-p", "MemorySwapMax=0")
    return [*prefix, *limits, "--", *argv], _manager_env()


def is_memory_cap_available() -> bool:
    return _scope() is not None


def available_memory() -> int | None:
    """Bytes that programs could use without swapping; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        words = next(line for line in lines if line.startswith("MemAvailable:")).split()
        return int(words[1]) * 1024
    except (OSError, ValueError, StopIteration, IndexError):
        return None


def _manager_env() -> dict[str, str]:
    return {name: os.environ[name] for name in _MANAGER_VARIABLES if name in os.environ}


@lru_cache(maxsize=1)
def _scope() -> tuple[str, ...] | None:
    """The words that start a command in a scope, tried once; None where there is no systemd of the user."""
    program = find_own_program("systemd-run") if sys.platform.startswith("linux") else None
    if program is None or "XDG_RUNTIME_DIR" not in os.environ:
        return None
    words = (program, "--user", "--scope", "--quiet", "--collect")
    # From version 253 on, systemd ends the whole scope after an OOM kill, with the shim, unless it is told not to.
    for prefix in ((*words, "-p", "OOMPolicy=continue"), words):
        argv = [*prefix, "-p", f"MemoryMax={_PROBE_BYTES}", "-p", "MemorySwapMax=0", "--", sys.executable, "-c", ""]
        try:
            result = capture(argv, cwd=Path("/"), env=_manager_env(), timeout=_PROBE_SECONDS)
        except (BurnishError, OSError):
            return None
        if result.exit_code == 0:
            return prefix
    return None

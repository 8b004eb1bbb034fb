"""Keeps the machine from going to sleep: a child that the system releases when burnish ends, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

from burnish.proc.capture import Program
from burnish.proc.own_programs import find_own_program

_PATIENCE = 2.0


class KeepAwake:
    """`hold(True)` while tasks run. Does nothing, and says nothing, where the system has no such program."""

    def __init__(self, *, is_enabled: bool) -> None:
        self._argv = _inhibitor() if is_enabled else ()
        self._child: Program | None = None

    def hold(self, is_needed: bool) -> None:
        if self._child is not None and self._child.poll() is not None:
            # it could not be had, e.g. without a session: it is not asked again and again
            self._argv = ()
            self.release()
        if is_needed and self._argv and self._child is None:
            with suppress(OSError):
                self._child = Program(
                    self._argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    # Ctrl-C is not meant for it
                    start_new_session=True,
                )
        elif not is_needed:
            self.release()

    def release(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        assert child.stdin is not None
        with suppress(OSError):
            child.stdin.close()
        with suppress(OSError):
            child.terminate()
        try:
            child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _inhibitor() -> tuple[str, ...]:
    """The command that keeps the machine awake until it ends. Each ends with burnish: by its input, or by the pid."""
    if sys.platform == "darwin":
        program = find_own_program("caffeinate")
        return (program, "-i", "-w", str(os.getpid())) if program else ()
    program, reader = find_own_program("systemd-inhibit"), find_own_program("cat")
    if program is None or reader is None:
        return ()
    words = ("--what=idle:sleep", "--who=burnish", "--why=Tasks are running", "--mode=block")
    return (program, *words, reader)

"""Detects that burnish was called by a program that burnish started: agents must not make decisions.

This gives a clear error message. The actual protection is that a sandbox hides the burnish home and that the server
requires its token: an agent that hides the markers in its own user namespace still finds no database.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from burnish.proc.private_places import MARKERS

_SHIM = ("burnish", "proc", "shim.py")


def inside_phase() -> bool:
    """True in a sandbox (a marker exists), and with BURNISH_TASK or a shim among the ancestors (it adopts orphans)."""
    if "BURNISH_TASK" in os.environ or any(map(os.path.lexists, MARKERS)):
        return True
    return any(_is_ours(words) for words in _ancestors())


def _is_ours(words: list[str]) -> bool:
    """True for a shim, or for the first process of a sandbox, whose command line names the markers."""
    # Any installation of burnish counts: an agent may call another one.
    return any(Path(word).parts[-3:] == _SHIM or Path(word) in MARKERS for word in words)


def _ancestors() -> list[list[str]]:
    """The command lines of all ancestors, nearest first."""
    if not sys.platform.startswith("linux"):
        import psutil

        return [_words_elsewhere(process) for process in psutil.Process().parents()]
    found, pid = [], os.getppid()
    while pid > 0:
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0"))
            stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        except OSError:
            break  # another user's, or it has just ended
        pid = int(stat.rpartition(")")[2].split()[1])
    return found


def _words_elsewhere(process: object) -> list[str]:
    import psutil

    try:
        return psutil.Process.cmdline(process)  # type: ignore[arg-type]
    except psutil.Error:
        return []

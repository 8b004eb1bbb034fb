"""Is burnish being called by something that burnish itself has started? An agent may not decide.

This gives a clear refusal. The wall behind it is that a sandbox hides the burnish home and that the server wants its
token: an agent that covers the markers, in a user namespace of its own, still finds no database.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from burnish.proc.private_places import MARKERS

_SHIM = ("burnish", "proc", "shim.py")


def inside_phase() -> bool:
    """In a sandbox there is a marker; without one, BURNISH_TASK or a shim among the ancestors (it adopts orphans)."""
    if "BURNISH_TASK" in os.environ or any(map(os.path.lexists, MARKERS)):
        return True
    return any(_is_ours(words) for words in _ancestors())


def _is_ours(words: list[str]) -> bool:
    """A shim, or the first process of a sandbox, whose command line names the markers."""
    # Of any installation of burnish: the one that an agent calls need not be the one that called it.
    return any(Path(word).parts[-3:] == _SHIM or Path(word) in MARKERS for word in words)


def _ancestors() -> list[list[str]]:
    """Their command lines, nearest first."""
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

"""Are we being called by something that burnish itself has started? An agent may not decide."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SHIM = ("burnish", "proc", "shim.py")


def inside_phase() -> bool:
    """BURNISH_TASK is set, or a shim stands among our ancestors (it adopts those who fork away)."""
    return "BURNISH_TASK" in os.environ or any(_is_shim(words) for words in _ancestors())


def _is_shim(words: list[str]) -> bool:
    # Of any installation of burnish: the one that an agent calls need not be the one that called it.
    return any(Path(word).parts[-3:] == _SHIM for word in words)


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

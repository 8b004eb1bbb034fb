"""The processes that this one was started by."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from burnish.proc.identity import boot_time


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A process: the words of its command line, and when it was started (seconds since 1970)."""

    words: tuple[str, ...]
    started: float


def ancestors() -> Iterator[Ancestor]:
    """All ancestors, nearest first; ends early at one that cannot be read."""
    if not sys.platform.startswith("linux"):
        yield from _ancestors_elsewhere()
        return
    tick, booted, pid = os.sysconf("SC_CLK_TCK"), boot_time(), os.getppid()
    while pid > 0:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            return  # another user's, or it has just ended
        yield Ancestor(tuple(words), booted + int(fields[19]) / tick)
        pid = int(fields[1])


def _ancestors_elsewhere() -> Iterator[Ancestor]:
    import psutil

    for process in psutil.Process().parents():
        try:
            yield Ancestor(tuple(process.cmdline()), process.create_time())
        except psutil.Error:
            yield Ancestor((), 0.0)


def program_start(name: str) -> float | None:
    """When the nearest ancestor was started that is this program, or an interpreter of it; None if there is none."""
    for ancestor in ancestors():
        # `claude`, `node /usr/bin/claude`, `node --option /opt/claude/claude.js`
        if any(Path(word).stem == name for word in ancestor.words[:4]):
            return ancestor.started
    return None

"""Detects that burnish was called by a program that burnish started: agents must not make decisions.

This gives a clear error message. The actual protection is that a sandbox hides the burnish home and that the server
requires its token: an agent that hides the markers in its own user namespace still finds no database.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from burnish.proc.identity import ancestors
from burnish.proc.private_places import MARKERS

_SHIM = ("burnish", "proc", "shim.py")


def inside_phase() -> bool:
    """True in a sandbox (a marker exists), and with BURNISH_TASK or a shim among the ancestors (it adopts orphans)."""
    if "BURNISH_TASK" in os.environ or any(map(os.path.lexists, MARKERS)):
        return True
    return any(_is_ours(ancestor.words) for ancestor in ancestors())


def _is_ours(words: Sequence[str]) -> bool:
    """True for a shim, or for the first process of a sandbox, whose command line names the markers."""
    # Any installation of burnish counts: an agent may call another one.
    return any(Path(word).parts[-3:] == _SHIM or Path(word) in MARKERS for word in words)

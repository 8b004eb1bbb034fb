"""The composition root. Slow modules are imported only when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.runtime.lost_branches import void_lost_approvals
from burnish.runtime.reader import Reader, home_of, open_reader, refuse_inside_phase

if TYPE_CHECKING:
    from burnish.runtime.app import App

__all__ = [
    "App",
    "Reader",
    "home_of",
    "open_app",
    "open_reader",
    "refuse_inside_phase",
    "void_lost_approvals",
]


def open_app(start: Path, *, flags: Mapping[str, Any] | None = None, reading: bool = False) -> App:
    """Open settings, git and agents. Registers the project if it is new.

    `reading`: for a read-only command; works without write access.
    """
    from burnish.runtime.app import App

    return App.open(start, flags=flags or {}, reading=reading)

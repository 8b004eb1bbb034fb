"""The one place that knows every part. Heavy parts are imported when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.runtime.lost_branches import void_lost_approvals
from burnish.runtime.reader import Reader, home_of, open_reader, refuse_inside_phase
from burnish.runtime.requests import LogFile, RunReport, RunRequest

if TYPE_CHECKING:
    from burnish.runtime.app import App

__all__ = [
    "App",
    "LogFile",
    "Reader",
    "RunReport",
    "RunRequest",
    "home_of",
    "open_app",
    "open_reader",
    "refuse_inside_phase",
    "void_lost_approvals",
]


def open_app(start: Path, *, flags: Mapping[str, Any] | None = None, reading: bool = False) -> App:
    """Everything: settings, git, agents. Makes the project known if it is not yet.

    `reading`: for a command that only looks; it works where nothing can be written.
    """
    from burnish.runtime.app import App

    return App.open(start, flags=flags or {}, reading=reading)

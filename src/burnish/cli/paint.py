"""Out: colour where a person looks, JSON where a program reads."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any, TextIO

CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36}

BY_STATUS = {
    "backlog": "dim",
    "in_progress": "cyan",
    "code_review": "blue",
    "waiting_approval": "magenta",
    "verified": "green",
    "completed": "green",
    "blocked": "yellow",
    "failed": "red",
    "cancelled": "dim",
}

BY_SEVERITY = {"error": "red", "warning": "yellow", "info": "dim"}


def coloured(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, *, on: bool) -> str:
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m" if on and text else text


def columns(stream: TextIO) -> int:
    """The room there is: a terminal's, between 60 and 200; plenty where nobody looks."""
    if not stream.isatty() and not os.environ.get("COLUMNS"):
        return 200
    return min(200, max(60, shutil.get_terminal_size((100, 24)).columns))


def say(text: str = "") -> None:
    """A line of data."""
    sys.stdout.write(text + "\n")


def tell(text: str) -> None:
    """A line beside the data: progress, warnings, errors."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def say_json(value: Any) -> None:
    # ASCII only: names that are not UTF-8 survive, and no control or bidi character reaches a terminal.
    sys.stdout.write(json.dumps(value, indent=2 if sys.stdout.isatty() else None) + "\n")

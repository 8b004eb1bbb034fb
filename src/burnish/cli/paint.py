"""Out: colour where a person looks, JSON where a program reads."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any, TextIO

from burnish.cli.session import SESSION

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

# For those who listen to a screen instead of looking at it.
WORDS = {"✓": "ok", "✗": "failed", "!": "attention", "→": "running", "·": "waiting"}
_SPOKEN = str.maketrans(
    {"…": "...", "│": "|", "─": "-", "═": "=", "—": "-", "·": "-", "→": "to", "✓": "ok", "✗": "failed"}
)

BY_SEVERITY = {"error": "red", "warning": "yellow", "info": "dim"}


def is_plain() -> bool:
    """Words only: `--plain` or BURNISH_PLAIN."""
    return SESSION.plain or os.environ.get("BURNISH_PLAIN", "") not in ("", "0")


def mark(sign: str) -> str:
    """A sign before a line, or the word for it."""
    return WORDS.get(sign, sign) if is_plain() else sign


def spoken(text: str) -> str:
    """The text as it is to be written: without signs that a screen reader stumbles over, if it is to be plain."""
    return text.translate(_SPOKEN) if is_plain() and not text.isascii() else text


def coloured(stream: TextIO) -> bool:
    if is_plain() or os.environ.get("NO_COLOR"):
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
    sys.stdout.write(spoken(text) + "\n")


def tell(text: str) -> None:
    """A line beside the data: progress, warnings, errors."""
    sys.stderr.write(spoken(text) + "\n")
    sys.stderr.flush()


def say_json(value: Any) -> None:
    # ASCII only: names that are not UTF-8 survive, and no control or bidi character reaches a terminal.
    sys.stdout.write(json.dumps(value, indent=2 if sys.stdout.isatty() else None) + "\n")

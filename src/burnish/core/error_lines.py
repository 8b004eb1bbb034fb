"""Which of the lines that a failed command printed says why it failed."""

from __future__ import annotations

import re

LONGEST = 300
# how much of the end is shown with it
TAIL_LINES = 12

# `ModuleNotFoundError: No module named 'x'`, `Error: Cannot find module 'x'`, `npm ERR! …`, `error[E0432]: …`
_NAMED = re.compile(
    r"^(?:E\s+)?(?:[\w.]+\.)?\w*(?:Error|Exception)\b(?:\s*\[[\w-]+\])?: \S"
    r"|^(?:npm (?:ERR!|error)|error(?:\[\w+\])?:|ERROR:?|fatal:|panic:|×|❌|make(?:\[\d+\])?: \*\*\*"
    r"|(?:/bin/)?(?:ba)?sh: )",
)
_WORDS = re.compile(
    r"(?i)\b(?:errors?|fatal|exception|cannot|could not|can't|not found|no such|undefined|unable to|denied|refused"
    r"|missing|invalid|failed|failure)\b"
)
_NOT_ONE = re.compile(r"(?i)\b(?:no|0) (?:errors?|failures?|failed)\b|^\s*(?:Traceback|warning\b)")


def first_error(text: str) -> str:
    """The first line that names an error, else the first with a word for one, else the last; "" for no text."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    named = next((line for line in lines if _NAMED.search(line)), None)
    worded = next((line for line in lines if _WORDS.search(line) and not _NOT_ONE.search(line)), None)
    found = named or worded or (lines[-1] if lines else "")
    return found.removeprefix("E ").strip()[:LONGEST]


def last_lines(text: str, *, most: int = TAIL_LINES) -> str:
    """The end of what was printed."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(line[:LONGEST] for line in lines[-most:])

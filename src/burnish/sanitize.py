"""Text as it looks: without what a terminal obeys, or what turns or hides what is written."""

from __future__ import annotations

import re

# Operating system commands and other strings, control sequences, two-letter escapes; each up to its own end.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
# C0 without tab and newline, DEL, C1; marks that turn the direction of writing; what hides in plain sight.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff]"
)


def clean_text(text: str) -> str:
    """Without terminal controls and direction marks: what is shown is what was written."""
    return _CONTROLS.sub("", without_escapes(text).replace("\r", "\n"))


def escape_controls(text: str) -> str:
    """The same with `\\x1b` and the like written out, so that a reader sees what a program printed."""
    return _CONTROLS.sub(lambda found: _written(found[0]), text.replace("\r\n", "\n"))


def _written(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def without_escapes(text: str) -> str:
    """Without what steers a terminal, each sequence as a whole: no `[31m` stays behind. Lines end in newlines."""
    return _ESCAPES.sub("", text.replace("\r\n", "\n"))

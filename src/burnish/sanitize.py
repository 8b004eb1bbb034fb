"""Removes terminal escapes, control characters and direction marks from text."""

from __future__ import annotations

import re

# operating system commands and other strings, control sequences, two-character escapes; each as a whole
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
# C0 without tab and newline, DEL, C1; direction marks; invisible characters, but not the joiners (U+200C, U+200D) and
# the two selectors (U+FE0E, U+FE0F) that scripts and emoji need
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028\u2029\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a]"
)
# All that `clean_text` leaves out, in one pattern: redaction searches the text that is left.
LEFT_OUT = re.compile(f"{_ESCAPES.pattern}|{_CONTROLS.pattern}")
# Letters that no screen shows but a model reads: tags and the further variation selectors.
_UNSEEN_LETTERS = re.compile("[\U000e0000-\U000e0fff]+")
# Half characters of names that are not UTF-8.
_HALVES = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text without terminal controls, direction marks and invisible characters; U+FFFD for unseen letters."""
    return _UNSEEN_LETTERS.sub("\ufffd", _CONTROLS.sub("", without_escapes(text).replace("\r", "\n")))


def terminal_text(text: str) -> str:
    """`clean_text`, without characters that a terminal cannot show; newlines are kept."""
    if text.isascii() and text.isprintable():
        return text
    return _HALVES.sub("\ufffd", clean_text(text))


def escape_controls(text: str) -> str:
    """The text with control characters written as `\\x1b`, to show what a program printed."""
    return _CONTROLS.sub(lambda found: _escape_character(found[0]), text.replace("\r\n", "\n"))


def _escape_character(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def without_escapes(text: str) -> str:
    """The text without terminal escape sequences, each removed as a whole. CRLF becomes a newline."""
    return _ESCAPES.sub("", text.replace("\r\n", "\n"))

"""`@path` in a prompt: several programs replace it by that file, outside of the fence, before the model is asked.

A reviewer's prompt quotes the change, so its author would choose files to be attached, also from outside of the
repository. Pure.
"""

from __future__ import annotations

import re

_NOTE = (
    "(In this message each at sign has a backslash before it: `\\@`. "
    "In the files, and in your answer, it stands alone.)\n\n"
)
# A program takes one with a backslash before it as a plain letter.
_MENTION = re.compile(r"(?<!\\)@")
_ESCAPED = re.compile(r"\\{1,2}@")


def without_mentions(prompt: str) -> str:
    """The prompt of a reviewer for a program that attaches files and cannot be told not to."""
    return _NOTE + _MENTION.sub(r"\\@", prompt) if "@" in prompt else prompt


def plain_answer(answer: str, *, sent: str) -> str:
    """What the model quoted, without the backslashes. `sent`: what was written to the program."""
    return _ESCAPED.sub("@", answer) if sent.startswith(_NOTE) else answer

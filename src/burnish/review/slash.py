"""Wraps a review prompt in the text of a slash command (`review.slash_command`)."""

from __future__ import annotations

import re

_HEAD = re.compile(r"\A---\r?\n.*?^---[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
PLACE = "$ARGUMENTS"


def wrap_in_command(command: str, request: str, *, last: str) -> str:
    """The command's text with the request in place of `$ARGUMENTS`; the answer format (`last`) comes last.

    Other placeholders, which would run a command or include a file, are not replaced.
    """
    text = _HEAD.sub("", command).strip("\n")
    before, place, after = text.partition(PLACE)
    if not place:
        return f"{text}\n\n{request}" if text else request
    after = after.replace(PLACE, "the request above").strip("\n")
    whole = f"{before}{request.strip(chr(10))}\n\n{after}".rstrip("\n") + "\n"
    # repeated at the end, because the command may describe another answer format
    return f"{whole}\n{last}" if after else whole

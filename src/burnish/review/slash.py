"""A slash command's text around what is asked of a reviewer (`review.slash_command`)."""

from __future__ import annotations

import re

_HEAD = re.compile(r"\A---\r?\n.*?^---[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
PLACE = "$ARGUMENTS"


def through(command: str, request: str, *, last: str) -> str:
    """The command as its program would put it: the request in its place. How to answer (`last`) is said last.

    Only the one placeholder is filled in; what would run a command or bring a file stays as it is written.
    """
    text = _HEAD.sub("", command).strip("\n")
    before, place, after = text.partition(PLACE)
    if not place:
        return f"{text}\n\n{request}" if text else request
    after = after.replace(PLACE, "the request above").strip("\n")
    whole = f"{before}{request.strip(chr(10))}\n\n{after}".rstrip("\n") + "\n"
    # whatever the command says of the form of the answer, this review's own form holds
    return f"{whole}\n{last}" if after else whole

"""Open a folder in the person's own editor."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from burnish.errors import BadInput, BurnishError
from burnish.proc.own_programs import find_own_program, lies_in_untrusted_checkout, untrusted_argument


def editor(env: Mapping[str, str] | None = None) -> list[str]:
    """The words that start it: $VISUAL, else $EDITOR; none if neither is set."""
    env = os.environ if env is None else env
    name = next((name for name in ("VISUAL", "EDITOR") if env.get(name)), None)
    if name is None:
        return []
    try:
        words = shlex.split(env[name])
    except ValueError:
        words = []
    found = find_own_program(words[0]) if words else None
    if not found and words and os.sep in words[0] and lies_in_untrusted_checkout(words[0]):
        raise BadInput(
            f"${name} is {env[name]!r}, a program in a checkout that is not trusted. It was not started.",
            hint=f"Accept the checkout with `burnish trust`, or correct ${name}.",
        )
    if argument := untrusted_argument(words):
        raise BadInput(
            f"${name} is {env[name]!r}, with a file in a checkout that is not trusted: {argument}. It was not started.",
            hint=f"Accept the checkout with `burnish trust`, or correct ${name}.",
        )
    if not found:
        raise BadInput(f"${name} is {env[name]!r}, which cannot be started.", hint=f"Correct ${name}.")
    return [found, *words[1:]]


def open_in(words: list[str], place: Path) -> None:
    """Start the editor on a folder or a file and wait for it; one with windows of its own comes back at once."""
    code = subprocess.run([*words, str(place)], check=False).returncode
    if code:
        what = "The file" if place.is_file() else "The workspace"
        raise BurnishError(f"{words[0]} ended with exit code {code}.", hint=f"{what} is {place}")

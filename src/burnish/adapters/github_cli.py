"""Runs gh, the command line of GitHub, with the user's login."""

from __future__ import annotations

import os
from pathlib import Path

from burnish.errors import BurnishError
from burnish.git.target_branch import LOCATION_VARIABLES
from burnish.proc.capture import Captured, capture
from burnish.proc.own_programs import find_own_program, own_path

# strangers decide how much gh prints: comments, logs, bodies of issues
MAX_BYTES = 64 * 1024 * 1024


def find_gh(effect: str, alternative: str = "") -> str:
    """The path of gh; raises if it is not installed."""
    gh = find_own_program("gh")
    if gh is None:
        raise BurnishError(
            f"gh is not installed, {effect}.",
            hint=f"Install GitHub's command line (gh) and log in with `gh auth login`{alternative}.",
        )
    return gh


def run_gh(root: Path, gh: str, *args: str, text: str = "") -> Captured:
    """Run gh in the checkout; `text` is its standard input."""
    env = {name: value for name, value in os.environ.items() if name not in LOCATION_VARIABLES}
    env |= {"GH_PROMPT_DISABLED": "1", "NO_COLOR": "1", "PATH": own_path()}
    stdin = text.encode("utf-8", "replace")
    argv: list[str | bytes] = [gh, *(os.fsencode(arg) for arg in args)]
    return capture(argv, cwd=root, env=env, stdin=stdin, timeout=120, max_bytes=MAX_BYTES)


def last_line(result: Captured) -> str:
    """The last line of the errors that were printed, else the exit code."""
    return (error_lines(result) or [f"exit code {result.exit_code}"])[-1]


def error_lines(result: Captured) -> list[str]:
    return [line.strip() for line in result.stderr.decode(errors="replace").splitlines() if line.strip()]

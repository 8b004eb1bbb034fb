"""What burnish writes into the hooks of agent programs and of git: the command and its limits."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from burnish.agents.registry import STOP_HOOKS

# An agent waits so many seconds for a review; burnish itself gives up a little earlier, so that it can say why.
# Node's timers hold 2^31 ms: taken for seconds by a program that counts in them, the number in ms still fits.
PATIENCE = 2100
GIVE_UP = PATIENCE - 60
# Reviews by hooks at once, of all repositories; one that finds no place within this time is not made.
MAX_AT_ONCE = 2
WAIT_FOR_A_PLACE = 300.0


GIT = "git"
NAMES = (*STOP_HOOKS, GIT)


def command_for(name: str) -> str:
    """What the agent's shell is to run: this burnish, by its full path."""
    # `|| true`: claude takes exit code 2 for a refusal, and a broken installation must not refuse anything.
    return f"{program()} hook run {name} || true"


def program() -> str:
    path = Path(sys.argv[0])
    if path.name == "burnish" and path.is_file():
        return shlex.quote(str(path.absolute()))
    # -P: the hook runs inside a repository, and nothing there may pass for a module of ours.
    return f"{shlex.quote(sys.executable)} -P -m burnish.cli"

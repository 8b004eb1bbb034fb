"""How each agent program is told to ask before it stops: one entry each, and nothing but facts."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# An agent waits so many seconds for a review; burnish itself gives up a little earlier, so that it can say why.
# Node's timers hold 2^31 ms: taken for seconds by a program that counts in them, the number in ms still fits.
PATIENCE = 2100
GIVE_UP = PATIENCE - 60
# Reviews by hooks at once, of all repositories; one that finds no place within this time is not made.
MOST_AT_ONCE = 2
WAIT_FOR_A_PLACE = 300.0


@dataclass(frozen=True, slots=True)
class StopHook:
    """Where a program's hooks stand, what an entry looks like, and the word that holds it up."""

    name: str
    event: str
    # below the user's home, or below what `home_variable` names
    own_file: str
    # in the checkout; "": the program has no such file
    local_file: str = ""
    home_variable: str = ""
    home_folder: str = ""
    refusal: str = "block"
    timeout_key: str = "timeout"
    per_second: int = 1
    # copilot: an entry is the hook itself; the others have a list of hooks in each entry
    flat: bool = False
    note: str = ""
    # takes API keys out of the environment of its hooks (seen with copilot 1.0.102)
    strips_keys: bool = False

    def file(self, root: Path | None, env: Mapping[str, str] = os.environ) -> Path:
        """In the checkout, or the person's own."""
        if root is not None and self.local_file:
            return root / self.local_file
        named = env.get(self.home_variable, "") if self.home_variable else ""
        return (Path(named) if named else Path.home() / self.home_folder) / self.own_file

    def entry(self, command: str) -> dict[str, Any]:
        key = "bash" if self.flat else "command"
        hook = {"type": "command", key: command, self.timeout_key: PATIENCE * self.per_second}
        return hook if self.flat else {"hooks": [hook]}

    def is_ours(self, hook: object) -> bool:
        command = hook.get("bash" if self.flat else "command") if isinstance(hook, dict) else None
        return isinstance(command, str) and "burnish" in command and f"hook run {self.name}" in command


CLAUDE = StopHook(
    "claude",
    "Stop",
    own_file="settings.json",
    # the one that is a person's own, not the team's
    local_file=".claude/settings.local.json",
    home_variable="CLAUDE_CONFIG_DIR",
    home_folder=".claude",
)
CODEX = StopHook(
    "codex",
    "Stop",
    own_file="hooks.json",
    home_variable="CODEX_HOME",
    home_folder=".codex",
    note="Codex runs a hook only once you have trusted it: it asks when you start it the next time, or see /hooks.",
)
GEMINI = StopHook(
    "gemini",
    "AfterAgent",
    own_file="settings.json",
    local_file=".gemini/settings.json",
    home_folder=".gemini",
    refusal="deny",
    per_second=1000,
)
QWEN = StopHook(
    "qwen", "Stop", own_file="settings.json", local_file=".qwen/settings.json", home_folder=".qwen", per_second=1000
)
COPILOT = StopHook(
    "copilot",
    "agentStop",
    own_file="hooks/burnish.json",
    home_folder=".copilot",
    timeout_key="timeoutSec",
    flat=True,
    strips_keys=True,
    note="Copilot removes API keys from the environment of its hooks: choose reviewers that need none of them.",
)

STOP_HOOKS = {hook.name: hook for hook in (CLAUDE, CODEX, GEMINI, QWEN, COPILOT)}
GIT = "git"
NAMES = (*STOP_HOOKS, GIT)


def command_for(name: str) -> str:
    """What the agent's shell is to run: this burnish, by its full path."""
    # `|| true`: claude takes exit code 2 for a refusal, and a broken installation must not refuse anything.
    return f"{program()} hook run {name} || true"


def program() -> str:
    started = Path(sys.argv[0])
    if started.name == "burnish" and started.is_file():
        return shlex.quote(str(started.absolute()))
    # -P: the hook runs inside a repository, and nothing there may pass for a module of ours.
    return f"{shlex.quote(sys.executable)} -P -m burnish.cli"

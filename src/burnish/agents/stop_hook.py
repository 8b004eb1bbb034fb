"""The hook that a program runs when its agent is about to stop: facts that each adapter states."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class StopHook:
    """The settings file that holds the program's hooks, the form of an entry, and the answer that rejects a stop."""

    name: str
    event: str
    # below the user's home directory, or below the folder that `home_variable` names
    own_file: str
    # in the checkout; "": the program has no such file
    local_file: str = ""
    home_variable: str = ""
    home_folder: str = ""
    refusal: str = "block"
    timeout_key: str = "timeout"
    # units of the time limit in one second: 1000 for milliseconds
    per_second: int = 1
    # an entry is the hook itself; with other programs, each entry has a list of hooks
    flat: bool = False
    # printed after installation
    note: str = ""
    # the program removes API keys from the environment of its hooks
    strips_keys: bool = False

    def file(self, root: Path | None, env: Mapping[str, str] = os.environ) -> Path:
        """The settings file in the checkout `root`, or the user's own."""
        if root is not None and self.local_file:
            return root / self.local_file
        folder = env.get(self.home_variable, "") if self.home_variable else ""
        return (Path(folder) if folder else Path.home() / self.home_folder) / self.own_file

    def entry(self, command: str, seconds: int) -> dict[str, Any]:
        """What to add to the settings so that the program runs `command` for at most `seconds`."""
        key = "bash" if self.flat else "command"
        hook = {"type": "command", key: command, self.timeout_key: seconds * self.per_second}
        return hook if self.flat else {"hooks": [hook]}

    def is_ours(self, hook: object) -> bool:
        """Whether burnish installed this entry."""
        command = hook.get("bash" if self.flat else "command") if isinstance(hook, dict) else None
        return isinstance(command, str) and "burnish" in command and f"hook run {self.name}" in command

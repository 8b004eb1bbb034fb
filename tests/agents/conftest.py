"""A project with a workspace, and agents that are small programs."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from burnish.agents.base import AgentSettings
from burnish.agents.runner import AgentRunner, RetryPolicy
from burnish.core.agent import AgentRequest
from burnish.proc.run import StopToken


@dataclass(frozen=True)
class Project:
    root: Path

    def runner(self, *settings: AgentSettings, stop: StopToken | None = None, attempts: int = 3) -> AgentRunner:
        return AgentRunner(
            {entry.name: entry for entry in settings},
            checkout=self.root / "checkout",
            lock_dir=self.root / "locks",
            stop=stop,
            retry=RetryPolicy(attempts=attempts, base_seconds=0.05, most_seconds=0.1),
        )

    def robot(self, code: str, name: str = "robot", **changes: Any) -> AgentSettings:
        """A `command` agent that runs Python."""
        path = self.root / "checkout" / f"{name}.py"
        path.write_text(f"#!{sys.executable} -IS\n{code}")
        path.chmod(0o755)
        return AgentSettings(name=name, kind="command", argv=(f"./{name}.py",), **changes)

    def request(self, agent: str = "robot", **changes: Any) -> AgentRequest:
        call_dir = self.root / "calls" / str(len(os.listdir(self.root / "calls")))  # noqa: PTH208
        call_dir.mkdir(mode=0o700)
        values = {
            "agent": agent,
            "role": "implement",
            "prompt": "Do it.",
            "cwd": self.root / "workspace",
            "call_dir": call_dir,
            "task": 29,
            "cycle": 2,
            "phase": "implement",
            "timeout_seconds": 20.0,
        }
        return AgentRequest(**{**values, **changes})


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for name in ("checkout", "workspace", "calls"):
        (tmp_path / name).mkdir()
    return Project(tmp_path)

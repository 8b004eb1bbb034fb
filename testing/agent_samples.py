"""What the real agent programs printed once, as `make agents ARGS=--record` wrote it down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from burnish.agents.base import FinishedCall
from burnish.core.agent import AgentRequest

FOLDER = Path(__file__).parents[1] / "tests" / "agents" / "samples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


def spoken(name: str, case: str, **changes: Any) -> FinishedCall:
    told = json.loads((FOLDER / f"{name}.json").read_text())[case]
    values = {"signal": None, "ended": "exit", "role": "review" if case == "review" else "implement", **told}
    return FinishedCall(**{**values, **changes})


def request(**changes: Any) -> AgentRequest:
    values = {"agent": "it", "role": "implement", "phase": "implement", "prompt": "The prompt.", "task": 1, "cycle": 1}
    if changes.get("read_only"):
        values |= {"role": "review", "phase": "review"}
    return AgentRequest(**{"cwd": Path("/ws"), "call_dir": Path("/calls/1"), **values, **changes})

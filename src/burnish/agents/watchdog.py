"""How long a program is waited for that tries again and again by itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from burnish.agents.base import AbortsEarly, Agent, AgentFailure
from burnish.agents.meter import Spending

_END_BYTES = 64 * 1024


@dataclass(slots=True)
class Watchdog:
    """With a program that tries again and again by itself: we do that better, and say so."""

    agent: Agent
    folder: Path
    spending: Spending
    why: AgentFailure | None = None

    @property
    def looks(self) -> bool:
        return self.spending.looks or isinstance(self.agent, AbortsEarly)

    def over(self) -> bool:
        if self.spending.over():
            return True
        if isinstance(self.agent, AbortsEarly):
            self.why = self.agent.abort_reason(_end(self.folder / "stdout"), _end(self.folder / "stderr"))
        return self.why is not None


def _end(path: Path) -> str:
    """What was printed last, from a whole line on."""
    with suppress(OSError), path.open("rb") as file:
        begun = max(0, path.stat().st_size - _END_BYTES)
        file.seek(begun)
        text = file.read(_END_BYTES).decode("utf-8", "replace")
        return text.partition("\n")[2] if begun else text
    return ""

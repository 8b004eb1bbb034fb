"""What one `burnish run` has spent: in all, and by each agent."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from burnish.agents.base import AgentSettings
from burnish.core.agent import AgentReply
from burnish.core.budget import Limit


@dataclass(frozen=True, slots=True)
class Purse:
    """Shared by all tasks of the run."""

    agents: Mapping[str, AgentSettings]
    # USD and tokens that all tasks of the project have cost so far
    total: Callable[[], tuple[float, int]]
    most_usd: float | None = None
    most_tokens: int | None = None
    _before: list[tuple[float, int]] = field(default_factory=list)
    _by_agent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def opened(self) -> Purse:
        """From here on it counts."""
        if self.most_usd is not None or self.most_tokens is not None:
            self._before.append(self.total())
        return self

    def paid(self, asked: str, reply: AgentReply) -> None:
        with self._lock:
            self._by_agent[reply.agent or asked] += reply.cost_usd or 0.0

    def limits(self, agents: Sequence[str]) -> tuple[Limit, ...]:
        return (*self._run(), *(limit for name in dict.fromkeys(agents) for limit in self._of(name)))

    def _run(self) -> list[Limit]:
        if not self._before:
            return []
        usd, tokens = (now - then for now, then in zip(self.total(), self._before[0], strict=True))
        found = []
        if self.most_usd is not None:
            found.append(Limit("budget.session_usd", "this run", usd, self.most_usd))
        if self.most_tokens is not None:
            found.append(Limit("budget.session_tokens", "this run", tokens, self.most_tokens, tokens=True))
        return found

    def _of(self, name: str) -> list[Limit]:
        entry = self.agents.get(name)
        if entry is None or entry.budget_usd is None:
            return []
        with self._lock:
            spent = self._by_agent[name]
        return [Limit(f"agents.{name}.budget_usd", f"{name} in this run", spent, entry.budget_usd)]

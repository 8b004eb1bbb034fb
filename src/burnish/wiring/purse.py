"""What one `burnish run` spends: in all, by each task and by each agent, while they work."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from burnish.agents.base import AgentSettings
from burnish.core.agent import AgentReply, AgentRequest, Use
from burnish.core.budget import Limit


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of an agent that is not on record yet."""

    agent: str
    use: Use
    over: bool = False


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
    # by task and by where the call is kept
    _calls: dict[tuple[int, str], _Call] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def opened(self) -> Purse:
        """From here on it counts."""
        if self.most_usd is not None or self.most_tokens is not None:
            self._before.append(self.total())
        return self

    def using(self, task: int, call: str, agent: str, use: Use) -> Use:
        """What a call has used up to now; gives back what all calls of the task have that are not on record."""
        with self._lock:
            self._calls[task, call] = _Call(agent, use)
            return self._sum(task)

    def paid(self, request: AgentRequest, reply: AgentReply) -> None:
        """A call is over, and this is what it cost."""
        agent = reply.agent or request.agent
        with self._lock:
            self._by_agent[agent] += reply.cost_usd or 0.0
            self._calls[request.task, str(request.call_dir)] = _Call(agent, Use(reply.cost_usd, reply.tokens), True)

    def unfinished(self, task: int) -> Use:
        """What calls have used that came to no good end: it was spent all the same."""
        with self._lock:
            return sum((call.use for (of, _), call in self._calls.items() if of == task and not call.over), Use())

    def settled(self, task: int) -> None:
        """All that the task has cost is on record."""
        with self._lock:
            for key in [key for key in self._calls if key[0] == task]:
                call = self._calls.pop(key)
                if not call.over:
                    self._by_agent[call.agent] += call.use.usd or 0.0

    def limits(self, agents: Sequence[str]) -> tuple[Limit, ...]:
        return (*self._run(), *(limit for name in dict.fromkeys(agents) for limit in self._of(name)))

    def _sum(self, task: int | None = None) -> Use:
        return sum((call.use for (of, _), call in self._calls.items() if task in (None, of)), Use())

    def _run(self) -> list[Limit]:
        if not self._before:
            return []
        usd, tokens = (now - then for now, then in zip(self.total(), self._before[0], strict=True))
        with self._lock:
            running = self._sum()
        found = []
        if self.most_usd is not None:
            found.append(Limit("budget.session_usd", "this run", usd, self.most_usd).more(running))
        if self.most_tokens is not None:
            found.append(
                Limit("budget.session_tokens", "this run", tokens, self.most_tokens, tokens=True).more(running)
            )
        return found

    def _of(self, name: str) -> list[Limit]:
        entry = self.agents.get(name)
        if entry is None or entry.budget_usd is None:
            return []
        with self._lock:
            running = (call.use for call in self._calls.values() if call.agent == name and not call.over)
            spent = self._by_agent[name] + sum(use.usd or 0.0 for use in running)
        return [Limit(f"agents.{name}.budget_usd", f"{name} in this run", spent, entry.budget_usd)]

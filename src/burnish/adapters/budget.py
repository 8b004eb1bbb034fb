"""What one `burnish run` spends: in all, by each task and by each agent, while they work."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from burnish.agents.base import AgentSettings
from burnish.agents.question import mark_recorded
from burnish.core.agent import AgentReply, AgentRequest, Use
from burnish.core.budget import Limit


@dataclass(frozen=True, slots=True)
class _OpenCall:
    """One call of an agent that is not on record yet: by agent, since a fallback may have taken over."""

    uses: Mapping[str, Use]
    answered: bool = False

    @property
    def use(self) -> Use:
        return sum(self.uses.values(), Use())


@dataclass(frozen=True, slots=True)
class BudgetTracker:
    """Shared by all tasks of the run."""

    agents: Mapping[str, AgentSettings]
    # USD and tokens that all tasks of the project have cost so far
    total: Callable[[], tuple[float, int]]
    most_usd: float | None = None
    most_tokens: int | None = None
    _before: list[tuple[float, int]] = field(default_factory=list)
    _by_agent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    # by task and by where the call is kept
    _calls: dict[tuple[int, str], _OpenCall] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def opened(self) -> BudgetTracker:
        """From here on it counts."""
        if self.most_usd is not None or self.most_tokens is not None:
            self._before.append(self.total())
        return self

    def using(self, task: int, call: str, agent: str, use: Use) -> Use:
        """What an agent has used in a call up to now; returns what calls of the task have that are not on record."""
        with self._lock:
            known = self._calls.get((task, call), _OpenCall({}))
            self._calls[task, call] = _OpenCall({**known.uses, agent: use})
            return self._sum(task)

    def paid(self, request: AgentRequest, reply: AgentReply) -> None:
        """A call is over, and this is what it cost with all its attempts."""
        agent = reply.agent or request.agent
        uses = {name: Use() for name in (agent, *(one.agent for one in reply.failed_attempts))}
        for one in reply.failed_attempts:
            uses[one.agent] += one.use
        others = sum((use for name, use in uses.items() if name != agent), Use())
        own = None if reply.cost_usd is None else max(0.0, reply.cost_usd - (others.usd or 0.0))
        uses[agent] = Use(own, reply.tokens - others.tokens, reply.cost_source)
        with self._lock:
            self._calls[request.task, str(request.call_dir)] = _OpenCall(uses, answered=True)

    def unrecorded(self, task: int, *, answered: bool) -> Use:
        """What calls of the task have used that are not on record. `answered`: also those that gave an answer."""
        with self._lock:
            calls = [call for (of, _), call in self._calls.items() if of == task]
            return sum((call.use for call in calls if answered or not call.answered), Use())

    def settled(self, task: int, *, answered: bool = True) -> None:
        """All that the task has cost is on record; answers are not if a later run will read them again."""
        with self._lock:
            for key in [key for key in self._calls if key[0] == task]:
                call = self._calls.pop(key)
                for agent, use in call.uses.items():
                    self._by_agent[agent] += use.usd or 0.0
                if answered or not call.answered:
                    mark_recorded(Path(key[1]))

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
            running = [call.uses[name].usd or 0.0 for call in self._calls.values() if name in call.uses]
            spent = self._by_agent[name] + sum(running)
        return [Limit(f"agents.{name}.budget_usd", f"{name} in this run", spent, entry.budget_usd)]

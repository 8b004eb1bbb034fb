"""Tracks what one `burnish run` spends: in total, per task and per agent, while they run."""

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
    """One agent call that is not recorded yet; by agent, since a fallback may have replaced the first."""

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
    # `budget.reserve` is subtracted from these
    has_reserve: bool = False
    # what each agent has cost on all machines since this run began, in USD; None: this process is the only one
    on_all_machines: Callable[[], Mapping[str, float]] | None = None
    _before: list[tuple[float, int]] = field(default_factory=list)
    _by_agent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    # by task and folder of the call
    _calls: dict[tuple[int, str], _OpenCall] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def opened(self, before: tuple[float, int] | None = None) -> BudgetTracker:
        """Start counting from here, or from the total `before` a run that is continued."""
        if self.most_usd is not None or self.most_tokens is not None:
            self._before.append(before or self.total())
        return self

    def continue_agent(self, name: str, usd: float) -> None:
        """Count what the agent has cost in this run before the run was interrupted."""
        with self._lock:
            self._by_agent[name] += max(0.0, usd)

    def using(self, task: int, call: str, agent: str, use: Use) -> Use:
        """Record what an agent has used in a call so far; returns the unrecorded use of the task."""
        with self._lock:
            open_call = self._calls.get((task, call), _OpenCall({}))
            self._calls[task, call] = _OpenCall({**open_call.uses, agent: use})
            return self._sum(task)

    def paid(self, request: AgentRequest, reply: AgentReply) -> None:
        """Record the cost of a finished call with all its attempts."""
        agent = reply.agent or request.agent
        uses = {name: Use() for name in (agent, *(one.agent for one in reply.failed_attempts))}
        for one in reply.failed_attempts:
            uses[one.agent] += one.use
        others = sum((use for name, use in uses.items() if name != agent), Use())
        own = None if reply.cost_usd is None else max(0.0, reply.cost_usd - (others.usd or 0.0))
        uses[agent] = Use(own, reply.tokens - others.tokens, reply.cost_source)
        with self._lock:
            self._calls[request.task, str(request.call_dir)] = _OpenCall(uses, answered=True)

    def unrecorded(self, task: int, *, include_answered: bool) -> Use:
        """The unrecorded use of the task. `include_answered`: also of calls that returned an answer."""
        with self._lock:
            calls = [call for (of, _), call in self._calls.items() if of == task]
            return sum((call.use for call in calls if include_answered or not call.answered), Use())

    def settled(self, task: int, *, include_answered: bool = True) -> None:
        """Mark the task's calls as recorded; without `include_answered` a later run reads the answers again."""
        with self._lock:
            for key in [key for key in self._calls if key[0] == task]:
                call = self._calls.pop(key)
                for agent, use in call.uses.items() if self.on_all_machines is None else ():
                    self._by_agent[agent] += use.usd or 0.0
                if include_answered or not call.answered:
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
        reserve = " minus budget.reserve" if self.has_reserve else ""
        if self.most_usd is not None:
            found.append(Limit(f"budget.session_usd{reserve}", "this run", usd, self.most_usd).more(running))
        if self.most_tokens is not None:
            name = f"budget.session_tokens{reserve}"
            found.append(Limit(name, "this run", tokens, self.most_tokens, tokens=True).more(running))
        return found

    def _of(self, name: str) -> list[Limit]:
        entry = self.agents.get(name)
        if entry is None or entry.budget_usd is None:
            return []
        ended_cost = self.on_all_machines().get(name, 0.0) if self.on_all_machines else 0.0
        with self._lock:
            running = [call.uses[name].usd or 0.0 for call in self._calls.values() if name in call.uses]
            cost_usd = ended_cost + self._by_agent[name] + sum(running)
        return [Limit(f"agents.{name}.budget_usd", f"{name} in this run", cost_usd, entry.budget_usd)]

"""Money and tokens: how much is left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from burnish.core.agent import Use
from burnish.core.policy import Policy
from burnish.core.task import Task

# part of the budget after which a person is notified
NEAR = 0.8


@dataclass(frozen=True, slots=True)
class Limit:
    """One budget and what is spent of it. `name` is the setting's."""

    name: str
    whose: str
    spent: float
    most: float
    tokens: bool = False

    def more(self, use: Use) -> Limit:
        """The limit with the use of running calls added."""
        return replace(self, spent=self.spent + (use.tokens if self.tokens else use.usd or 0.0))

    @property
    def reached(self) -> bool:
        return self.spent >= self.most

    @property
    def near(self) -> bool:
        return self.spent >= NEAR * self.most

    @property
    def words(self) -> str:
        if self.tokens:
            return f"{self.whose} has used {self.spent:.0f} of {self.most:.0f} tokens ({self.name})"
        return f"{self.whose} has cost ${self.spent:.2f} of ${self.most:.2f} ({self.name})"


def task_limits(task: Task, policy: Policy) -> tuple[Limit, ...]:
    limits = (
        ("budget.task_usd", task.cost_usd or 0.0, policy.task_usd, False),
        ("budget.task_tokens", float(task.tokens), policy.task_tokens, True),
    )
    return tuple(Limit(name, "the task", amount, most, tok) for name, amount, most, tok in limits if most is not None)


def overspent(limits: Iterable[Limit]) -> str | None:
    """A description of the first limit that is used up, or None."""
    return next((limit.words for limit in limits if limit.reached), None)

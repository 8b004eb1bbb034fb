"""What a call has used: counts that can be believed, and the bill that follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from burnish.agents.prices import cost
from burnish.core.agent import AgentReply, CostSource, Use

# No honest call comes near: a billion tokens are days of work of a whole team of agents.
MOST_TOKENS = 10**9
MOST_USD = 10_000.0


def token_count(value: Any) -> int:
    """A number of tokens as programs give it; 0 for what is not one, negative ones and absurd ones included."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_TOKENS else 0


def dollars(value: Any) -> float | None:
    """An amount as programs give it; None for what is not one: negative, not finite, over `MOST_USD` for one call."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_USD:
        return None
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens by what they cost: new input, input from the cache, output with all thoughts."""

    new: int = 0
    cached: int = 0
    out: int = 0

    @classmethod
    def of(cls, given: Any, cached: Any, out: Any) -> TokenCount:
        """`given` includes what came from the cache, as most programs count."""
        whole, reused = token_count(given), token_count(cached)
        return cls(max(0, whole - reused), min(whole, reused), token_count(out))

    @property
    def total(self) -> int:
        return self.new + self.cached + self.out

    def price(self, model: str | None) -> float | None:
        return cost(model, new=self.new, cached=self.cached, out=self.out)

    def as_json(self) -> dict[str, int]:
        return {"new": self.new, "cached": self.cached, "out": self.out}

    def since(self, earlier: Mapping[str, Any] | None) -> TokenCount:
        """Without what the same session had used before, where the program counts a session as a whole.

        If any count went down it is not the same count, and nothing is subtracted.
        """
        before = TokenCount(*(token_count((earlier or {}).get(key)) for key in ("new", "cached", "out")))
        if before.total > self.total or before.out > self.out:
            return self
        cached = max(0, self.cached - before.cached)
        out = self.out - before.out
        return TokenCount(max(0, self.total - before.total - cached - out), cached, out)


def largest(counts: Iterable[TokenCount]) -> TokenCount:
    """Of several reports on the same work: a line that another process wrote must not lower the bill."""
    return max(counts, key=lambda count: count.total, default=TokenCount())


def billed(reply: AgentReply, own: float | None, by_list: float | None, *, partial: bool = False) -> AgentReply:
    """With the program's own figure, or the list price where it gives none that can be believed."""
    source = CostSource.LIST if own is None else CostSource.PROGRAM
    usd = by_list if own is None else own
    if usd is None:
        return replace(reply, cost_usd=None, cost_source=CostSource.UNKNOWN)
    return replace(reply, cost_usd=usd, cost_source=CostSource.PARTIAL if partial else source)


def at_least(reply: AgentReply, metered: Use, *, cut: bool = False) -> AgentReply:
    """The higher of what was counted while it worked and what it told at the end. `cut`: output is missing."""
    tokens = max(reply.tokens, metered.tokens)
    if metered.usd is not None and metered.usd > (reply.cost_usd or 0.0) * (1 + 1e-9):
        reply = replace(reply, cost_usd=metered.usd, cost_source=CostSource.LIST)
    if cut and reply.cost_usd is not None:
        reply = replace(reply, cost_source=CostSource.PARTIAL)
    return replace(reply, tokens=tokens)

"""What a call has used: counts that can be believed, and the bill that follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from burnish.agents.prices import cost
from burnish.core.agent import AgentReply, FailedAttempt, PlanWindow, Use
from burnish.core.cost import CostSource

# No honest call comes near: a billion tokens are days of work of a whole team of agents.
MAX_TOKENS = 10**9
MAX_USD = 10_000.0


def token_count(value: Any) -> int:
    """A number of tokens as programs give it; 0 for what is not one, negative ones and absurd ones included."""
    return value if is_token_count(value) else 0


def is_token_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS


def are_token_counts(required: Iterable[Any], optional: Iterable[Any] = ()) -> bool:
    """Whether a price may be computed from these counts: an optional one may be missing, none may be refused."""
    return all(map(is_token_count, required)) and all(value is None or is_token_count(value) for value in optional)


def dollars(value: Any) -> float | None:
    """An amount as programs give it; None for what is not one: negative, not finite, over `MAX_USD` for one call."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_USD:
        return None
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens by what they cost: new input, input from the cache, output with all thoughts."""

    new: int = 0
    cached: int = 0
    out: int = 0
    # False: a count is missing or was refused. The others alone would give a price that is too low.
    complete: bool = True

    @classmethod
    def of(cls, given: Any, cached: Any, out: Any) -> TokenCount:
        """`given` includes what came from the cache, as most programs count."""
        whole, cache_reads = token_count(given), token_count(cached)
        complete = are_token_counts((given, out), (cached,))
        return cls(max(0, whole - cache_reads), min(whole, cache_reads), token_count(out), complete)

    @classmethod
    def apart(cls, new: Any, cached: Any, out: Any) -> TokenCount:
        """`new` without what came from the cache."""
        complete = are_token_counts((new, out), (cached,))
        return cls(token_count(new), token_count(cached), token_count(out), complete)

    @property
    def total(self) -> int:
        return self.new + self.cached + self.out

    def plus(self, other: TokenCount) -> TokenCount:
        complete = self.complete and other.complete
        return TokenCount(self.new + other.new, self.cached + other.cached, self.out + other.out, complete)

    def price(self, model: str | None) -> float | None:
        return cost(model, new=self.new, cached=self.cached, out=self.out) if self.complete else None

    def highest_price(self, models: Iterable[str | None]) -> float | None:
        """Price by the most expensive model: a line that names a cheaper or an unknown one must not lower the cost."""
        return max((usd for model in models if (usd := self.price(model)) is not None), default=None)

    def as_json(self) -> dict[str, int]:
        return {"new": self.new, "cached": self.cached, "out": self.out}

    def since(self, earlier: Mapping[str, Any] | None) -> TokenCount:
        """Without what the same session had used before, where the program counts a session as a whole.

        If any count went down it is not the same count, and nothing is subtracted. Each kind is subtracted from its
        own: cached input that an earlier call claimed must not pay for new input of this one.
        """
        new, cached, out = (token_count((earlier or {}).get(key)) for key in ("new", "cached", "out"))
        if new > self.new or cached > self.cached or out > self.out:
            return self
        return TokenCount(self.new - new, self.cached - cached, self.out - out, self.complete)


def highest(counts: Iterable[TokenCount]) -> TokenCount:
    """Of several reports on the same work, the highest count of each kind.

    So no report lowers the bill, whatever the model costs: not even one with more tokens of a cheaper kind. Reports
    that are not complete count as far as they go, next to a complete one.
    """
    every = list(counts)
    new, cached, out = (max((getattr(count, kind) for count in every), default=0) for kind in ("new", "cached", "out"))
    return TokenCount(new, cached, out, any(count.complete for count in every))


def billed(
    reply: AgentReply, own: float | None, by_list: float | None, *, has_all_tokens: bool = True, partial: bool = False
) -> AgentReply:
    """With the program's own figure, or the list price where it gives none that can be believed.

    No answer is free of charge: neither an own figure of 0 nor a count of no tokens at all is believed.
    """
    reply = replace(reply, has_all_tokens=has_all_tokens and reply.tokens > 0)
    own = own or None
    by_list = by_list if reply.tokens else None
    source = CostSource.LIST if own is None else CostSource.PROGRAM
    usd = by_list if own is None else own
    if usd is None:
        return replace(reply, cost_usd=None, cost_source=CostSource.UNKNOWN)
    return replace(reply, cost_usd=usd, cost_source=CostSource.PARTIAL if partial else source)


# The bill of a program that itself reports an amount of 0 and complete counts of 0 tokens.
NOTHING_USED = AgentReply("", cost_usd=0.0, cost_source=CostSource.PROGRAM)


def uses_nothing(report: AgentReply, live_use: Use) -> bool:
    """Whether a call that was refused is free: the program reports so, and the meter saw nothing else."""
    return report == NOTHING_USED and not live_use.tokens and not live_use.usd


def of_failed_attempt(report: AgentReply | None, live_use: Use) -> Use:
    """The higher of report and meter, as a lower bound: of a call that failed, no report is known to be the last."""
    reply = at_least(report or AgentReply(""), live_use)
    usd = reply.cost_usd or None
    return Use(usd, reply.tokens, CostSource.UNKNOWN if usd is None else CostSource.PARTIAL)


def with_failed_attempts(reply: AgentReply, failed: tuple[FailedAttempt, ...]) -> AgentReply:
    """Every attempt was paid for, not the one alone that gave the answer."""
    whole = sum((one.use for one in failed), Use(reply.cost_usd, reply.tokens, reply.cost_source))
    return replace(
        reply,
        cost_usd=whole.usd,
        tokens=whole.tokens,
        cost_source=whole.source or reply.cost_source,
        failed_attempts=failed,
    )


def at_least(reply: AgentReply, live_use: Use, *, cut: bool = False) -> AgentReply:
    """The higher of the usage counted during the call and the usage reported at its end. `cut`: output is missing."""
    tokens = max(reply.tokens, live_use.tokens)
    if live_use.usd is not None and live_use.usd > (reply.cost_usd or 0.0) * (1 + 1e-9):
        # a report that gave no price, or only a part of it, does not confirm that the meter saw everything
        sure = reply.cost_usd is not None and reply.cost_source is not CostSource.PARTIAL
        source = CostSource.LIST if sure else CostSource.PARTIAL
        reply = replace(reply, cost_usd=live_use.usd, cost_source=source)
    if cut and reply.cost_usd is not None:
        reply = replace(reply, cost_source=CostSource.PARTIAL)
    return replace(reply, tokens=tokens, has_all_tokens=reply.has_all_tokens and not cut)


# -- windows of a plan ----------------------------------------------------------------------------

# name, used share of 1, and the time of the reset in seconds; the last two as the program gave them
WindowReport = tuple[str, Any, Any]
_MAX_WINDOWS = 20
_MAX_NAME_LENGTH = 40
_MAX_SHARE = 10.0
# a time in seconds, not in milliseconds
_LAST_RESET = 10_000_000_000


def used_share(value: Any, whole: int = 1) -> float | None:
    """The used share of a plan as programs give it; None for what is not one: not above 0, not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        return None
    # compared before the division: an integer in JSON may be too large for a float
    return min(value, _MAX_SHARE * whole) / whole


def plan_windows(reports: Iterable[WindowReport]) -> tuple[PlanWindow, ...]:
    """The windows that can be believed, the most used first.

    A process that the program starts may report one, too: the highest share counts, and each time of a reset counts
    by itself.
    """
    shares: dict[tuple[str, int], float] = {}
    for name, share, reset in reports:
        used = used_share(share)
        if used is not None and isinstance(reset, int) and 0 < reset < _LAST_RESET:
            key = (name[:_MAX_NAME_LENGTH], reset)
            shares[key] = max(shares.get(key, 0.0), used)
    highest_first = sorted(shares.items(), key=lambda item: -item[1])[:_MAX_WINDOWS]
    return tuple(
        PlanWindow(name, share, datetime.fromtimestamp(reset, UTC).isoformat(timespec="seconds"))
        for (name, reset), share in highest_first
    )

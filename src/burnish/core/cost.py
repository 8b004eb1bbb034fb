"""Where a cost comes from, and how it is shown on every screen."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class CostSource(StrEnum):
    """Where a cost comes from."""

    # the agent program's own figure
    PROGRAM = "program"
    # tokens times list price (`agents/prices.py`)
    LIST = "list"
    # several calls, some of them of each kind
    MIXED = "mixed"
    # a lower bound: a part of what was used has no known price, or its report could be changed by the agent
    PARTIAL = "partial"
    # something was used, and no price of it is known
    UNKNOWN = "unknown"


def joint_source(sources: Iterable[str | None]) -> CostSource | None:
    """The cost source of several calls together; None if nothing was used."""
    distinct_sources = {CostSource(source) for source in set(sources) if source}
    if len(distinct_sources) <= 1:
        return next(iter(distinct_sources), None)
    return CostSource.PARTIAL if distinct_sources & {CostSource.PARTIAL, CostSource.UNKNOWN} else CostSource.MIXED


# of a run, in dollars: a larger amount is a mistake
MAX_BUDGET = 1e9
UNKNOWN_COST = "cost unknown"
_SOURCES = {
    CostSource.PROGRAM: "reported by the agent",
    CostSource.LIST: "list price",
    CostSource.MIXED: "partly list price",
    CostSource.PARTIAL: "at least; a part is not known",
}


def dollars(usd: float) -> str:
    """`$1,234.50`, `$0.42`, `$0.0042`, `<$0.0001`."""
    if usd >= 0.01 or usd == 0:
        return f"${usd:,.2f}"
    return f"${usd:.4f}" if usd >= 0.0001 else "<$0.0001"


def short_cost(usd: float | None, source: str | None) -> str:
    """`$0.42`, `$0.42+` if a part is not known, `cost unknown` if nothing has; empty if nothing was used."""
    if not usd:
        return UNKNOWN_COST if is_unknown(source) else ""
    return f"{dollars(usd)}{'+' if source == CostSource.PARTIAL else ''}"


def known_cost(usd: float | None, source: str | None) -> str:
    """`short_cost`, empty if no agent reported any: for lines that have little room."""
    return short_cost(usd, source) if usd else ""


def cost_with_source(usd: float | None, source: str | None) -> str:
    """`$0.42 (list price)`; an unknown cost is named, and empty means that nothing was used."""
    if not usd:
        return UNKNOWN_COST if is_unknown(source) else ""
    note = _SOURCES.get(CostSource(source)) if source else ""
    return f"{short_cost(usd, source)} ({note})" if note else dollars(usd)


def is_unknown(source: str | None) -> bool:
    """Was something used whose cost, or a part of it, is not known?"""
    return source in (CostSource.UNKNOWN, CostSource.PARTIAL)

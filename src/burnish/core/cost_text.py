"""How a cost is shown, on every screen: the amount, and where it comes from."""

from __future__ import annotations

from burnish.core.agent import CostSource

UNKNOWN_COST = "cost unknown"
_SOURCES = {
    CostSource.PROGRAM: "reported by the agent",
    CostSource.LIST: "list price",
    CostSource.MIXED: "partly list price",
    CostSource.PARTIAL: "a part has no known price",
}


def dollars(usd: float) -> str:
    """`$1,234.50`, `$0.42`, `$0.0042`, `<$0.0001`."""
    if usd >= 0.01 or usd == 0:
        return f"${usd:,.2f}"
    return f"${usd:.4f}" if usd >= 0.0001 else "<$0.0001"


def short_cost(usd: float | None, source: str | None) -> str:
    """`$0.42`, `$0.42+` where a part has no known price, `$?` where nothing has; empty if nothing was used."""
    if not usd:
        return "$?" if is_unknown(source) else ""
    return f"{dollars(usd)}{'+' if source == CostSource.PARTIAL else ''}"


def cost_with_source(usd: float | None, source: str | None) -> str:
    """`$0.42 (list price)`; an unknown cost is named, and empty means that nothing was used."""
    if not usd:
        return UNKNOWN_COST if is_unknown(source) else ""
    note = _SOURCES.get(CostSource(source)) if source else ""
    return f"{short_cost(usd, source)} ({note})" if note else dollars(usd)


def is_unknown(source: str | None) -> bool:
    """Was something used whose cost, or a part of it, is not known?"""
    return source in (CostSource.UNKNOWN, CostSource.PARTIAL)

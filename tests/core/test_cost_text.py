"""One way to show a cost: the amount, where it comes from, and never a zero for what is not known."""

from __future__ import annotations

import pytest

from burnish.core.cost import cost_with_source, dollars, short_cost


@pytest.mark.parametrize(
    ("usd", "source", "brief", "full"),
    [
        (0.42, "program", "$0.42", "$0.42 (reported by the agent)"),
        (0.42, "list", "$0.42", "$0.42 (list price)"),
        (0.42, "mixed", "$0.42", "$0.42 (partly list price)"),
        (0.42, "partial", "$0.42+", "$0.42+ (at least; a part is not known)"),
        (None, "unknown", "cost unknown", "cost unknown"),
        (0.0, "unknown", "cost unknown", "cost unknown"),
        (None, "partial", "cost unknown", "cost unknown"),
        (None, None, "", ""),
        (0.42, None, "$0.42", "$0.42"),
    ],
)
def test_a_cost_is_shown_with_its_source(usd: float | None, source: str | None, brief: str, full: str) -> None:
    assert (short_cost(usd, source), cost_with_source(usd, source)) == (brief, full)


def test_small_and_large_amounts_are_readable() -> None:
    assert [dollars(usd) for usd in (1234.5, 0.0042, 0.00001, 0)] == ["$1,234.50", "$0.0042", "<$0.0001", "$0.00"]

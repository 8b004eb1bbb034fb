"""A price is that of the very model, or none."""

from __future__ import annotations

from datetime import date

import pytest

from burnish.agents.prices import CHECKED_ON, PRICES, cost


@pytest.mark.parametrize(
    "name", ["gpt-5", "openai/gpt-5", "GPT-5-2025-08-07", "gpt-5-latest", "models/gpt-5-preview", "gpt-5@20250807"]
)
def test_the_day_of_a_release_does_not_change_the_price(name: str) -> None:
    assert cost(name, new=1_000_000, cached=1_000_000, out=1_000_000) == pytest.approx(11.375)


@pytest.mark.parametrize("name", [None, "", "gpt-5.9", "gpt-5-ultra", "gpt", "claude"])
def test_a_name_like_a_listed_one_has_no_price(name: str | None) -> None:
    assert cost(name, new=1000) is None


def test_cached_tokens_are_never_dearer() -> None:
    assert all(cached <= new < out for new, cached, out in PRICES.values())


def test_gateways_write_the_number_with_a_dot() -> None:
    assert cost("anthropic/claude-opus-4.5", new=1_000_000) == cost("claude-opus-4-5-20251101", new=1_000_000) == 5


def test_the_table_says_when_it_was_compared() -> None:
    assert date.fromisoformat(CHECKED_ON) >= date(2026, 11, 15)

"""Prices of models, for programs that report tokens but no cost. List prices; a subscription may be cheaper."""

from __future__ import annotations

import re

# The date of the last comparison with the providers' pages, as far as they could be read, and with the open price list
# genai-prices 0.2.1. Temporary discounts are ignored; a provider may charge more for very long prompts. The price of
# qwen3-coder-plus, which depends on the region, could not be confirmed.
CHECKED_ON = "2026-11-15"
# USD per million tokens: new input, cached input, output. A model that is not listed has no price; the
# price of a similar name is not used.
PRICES: dict[str, tuple[float, float, float]] = {
    "claude-fable-5": (10.00, 1.00, 50.00),
    "claude-fable-5-1": (10.00, 0.25, 50.00),
    "claude-haiku-4-5": (1.00, 0.10, 5.00),
    "claude-haiku-5-5": (0.10, 0.01, 0.50),
    "claude-opus-4-1": (15.00, 1.50, 75.00),
    "claude-opus-4-5": (5.00, 0.50, 25.00),
    "claude-opus-4-6": (5.00, 0.50, 25.00),
    "claude-opus-4-7": (5.00, 0.50, 25.00),
    "claude-opus-4-8": (5.00, 0.50, 25.00),
    "claude-opus-5": (5.00, 0.50, 25.00),
    "claude-opus-5-5": (4.00, 0.20, 20.00),
    "claude-sonnet-4": (3.00, 0.30, 15.00),
    "claude-sonnet-4-5": (3.00, 0.30, 15.00),
    "claude-sonnet-4-6": (3.00, 0.30, 15.00),
    "claude-sonnet-5": (2.00, 0.20, 10.00),
    # one of the two sources gives half of that for cached input: the higher price is used, because budgets depend on it
    "claude-sonnet-5-5": (2.00, 0.20, 10.00),
    "gemini-2.5-flash": (0.30, 0.03, 2.50),
    "gemini-2.5-flash-lite": (0.10, 0.01, 0.40),
    "gemini-2.5-pro": (1.25, 0.125, 10.00),
    "gemini-3-flash": (0.50, 0.05, 3.00),
    "gemini-3-pro": (2.00, 0.20, 12.00),
    "gemini-3.1-flash-lite": (0.25, 0.025, 1.50),
    "gemini-3.1-pro": (2.00, 0.20, 12.00),
    "gemini-3.5-flash": (1.50, 0.15, 9.00),
    "gemini-3.5-flash-lite": (0.30, 0.03, 2.50),
    "gemini-3.6-flash": (1.50, 0.15, 7.50),
    "gemini-3.7-flash": (1.50, 0.15, 7.50),
    "gemini-3.8-flash": (1.50, 0.15, 7.50),
    "gemini-4-argon": (4.00, 0.20, 20.00),
    "gpt-4.1": (2.00, 0.50, 8.00),
    "gpt-4.1-mini": (0.40, 0.10, 1.60),
    "gpt-4.1-nano": (0.10, 0.025, 0.40),
    "gpt-4o": (2.50, 1.25, 10.00),
    "gpt-4o-mini": (0.15, 0.075, 0.60),
    "gpt-5": (1.25, 0.125, 10.00),
    "gpt-5-codex": (1.25, 0.125, 10.00),
    "gpt-5-mini": (0.25, 0.025, 2.00),
    "gpt-5-nano": (0.05, 0.005, 0.40),
    "gpt-5.1": (1.25, 0.125, 10.00),
    "gpt-5.1-codex": (1.25, 0.125, 10.00),
    "gpt-5.1-codex-max": (1.25, 0.125, 10.00),
    "gpt-5.1-codex-mini": (0.25, 0.025, 2.00),
    "gpt-5.2": (1.75, 0.175, 14.00),
    "gpt-5.2-codex": (1.75, 0.175, 14.00),
    "gpt-5.3-codex": (1.75, 0.175, 14.00),
    "gpt-5.4": (2.50, 0.25, 15.00),
    "gpt-5.4-mini": (0.75, 0.075, 4.50),
    "gpt-5.4-nano": (0.20, 0.02, 1.25),
    "gpt-5.5": (5.00, 0.50, 30.00),
    "gpt-5.6-luna": (0.20, 0.02, 1.20),
    "gpt-5.6-sol": (4.00, 0.40, 20.00),
    "gpt-5.6-terra": (2.00, 0.20, 12.00),
    "gpt-6-astra": (10.00, 1.00, 50.00),
    "gpt-6-luna": (0.10, 0.01, 0.50),
    "gpt-6-sol": (2.00, 0.20, 10.00),
    "gpt-6.1-sol": (2.00, 0.10, 10.00),
    "gpt-6.1-terra": (1.00, 0.05, 5.00),
    "o3": (2.00, 0.50, 8.00),
    "o4-mini": (1.10, 0.275, 4.40),
    "qwen3-coder-plus": (1.00, 0.10, 5.00),
}
# release dates and suffixes that do not change the price
_SUFFIXES = re.compile(r"(?:-latest|-preview|-exp|[-@]?20\d{2}-?\d{2}-?\d{2}|-\d{2}-20\d{2})+$")


def cost(model: str | None, *, new: int, cached: int = 0, out: int = 0) -> float | None:
    """In USD; None for a model that is not listed."""
    name = _SUFFIXES.sub("", (model or "").lower().rsplit("/", 1)[-1])
    if name.startswith("claude-"):
        # gateways write the version with a dot
        name = name.replace(".", "-")
    if name not in PRICES:
        return None
    per_new, per_cached, per_out = PRICES[name]
    return (new * per_new + cached * per_cached + out * per_out) / 1_000_000

"""How much of a plan is used, from what a program reports about each window of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from burnish.core.agent import PlanWindow

# name, used share of 1, and the time of the reset in seconds; the last two as the program gave them
WindowReport = tuple[str, Any, Any]
_MAX_WINDOWS = 20
_MAX_NAME_LENGTH = 40
# a time in seconds, not in milliseconds
_LAST_RESET = 10_000_000_000


def plan_windows(reports: Iterable[WindowReport]) -> tuple[PlanWindow, ...]:
    """The windows that can be believed, the most used first.

    A process that the program starts may report one, too: the highest share counts, and each time of a reset counts
    by itself.
    """
    shares: dict[tuple[str, int], float] = {}
    for name, share, reset in reports:
        if not isinstance(share, int | float) or not isinstance(reset, int) or not math.isfinite(share):
            continue
        if share > 0 and 0 < reset < _LAST_RESET:
            key = (name[:_MAX_NAME_LENGTH], reset)
            shares[key] = max(shares.get(key, 0.0), min(float(share), 10.0))
    highest_first = sorted(shares.items(), key=lambda item: -item[1])[:_MAX_WINDOWS]
    return tuple(
        PlanWindow(name, share, datetime.fromtimestamp(reset, UTC).isoformat(timespec="seconds"))
        for (name, reset), share in highest_first
    )

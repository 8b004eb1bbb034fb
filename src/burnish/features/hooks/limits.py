"""Reviews by hooks are few at a time, and end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from burnish.adapters.agents import StopTokens
from burnish.errors import BurnishError
from burnish.features.hooks.programs import MAX_AT_ONCE, WAIT_FOR_A_PLACE
from burnish.proc.slots import slot
from burnish.proc.stop import Stopped, StopToken
from burnish.runtime.reader import home_of


@contextmanager
def limited(stops: StopTokens, *, seconds: float) -> Iterator[StopToken]:
    """Wait for one of the places of this machine, then yield what stops the review; both within `seconds`."""
    began = time.monotonic()
    # numbers of their own, so that the end of one review is not the end of the next
    waiting, review = (stops.of(len(stops.tokens)) for _ in range(2))
    with ExitStack() as locks:
        with _stopped_after(WAIT_FOR_A_PLACE, waiting):
            try:
                locks.enter_context(slot(home_of() / "locks", "hook-review", MAX_AT_ONCE, waiting))
            except Stopped as error:
                if stops.asked:
                    raise
                raise BurnishError(
                    f"{MAX_AT_ONCE} other reviews by hooks were running for {WAIT_FOR_A_PLACE / 60:g} minutes.",
                    hint="Review it yourself: burnish review",
                ) from error
        locks.enter_context(_stopped_after(max(0.0, seconds - (time.monotonic() - began)), review))
        yield review


@contextmanager
def _stopped_after(seconds: float, stop: StopToken) -> Iterator[None]:
    timer = threading.Timer(seconds, stop.request)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

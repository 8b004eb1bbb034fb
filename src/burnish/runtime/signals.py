"""Handles Ctrl-C while agents run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from burnish.adapters.agents import StopTokens


@contextmanager
def stopping_on_signals(stops: StopTokens, tell: Callable[[str], None]) -> Iterator[None]:
    """The first signal stops running programs gently, the second one at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        again = stops.asked
        stops.request(now=again)
        if not again:
            tell("Stopping the agents; no work is lost. Press Ctrl-C again to stop at once.")

    signals = [signal.SIGINT, signal.SIGTERM]
    # nohup ignores SIGHUP on purpose; an ignored SIGINT is what a shell does to every background job
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signals.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

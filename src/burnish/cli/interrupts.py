"""Which signals end a command, also one that was started as a background job."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: ends what Ctrl-C ends, and also what only passes Ctrl-C on, such as a pager."""


def install_handlers() -> None:
    """SIGINT, SIGTERM and SIGHUP raise an exception, so that every `finally` runs and the exit code is 130.

    A shell without job control starts `command &` with SIGINT ignored, and Python then installs no handler: the
    command could not be interrupted at all. An ignored SIGHUP stays ignored: that is what `nohup` is for.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _terminate)


@contextmanager
def delayed_interrupts() -> Iterator[None]:
    """Handle signals that arrive meanwhile at the end: a process that is being started must not be forgotten."""
    late_signals: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    own = [number for number, handler in handlers.items() if callable(handler)]
    for number in own:
        signal.signal(number, lambda number, frame: late_signals.append(number))
    try:
        yield
    finally:
        for number in own:
            signal.signal(number, handlers[number])
    for late in dict.fromkeys(late_signals):
        signal.raise_signal(late)


def _terminate(number: int, frame: object) -> NoReturn:
    raise Terminated

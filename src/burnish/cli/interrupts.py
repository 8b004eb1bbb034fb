"""Which signals end a command, also one that was started as a background job."""

from __future__ import annotations

import signal
from typing import NoReturn


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


def _terminate(number: int, frame: object) -> NoReturn:
    raise Terminated

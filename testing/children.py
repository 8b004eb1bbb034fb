"""The processes that a test starts: interruptible, and ended with the test."""

from __future__ import annotations

import functools
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Child(Protocol):
    def poll(self) -> int | None: ...
    def kill(self) -> None: ...
    def wait(self, timeout: float | None = None) -> int: ...


_started: list[Child] = []


def make_children_interruptible() -> None:
    """Children inherit an ignored signal (`make test &` ignores SIGINT, `nohup` SIGHUP), but never a handler."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


def record_children() -> None:
    """Remember every process that is started through `subprocess` from now on.

    `with Popen(…)` waits at its end without a limit, also when the block failed: then the process is killed first.
    """
    start, leave = subprocess.Popen.__init__, subprocess.Popen.__exit__

    @functools.wraps(start)
    def start_and_record(process: subprocess.Popen[Any], *args: Any, **kwargs: Any) -> None:
        start(process, *args, **kwargs)
        _started.append(process)

    @functools.wraps(leave)
    def kill_and_leave(process: subprocess.Popen[Any], kind: type[BaseException] | None, *rest: Any) -> None:
        if kind is not None:
            process.kill()
        leave(process, kind, *rest)

    subprocess.Popen.__init__ = start_and_record  # type: ignore[method-assign]
    subprocess.Popen.__exit__ = kill_and_leave  # type: ignore[method-assign]


def record_child(process: Child) -> None:
    """Remember a process that was not started through `subprocess`."""
    _started.append(process)


def leave_running(process: subprocess.Popen[Any]) -> None:
    """It serves other tests, too, and ends with the process that started it."""
    if process in _started:
        _started.remove(process)


@contextmanager
def ending_children() -> Iterator[None]:
    """End the processes that were started inside the block and still run, also when a test failed half-way."""
    _started.clear()  # those of a fixture with a wider scope are not ours
    try:
        yield
    finally:
        running = [process for process in _started if process.poll() is None]
        for process in running:
            process.kill()
        for process in running:
            process.wait(10)
        _started.clear()

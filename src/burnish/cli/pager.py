"""Long texts go through the pager where a person looks, as with git: BURNISH_PAGER, PAGER, or less."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from burnish.cli.interrupts import Terminated
from burnish.cli.output import advise, is_plain
from burnish.cli.session import start_dir
from burnish.errors import BurnishError
from burnish.proc.own_programs import find_own_program, lies_in_untrusted_checkout, untrusted_argument

# Ends by itself if it fits on one screen, keeps colours, leaves the text on the screen.
LESS = "FRX"


class _Paged(io.TextIOWrapper):
    """Goes to a pipe and ends on a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def paged(*, wanted: bool = True) -> Iterator[None]:
    """What is printed inside goes through the pager, if there is one and someone to read it."""
    argv = program() if wanted and sys.stdout.isatty() else None
    process = _start(argv) if argv else None
    if process is None:
        yield
        return
    assert process.stdin is not None
    screen, sys.stdout = sys.stdout, _Paged(process.stdin, encoding=sys.stdout.encoding, errors="replace")
    try:
        yield
    except BrokenPipeError:
        pass  # read enough
    except Terminated:
        _end(process)
        raise
    finally:
        with suppress(BrokenPipeError):
            sys.stdout.close()
        sys.stdout = screen
        _wait(process)


def program() -> list[str] | None:
    """The words that start the pager; None where nothing is to be paged."""
    if is_plain() or os.environ.get("TERM") == "dumb":
        return None
    named = next((os.environ[name] for name in ("BURNISH_PAGER", "PAGER") if name in os.environ), "less")
    try:
        words = shlex.split(named)
    except ValueError:
        return None
    if not words or words == ["cat"]:
        return None
    if _untrusted_word(words):
        _examine_trust()
        if word := _untrusted_word(words):
            what = f"The pager {words[0]} was not started: {word} is in a checkout that is not trusted."
            advise("note: ", "yellow", f"{what} Trust the checkout with `burnish trust`, or set another pager.")
            return None
    found = find_own_program(words[0])
    return [found, *words[1:]] if found else None


def _untrusted_word(words: list[str]) -> str:
    if os.sep in words[0] and lies_in_untrusted_checkout(words[0]):
        return words[0]
    return untrusted_argument(words)


def _examine_trust() -> None:
    """Most commands that only read do not look at it, because that takes long."""
    from burnish.runtime.trust import settings_at

    with suppress(BurnishError):
        settings_at(start_dir())


def _start(argv: list[str]) -> subprocess.Popen[bytes] | None:
    sys.stdout.flush()
    try:
        return subprocess.Popen(argv, stdin=subprocess.PIPE, env={"LESS": LESS, "LESSCHARSET": "utf-8", **os.environ})
    except OSError:
        return None


def _wait(process: subprocess.Popen[bytes]) -> None:
    while True:
        try:
            process.wait()
            return
        except Terminated:
            _end(process)
            raise
        except KeyboardInterrupt:
            continue  # ^C in less stops a search; it is for less to say when it is over


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        process.kill()

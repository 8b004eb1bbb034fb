"""Send long output through a pager on a terminal: BURNISH_PAGER, PAGER, or less."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from burnish.cli.interrupts import Terminated, delayed_interrupts
from burnish.cli.output import advise, is_plain
from burnish.cli.session import start_dir
from burnish.errors import BurnishError
from burnish.proc.own_programs import find_own_program, lies_in_untrusted_checkout, untrusted_argument

# Ends by itself if it fits on one screen, keeps colours, leaves the text on the screen.
LESS = "FRX"


class _Paged(io.TextIOWrapper):
    """A pipe to the pager, which counts as a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def paged(*, enabled: bool = True) -> Iterator[None]:
    """Send stdout through the pager, if stdout is a terminal and a pager is found."""
    argv = program() if enabled and sys.stdout.isatty() else None
    if argv is None:
        yield
        return
    process = None
    try:
        with delayed_interrupts():
            process = _start(argv)
        with _output_to(process) if process else nullcontext():
            yield
    except KeyboardInterrupt:
        if process:
            _end(process)  # it may have arrived while the pager was started or the output was closed
        raise


@contextmanager
def _output_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Send stdout to the pager, and wait until the user leaves it."""
    assert process.stdin is not None
    screen, paged_output = sys.stdout, _Paged(process.stdin, encoding=sys.stdout.encoding, errors="replace")
    sys.stdout = paged_output
    try:
        yield
    except BrokenPipeError:
        pass  # read enough
    except Terminated:
        _end(process)
        raise
    finally:
        sys.stdout = screen
        with suppress(BrokenPipeError):
            paged_output.close()
        _wait(process)


def program() -> list[str] | None:
    """The command of the pager; None if there is none."""
    if is_plain() or os.environ.get("TERM") == "dumb":
        return None
    command = next((os.environ[name] for name in ("BURNISH_PAGER", "PAGER") if name in os.environ), "less")
    try:
        words = shlex.split(command)
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
    """Examine whether the checkout is trusted: reading commands skip this because it is slow."""
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
            raise
        except KeyboardInterrupt:
            continue  # Ctrl-C stops a search in less; less decides when to exit


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        process.kill()

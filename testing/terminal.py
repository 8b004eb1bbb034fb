"""A terminal with a program on it: what it shows is read, keys are pressed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from testing.lab import Lab

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]")


@dataclass
class Terminal:
    process: subprocess.Popen[bytes]
    master: int
    # the device that the program has
    device: str
    shown: str = ""
    # how much of `shown` has been waited for
    read: int = 0

    def expect(self, words: str, seconds: float = 60) -> str:
        """Wait until the words stand on the screen, after what was waited for before; what was shown up to them."""
        end = time.monotonic() + seconds
        while words not in self.shown[self.read :]:
            assert time.monotonic() < end, f"{words!r} did not come; shown: {self.plain[-2000:]}"
            assert self._more(0.2) or self.process.poll() is None, f"it ended without {words!r}: {self.plain[-2000:]}"
        start, self.read = self.read, self.shown.index(words, self.read) + len(words)
        return self.shown[start : self.read]

    def send(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def answer(self, keys: str, *, after: str = "> ") -> None:
        """Press keys at a prompt; a moment later, as a person does who reads it first."""
        self.expect(after)
        time.sleep(0.15)
        self.send(keys)

    def ended(self, seconds: float = 60) -> int:
        """Its exit code; everything shown until then is in `shown`."""
        end = time.monotonic() + seconds
        while self._more(0.2) or self.process.poll() is None:
            assert time.monotonic() < end, f"it does not end; shown: {self.plain[-2000:]}"
        return self.process.wait()

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def plain(self) -> str:
        """What a person reads: without colours and cursor moves."""
        return ESCAPES.sub("", self.shown).replace("\r\n", "\n").replace("\r", "\n")

    def _more(self, seconds: float) -> bool:
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # Linux says so when the last writer is gone
            data = b""
        self.shown += data.decode("utf-8", "replace")
        return bool(data)


@contextlib.contextmanager
def terminal(
    lab: Lab, *argv: str, columns: int = 100, lines: int = 40, env: Mapping[str, str] | None = None
) -> Iterator[Terminal]:
    """burnish on a terminal of its own, which it controls: Ctrl-C reaches it."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "BURNISH_PLAIN", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-m", "burnish.cli", "-C", str(lab.repo.path), *argv],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**plain, **lab.env, "TERM": "xterm-256color", **(env or {})},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    device = os.ttyname(slave)
    os.close(slave)
    try:
        yield Terminal(process, master, device)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(master)

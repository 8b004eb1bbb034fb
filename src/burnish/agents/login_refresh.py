"""An access token that would expire during a call: renewed beforehand by its own program, outside the sandbox."""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from burnish.agents.base import Login
from burnish.agents.credentials import expiry, parsed
from burnish.proc.slots import slot
from burnish.proc.stop import StopToken

# The program asks one server for a new token.
_MAX_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class LoginCheck:
    """The login of one agent before a call."""

    name: str
    login: Login
    home: Path
    # the environment of the program, outside the sandbox
    env: Mapping[str, str]
    clock: Callable[[], float] = time.time

    def token_files(self) -> list[Path]:
        """Those that exist and have a time of expiry."""
        files = (self.login.located(file.path, self.home, self.env) for file in self.login.token_files if file.expires)
        return [file for file in files if file.is_file()]

    def expires_at(self) -> float | None:
        """The earliest expiry of its access tokens; None if there is none, or if a key is used instead."""
        if self.login.has_key(self.env):
            return None
        times = []
        for file in self.login.token_files:
            with suppress(OSError):
                data = self.login.located(file.path, self.home, self.env).read_bytes()
                times.append(expiry(parsed(data), file.expires))
        return min((found for found in times if found), default=None)

    def lasts(self, seconds: float) -> bool:
        expires = self.expires_at()
        return expires is None or expires > self.clock() + seconds

    def renew(self, program: str, seconds: float, *, folder: Path, stop: StopToken | None = None) -> None:
        """Have the program renew a token that would not last; one call at a time for each login.

        `folder`: for locks, and the working directory. Never a repository, whose settings the program would read.
        """
        if self.lasts(seconds) or not self.login.refresh:
            return
        with slot(folder, f"refresh-{self._key()}", 1, stop):
            # another call may have renewed it meanwhile
            if not self.lasts(seconds):
                self._start(program, folder)

    def _key(self) -> str:
        names = "\0".join(str(file.resolve()) for file in self.token_files())
        return hashlib.sha256(os.fsencode(names)).hexdigest()[:16]

    def _start(self, program: str, folder: Path) -> None:
        until = time.monotonic() + _MAX_SECONDS
        with suppress(OSError), _started((program, *self.login.refresh), folder, self.env) as process:
            assert process.stdin and process.stdout
            process.stdin.write(self.login.refresh_input.encode())
            process.stdin.flush()
            if not self.login.refresh_until:
                process.stdin.close()
            _read_until(process, self.login.refresh_until.encode(), until)

    def warnings(self, seconds: float) -> list[str]:
        """What a person should know before a call in the sandbox."""
        unknown = [not_copied_warning(self.name, file, self.login.advice) for file in self._unreadable()]
        return [*unknown, *filter(None, [self.warning(seconds)])]

    def _unreadable(self) -> Iterator[Path]:
        for file in self.login.token_files:
            place = self.login.located(file.path, self.home, self.env)
            with suppress(OSError):
                if parsed(place.read_bytes()) is None and not self.login.has_key(self.env):
                    yield place

    def warning(self, seconds: float) -> str:
        """That the token expires before the call need be over; empty if it lasts."""
        expires = self.expires_at()
        if expires is None or self.lasts(seconds):
            return ""
        if expires <= self.clock():
            return f"{self.name}'s login expired at {_hour(expires)}. Log in again. {self.login.advice}".strip()
        limit = f"{seconds / 60:g} minutes" if seconds >= 120 else f"{seconds:g} seconds"
        what = f"{self.name}'s login expires at {_hour(expires)}, and the call may take {limit}."
        return f"{what} For a login that lasts: {self.login.advice}" if self.login.advice else what


def not_copied_warning(name: str, file: Path, advice: str) -> str:
    return (
        f"{name}: {file} is not JSON, so its refresh token cannot be removed and it is not copied into the "
        f"sandbox. {advice}"
    )


@contextmanager
def _started(argv: tuple[str, ...], folder: Path, env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        argv, cwd=folder, env=dict(env), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                assert stream
                stream.close()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()


def _read_until(process: subprocess.Popen[bytes], mark: bytes, until: float) -> None:
    """Read its output to the end, to the mark, or until the time is over."""
    assert process.stdout
    output = b""
    while (seconds := until - time.monotonic()) > 0:
        if not select.select([process.stdout], [], [], seconds)[0]:
            return
        data = os.read(process.stdout.fileno(), 65536)
        output = (output + data)[-100_000:]
        if not data or (mark and mark in output):
            return


def _hour(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().strftime("%H:%M")

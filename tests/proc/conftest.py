"""Real processes, marked so that each can be found again."""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from burnish.proc.run import Command


@dataclass(frozen=True)
class Bench:
    """A call directory, and a mark in the environment of everything that is started in it."""

    root: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def call_dir(self) -> Path:
        return self.root / "call"

    def python(self, code: str, **changes: object) -> Command:
        """A small program in Python."""
        command = Command(
            argv=(sys.executable, "-I", "-S", "-c", code),
            cwd=self.root,
            env={"PATH": os.environ["PATH"], "MARK": self.mark},
            call_dir=self.call_dir,
            timeout_seconds=30,
        )
        return replace(command, **changes)  # type: ignore[arg-type]

    def alive(self) -> list[int]:
        """Everything with our mark that still lives (the dead have no environment)."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    environ = (entry / "environ").read_bytes()
                except OSError:
                    continue
                if self.mark.encode() in environ:
                    found.append(int(entry.name))
        return found

    def wait_until_ready(self) -> None:
        wait_for(lambda: b"ready" in self.stdout())

    def wait_until_gone(self) -> None:
        wait_for(lambda: not self.alive())

    def stdout(self) -> bytes:
        path = self.call_dir / "stdout"
        return path.read_bytes() if path.exists() else b""


def wait_for(truth: object, *, seconds: float = 30.0) -> float:
    """How long it took to become true."""
    started = time.monotonic()
    while not truth():  # type: ignore[operator]
        assert time.monotonic() - started < seconds, "it never came true"
        time.sleep(0.01)
    return time.monotonic() - started


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    bench.call_dir.mkdir()
    yield bench
    for pid in bench.alive():
        os.kill(pid, 9)

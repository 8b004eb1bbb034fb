"""Where a real program is tried: a scratch home, a scratch repository, and a model on loopback."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import psutil

from burnish.agents.base import AgentSettings
from burnish.agents.runner import AgentRunner, RetryPolicy
from burnish.core.agent import AgentReply, AgentRequest
from burnish.errors import PhaseFailed
from burnish.proc.run import StopToken
from burnish.proc.sandbox import Sandbox, available
from testing.model_server import ModelServer
from testing.model_turns import Answer, Brain, Cut, Hang, Move, Refuse, Say, Turn
from testing.userrepo import UserRepo
from tools.agent_programs import KEY, Program

# For calls that end by themselves: long, as the machine may be busy.
PATIENT = 300.0


class Lacks(Exception):
    """The program has no such thing, or it cannot be had here."""


@dataclass
class Bench:
    """One program, one scratch home, one scratch repository, one model."""

    program: Program
    root: Path
    server: ModelServer
    repo: UserRepo
    key: str = KEY
    # bubblewrap around every call
    confined: bool = False
    # the key and the server's address are in files of the home, not in the environment
    keyless: bool = False

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def env(self) -> dict[str, str]:
        path = f"{self.program.bin}{os.pathsep}{os.environ['PATH']}"
        variables = {"HOME": str(self.home), "PATH": path, "TMPDIR": str(self.root / "tmp")}
        key = {} if self.keyless else {self.program.key: self.key, **self.program.env(self.server.url)}
        return variables | key

    def call(
        self,
        *,
        seconds: float = PATIENT,
        stop: StopToken | None = None,
        entry: AgentSettings | None = None,
        **changes: Any,
    ) -> AgentReply:
        """As burnish itself calls it; once, so that a failure is seen and not waited for."""
        # where burnish keeps them: hidden from the program but for its own
        calls = self.home / "burnish" / "calls"
        calls.mkdir(parents=True, exist_ok=True)
        call_dir = Path(tempfile.mkdtemp(dir=calls))
        changes.setdefault("read_only", self.program.only_reviews)
        role = "review" if changes["read_only"] else "implement"
        values: dict[str, Any] = {"role": role, "phase": role, "prompt": "Do it.", "task": 1, "cycle": 1}
        values |= {"agent": "it", "model": self.program.model, "cwd": self.repo.path, "timeout_seconds": seconds}
        settings = {"it": entry or AgentSettings(name="it", kind=self.program.name)}
        # the workspace is not the person's checkout, which must not be written
        checkout = self.root / "checkout" if self.confined else self.repo.path
        with mock.patch.dict(os.environ, self.env):
            runner = AgentRunner(
                settings,
                checkout=checkout,
                lock_dir=self.root / "locks",
                stop=stop,
                retry=RetryPolicy(attempts=1),
                sandbox=Sandbox(self.home, checkout, self.home / "burnish") if self.confined else None,
            )
            return runner.call(AgentRequest(call_dir=call_dir, **{**values, **changes}))

    def failure(self, **changes: Any) -> PhaseFailed:
        try:
            reply = self.call(**changes)
        except PhaseFailed as failure:
            return failure
        raise AssertionError(f"it said: {reply.text[:200]!r}")

    def by_hand(self) -> None:
        """As a person would start it, without any of our care."""
        env = {**os.environ, **self.env, **self.program.control_env}
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.alone(self.program.control, "Do it.", env)

    def alone(self, argv: tuple[str, ...], prompt: str, env: dict[str, str]) -> tuple[int, str]:
        """A program without burnish around it. Into a file: what it leaves behind may hold a pipe for ever."""
        with tempfile.TemporaryFile(dir=self.root) as said:
            done = subprocess.run(
                argv,
                cwd=self.repo.path,
                # as a shell sets it: opencode works there, and not in its working directory
                env={**env, "PWD": str(self.repo.path)},
                input=prompt.encode(),
                stdout=said,
                stderr=said,
                timeout=PATIENT,
                check=False,
            )
            said.seek(0)
            return done.returncode, said.read().decode(errors="replace")

    def fingerprint(self) -> str:
        return self.repo.fingerprint()

    def left(self) -> list[str]:
        """Processes that still live from this bench's home."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("HOME") == str(self.home):
                    found.append(f"{process.pid} {process.name()}")
            except psutil.Error:
                continue
        return found


@contextmanager
def bench(program: Program, brain: Brain, *, generous: bool = False, confined: bool = False) -> Iterator[Bench]:
    if confined and (why := available()):
        raise Lacks(why)
    # not in the temporary folder: codex wants its home elsewhere
    places = program.folder.parent / "runs"
    places.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=places, ignore_cleanup_errors=True) as name, ModelServer(brain) as server:
        root = Path(name)
        for folder in ("home", "checkout", "locks", "tmp"):
            (root / folder).mkdir()
        files = program.home(server.url) | (program.generous(server.url) if generous else {})
        for path, text in files.items():
            (root / "home" / path).parent.mkdir(parents=True, exist_ok=True)
            (root / "home" / path).write_text(text)
        place = root / "home" / "burnish" / "work" if confined else root / "repo"
        place.parent.mkdir(parents=True, exist_ok=True)
        yield Bench(program, root, server, UserRepo.make(place), confined=confined)


def script(*moves: Move) -> Brain:
    """One move per turn; the last is repeated. Requests without tools come from the program itself: titles and such."""

    def brain(turn: Turn) -> Move:
        if not moves:
            return Say("ok")
        if not turn.tools and not isinstance(moves[0], Refuse | Hang | Cut):
            return next((move for move in moves if isinstance(move, Say | Answer)), Say("ok"))
        return moves[min(turn.number, len(moves) - 1)]

    return brain

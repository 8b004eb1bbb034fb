"""Does each agent answer? One word is asked of each, in an empty folder: login, network and model in one."""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from burnish import config as settings
from burnish.agents.runner import Retry, Runner
from burnish.core.agent import AgentRequest
from burnish.errors import BadInput, BurnishError, PhaseFailed
from burnish.git.project import discover
from burnish.proc.capture import capture
from burnish.proc.text import clean_text
from burnish.wiring.roster import Installed, agent_settings, on_this_machine
from burnish.wiring.signs import Group, Sign

PROBE = Group("answers")
SECONDS = 90.0
QUESTION = "This is a test of the connection. Use no tools. Answer with the one word: ready\n"


def probe_signs(start: Path) -> list[Sign]:
    """Side by side: each is asked once, read-only, and waits for nobody."""
    found = [agent for agent in on_this_machine() if agent.known]
    entries = agent_settings(settings.load(_root(start)))
    with tempfile.TemporaryDirectory(prefix="burnish-probe-") as folder:
        place = Path(folder).resolve()
        runner = Runner(entries, checkout=place, lock_dir=place / "locks", retry=Retry(attempts=1))
        with ThreadPoolExecutor(max(1, len(found))) as threads:
            return list(threads.map(lambda agent: _asked(runner, agent, place), found))


def _root(start: Path) -> Path | None:
    try:
        return discover(start).root
    except BadInput:
        return None


def _asked(runner: Runner, agent: Installed, place: Path) -> Sign:
    version = _version(agent, place)
    begun = time.monotonic()
    try:
        reply = runner.call(_request(agent.kind, place))
    except PhaseFailed as failure:
        return PROBE.weak(agent.kind, f"{version}: {failure.what}", failure.hint or "Run it once by hand.")
    word = " ".join(reply.text.split())[:40]
    return PROBE.ok(agent.kind, f"{version}: said {word!r} in {time.monotonic() - begun:.1f} s")


def _request(kind: str, place: Path) -> AgentRequest:
    for name in ("here", "calls"):
        (place / kind / name).mkdir(parents=True, mode=0o700)
    return AgentRequest(
        agent=kind,
        role="review",
        prompt=QUESTION,
        cwd=place / kind / "here",
        call_dir=place / kind / "calls",
        task=0,
        cycle=1,
        phase="probe",
        timeout_seconds=SECONDS,
        read_only=True,
    )


def _version(agent: Installed, place: Path) -> str:
    try:
        said = capture([agent.path, "--version"], cwd=place, env=os.environ, timeout=30).stdout
    except BurnishError as problem:
        return problem.what.rstrip(".")
    lines = clean_text(said.decode(errors="replace")).split("\n")
    return next((line.strip()[:60] for line in lines if line.strip()), "version unknown")

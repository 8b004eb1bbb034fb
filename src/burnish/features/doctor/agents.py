"""Agents that the settings name: how each is set up, and whether it answers."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from burnish.adapters.agents import TaskAgents
from burnish.adapters.configured_agents import agent_settings, installed_agents
from burnish.adapters.redaction import secrets_from_environment
from burnish.adapters.sandbox import SandboxPolicy, resolve_sandbox_policy
from burnish.agents.base import AgentSettings
from burnish.agents.failure import without_name
from burnish.agents.llm import lacking
from burnish.agents.program import located
from burnish.agents.registry import AGENTS
from burnish.agents.runner import AgentRunner, RetryPolicy
from burnish.config.kinds import CLI_KINDS, NO_REVIEWERS
from burnish.config.settings import Config
from burnish.core.agent import AgentRequest
from burnish.errors import BurnishError, PhaseFailed
from burnish.features.doctor.diagnostic import Diagnostic, DiagnosticGroup, clean_signs
from burnish.proc.capture import capture
from burnish.proc.environment import listed_environment
from burnish.proc.own_programs import lies_in_checkout
from burnish.proc.run import ProgramMissing
from burnish.proc.text import clean_text
from burnish.runtime.reader import home_of
from burnish.runtime.trust import settings_at

AGENTS_GROUP = DiagnosticGroup("agents")
# of a command, what is shown of it
MAX_LENGTH = 60


@dataclass(frozen=True, slots=True)
class ConfiguredAgent:
    """One agent, with one of the models that it is asked for."""

    entry: AgentSettings
    model: str | None

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def words(self) -> str:
        """What it is, for people."""
        start = " ".join(self.entry.argv) or self.entry.script or ""
        start = start if len(start) <= MAX_LENGTH else f"{start[: MAX_LENGTH - 1]}…"
        return " ".join(word for word in (self.entry.kind, start, self.model or "") if word)


def configured(config: Config, checkout: Path) -> list[ConfiguredAgent]:
    """Every one that is described or used, with each model that somebody wants of it; paths taken from the checkout."""
    entries = agent_settings(config)
    models_by_name: dict[str, list[str | None]] = {name: [entry.model] for name, entry in config.agents.items()}
    for name, model in _used(config):
        if name in entries:
            models_by_name.setdefault(name, []).append(model or entries[name].model)
    found = []
    for name, models in models_by_name.items():
        entry = entries[name].placed(checkout)
        if entry.kind == "static" or (entry.kind in CLI_KINDS and name == entry.kind):
            continue  # reported with the programs of this machine
        with_models = [ConfiguredAgent(entry, model) for model in dict.fromkeys(models) if model]
        found += with_models or [ConfiguredAgent(entry, None)]
    return found


def _used(config: Config) -> Iterator[tuple[str, str | None]]:
    yield config.agent, None
    for role in config.roles.values():
        if role.agent:
            yield role.agent, role.model
    for reviewer in (*config.review.agents, *(one for step in config.pipeline for one in step.agents)):
        yield reviewer.agent, reviewer.model or config.review.model


def configured_signs(start: Path, env: Mapping[str, str] = os.environ) -> list[Diagnostic]:
    """Whether each could be started, as far as is known without starting it."""
    try:
        root, config = settings_at(start)
    except BurnishError:
        return []  # reported with the settings
    return [_sign(one, env) for one in configured(config, root or start)]


def _sign(one: ConfiguredAgent, env: Mapping[str, str]) -> Diagnostic:
    for what, remedy in (*lacks(one, env), *_unset(one.entry, env)):
        return AGENTS_GROUP.weak(one.name, f"{one.words}: {what}", remedy)
    if not AGENTS[one.entry.kind].verified:
        what = "unverified, never tried against the real program"
        return AGENTS_GROUP.weak(one.name, f"{one.words}: {what}", "Try it on a small task first.")
    return AGENTS_GROUP.ok(one.name, one.words)


def lacks(one: ConfiguredAgent, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What keeps it from being started at all, each with the remedy."""
    entry = one.entry
    match entry.kind:
        case "llm":
            if found := lacking(one.model, env):
                yield found
        case "scripted":
            if not entry.script or not Path(entry.script).is_file():
                yield "its script is not there", f"Set `agents.{entry.name}.script` to a file that exists."
        case "acp" if find_spec("acp") is None:
            yield "agent-client-protocol is not installed", "pip install 'burnish[acp]'"
    if entry.kind not in ("llm", "scripted"):
        yield from _no_program(entry)


def _unset(entry: AgentSettings, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    unset = [name for name in entry.env if name not in env]
    if unset:
        yield (
            f"{', '.join(unset)} is not set here",
            f"Set it where burnish is started, or take it from `agents.{entry.name}.env`.",
        )


def _no_program(entry: AgentSettings) -> Iterator[tuple[str, str]]:
    try:
        path = located(entry.argv or (AGENTS[entry.kind].program,))
    except ProgramMissing as missing:
        yield missing.what.rstrip("."), missing.hint
        return
    if not os.access(path, os.X_OK):
        yield (
            f"{path} is not a program that can be started",
            f"Correct `agents.{entry.name}.argv`, or make it executable.",
        )


# -- probe ----------------------------------------------------------------------------------------
# Does each agent answer? One word is asked of each, in an empty folder: login, network and model in one.

PROBE = DiagnosticGroup("answers")
SECONDS = 90.0
QUESTION = "This is a test of the connection. Use no tools. Answer with the one word: ready\n"
_SEE_LOG = "Everything it printed: `burnish log`."


@dataclass(frozen=True, slots=True)
class _ProbeContext:
    """Where agents are asked, and what they are shut into: the same as in a phase."""

    place: Path
    agents: TaskAgents
    sandbox_policy: SandboxPolicy


def probe_signs(start: Path) -> list[Diagnostic]:
    """Ask each agent once, read-only and in parallel."""
    root, config = settings_at(start)
    with tempfile.TemporaryDirectory(prefix="burnish-probe-") as folder:
        place = Path(folder).resolve()
        found = _asked_ones(config, root or place)
        ground = _ground(config, found, root or place, place)
        with ThreadPoolExecutor(max(1, len(found))) as threads:
            signs = list(threads.map(lambda pair: _asked(ground, pair[1], str(pair[0])), enumerate(found)))
    return clean_signs(ground.agents.secrets, signs)


def _asked_ones(config: Config, checkout: Path) -> list[ConfiguredAgent]:
    """The programs of this machine, then the agents in the settings, without scripted ones."""
    entries = agent_settings(config)
    programs = [ConfiguredAgent(entries[one.kind], entries[one.kind].model) for one in installed_agents()]
    return [*programs, *(one for one in configured(config, checkout) if one.entry.kind != "scripted")]


def _ground(config: Config, found: Sequence[ConfiguredAgent], checkout: Path, place: Path) -> _ProbeContext:
    # alone: another agent's answer would say nothing of this one
    entries = {one.name: replace(one.entry, fallback=None) for one in found}
    sandbox_policy = resolve_sandbox_policy(config, checkout=checkout, burnish_home=home_of())
    runner = AgentRunner(
        entries,
        checkout=checkout,
        lock_dir=place / "locks",
        retry=RetryPolicy(attempts=1),
        sandbox=sandbox_policy.sandbox,
        redact=secrets_from_environment().redact,
    )
    return _ProbeContext(place, TaskAgents(runner, None, confinement=sandbox_policy), sandbox_policy)


def _asked(ground: _ProbeContext, one: ConfiguredAgent, label: str) -> Diagnostic:
    for what, remedy in lacks(one, os.environ):
        return PROBE.weak(one.name, f"{one.words}: not asked: {what}", remedy)
    begun, who = time.monotonic(), one.words
    try:
        if one.entry.kind in CLI_KINDS:
            who = _version(ground, one.entry)
        for name in ("here", "calls"):
            (ground.place / label / name).mkdir(parents=True, mode=0o700)
        reply = ground.agents.call(_request(one, ground.place / label))
    except PhaseFailed as failure:
        hint = failure.hint.replace(_SEE_LOG, "").strip()
        # also if the hint is about the sandbox
        by_hand = [_by_hand(one)] if not hint or one.entry.kind in ("command", "acp") else []
        return PROBE.weak(
            one.name, f"{who}: {without_name(one.name, failure.what)}", ". ".join([*by_hand, *filter(None, [hint])])
        )
    word = " ".join(reply.text.split())[:40]
    return PROBE.ok(one.name, f"{who}: answered {word!r} in {time.monotonic() - begun:.1f} s")


def _by_hand(one: ConfiguredAgent) -> str:
    match one.entry.kind:
        case "llm":
            return "Is the model's name right, and its address reached from here? See docs/llm.md."
        case "command" | "acp":
            return f"Run it once by hand: {' '.join(one.entry.argv)}"
        case _:
            return "Run it once by hand."


def _request(one: ConfiguredAgent, place: Path) -> AgentRequest:
    reviews = one.entry.kind not in NO_REVIEWERS
    return AgentRequest(
        agent=one.name,
        # a command need not say anything where it is asked to work
        role="implement" if one.entry.kind == "command" or not reviews else "review",
        prompt=QUESTION,
        cwd=place / "here",
        call_dir=place / "calls",
        task=0,
        cycle=1,
        phase="probe",
        model=one.model,
        timeout_seconds=SECONDS,
        read_only=reviews,
    )


def _version(ground: _ProbeContext, entry: AgentSettings) -> str:
    """What the program says of itself."""
    try:
        return _version_line(ground, entry, VERSION_SECONDS) or "version unknown"
    except BurnishError as problem:
        return problem.what.rstrip(".")


# -- versions -------------------------------------------------------------------------------------
# `PROGRAM --version`: in an empty folder and in the sandbox, like everything else that is started.

# A loaded machine: opencode needs five seconds on an idle one.
VERSION_SECONDS = 30.0


def program_versions(start: Path) -> dict[str, str]:
    """The version number of each agent program on PATH, by kind; "" where none is printed.

    A program of a checkout is not asked, also if the checkout is trusted: `doctor` only looks.
    """
    try:
        root, config = settings_at(start)
    except BurnishError:
        root, config = None, Config()  # reported with the settings
    kinds = [one.kind for one in installed_agents()]
    if not kinds:
        return {}
    entries = agent_settings(config)
    with tempfile.TemporaryDirectory(prefix="burnish-version-") as folder:
        place = Path(folder).resolve()
        ground = _ground(config, [ConfiguredAgent(entries[kind], None) for kind in kinds], root or place, place)
        with ThreadPoolExecutor(len(kinds)) as threads:
            versions = threads.map(lambda kind: _version_number(ground, entries[kind]), kinds)
            return dict(zip(kinds, versions, strict=True))


def _version_number(ground: _ProbeContext, entry: AgentSettings) -> str:
    try:
        if lies_in_checkout(located((AGENTS[entry.kind].program,))):
            return ""
        line = _version_line(ground, entry, VERSION_SECONDS)
    except BurnishError:
        return ""
    number = re.search(r"\d{1,9}(?:\.\d{1,9})+", line)
    return number[0] if number else ""


def _version_line(ground: _ProbeContext, entry: AgentSettings, seconds: float) -> str:
    """The first line with a number in it, or else the first line."""
    adapter = AGENTS[entry.kind]
    argv: tuple[str, ...] = (located((adapter.program,)), "--version")
    # with the variables of a call, which switch off updates and reports
    quiet = adapter.call(
        _request(ConfiguredAgent(entry, None), ground.place), AgentSettings(entry.kind, entry.kind)
    ).env
    env = {**listed_environment(os.environ, extra=(*adapter.keys, *entry.env)), **quiet}
    if sandbox := ground.sandbox_policy.require():
        argv = sandbox.around(argv, env=env, writable=())
    output = capture(argv, cwd=ground.place, env=env, timeout=seconds).stdout
    lines = [line.strip()[:60] for line in clean_text(output.decode(errors="replace")).split("\n") if line.strip()]
    return next((line for line in lines if re.search(r"\d\.\d", line)), lines[0] if lines else "")

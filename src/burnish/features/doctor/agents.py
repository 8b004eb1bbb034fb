"""Agents that the settings name, beside the programs that are found by theirs: models, commands, protocols, scripts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from burnish.adapters.configured_agents import agent_settings
from burnish.agents.base import AgentSettings
from burnish.agents.llm import lacking
from burnish.agents.program import located
from burnish.agents.registry import AGENTS
from burnish.config.kinds import CLI_KINDS
from burnish.config.settings import Config
from burnish.errors import BurnishError
from burnish.features.doctor.diagnostic import Diagnostic, DiagnosticGroup
from burnish.proc.run import ProgramMissing
from burnish.runtime.trust import settings_at

AGENTS_GROUP = DiagnosticGroup("agents")
# of a command, what is shown of it
LONGEST = 60


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
        start = start if len(start) <= LONGEST else f"{start[: LONGEST - 1]}…"
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

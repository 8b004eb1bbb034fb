"""The available agents: those of the settings, and those installed on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from burnish.agents.base import AgentSettings
from burnish.agents.registry import AGENTS
from burnish.config.kinds import CLI_KINDS, ROLES
from burnish.config.policy import effort_of
from burnish.config.settings import Config
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.proc.own_programs import find_agent_program


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent program of this machine."""

    kind: str
    path: str
    # True if its adapter was tested with the real program.
    verified: bool


def agent_settings(config: Config) -> dict[str, AgentSettings]:
    """All agents by name; entries of the settings override the defaults."""
    agents = {name: AgentSettings(name=name, kind=name, efforts=_efforts(config, name)) for name in AGENTS}
    for name, entry in config.agents.items():
        agents[name] = AgentSettings(
            name=name,
            kind=entry.kind,
            argv=tuple(entry.argv),
            env=tuple(entry.env),
            model=entry.model,
            max_parallel=entry.max_parallel,
            fallback=entry.fallback,
            reads_files=entry.reads_files is not False,
            resume=entry.resume,
            budget_usd=entry.budget_usd,
            script=entry.script,
            login=tuple(entry.login),
            efforts=_efforts(config, name),
        )
    return agents


def _efforts(config: Config, agent: str) -> dict[str, str]:
    return {role: effort for role in ROLES if (effort := effort_of(config, agent, role))}


def can_start(config: Config, agent: str) -> bool:
    """True if it has an adapter and its program is installed."""
    entry = agent_settings(config).get(agent)
    if entry is None or entry.kind not in AGENTS:
        return False
    program = entry.argv[0] if entry.argv else AGENTS[entry.kind].program
    return not program or "/" in program or find_agent_program(program) is not None


def missing_agent(config: Config, name: str) -> PhaseFailed | None:
    """Why neither an agent nor its fallbacks can be started here; None if one can."""
    if not name:
        programs = ", ".join(AGENTS[kind].program for kind in CLI_KINDS)
        message = f"No agent program was found on PATH: looked for {programs}."
        hint = "Install one of them, or describe a command under `agents:` in burnish.yaml and name it as `agent:`."
        return PhaseFailed(ErrorCode.AGENT_MISSING, message, hint=hint)
    agents = agent_settings(config)
    names: list[str] = []
    while name and name not in names:
        entry = agents.get(name)
        if can_start(config, name) or (entry.kind if entry else name) == "static":
            return None
        names.append(name)
        name = (entry.fallback or "") if entry else ""
    first = agents.get(names[0])
    if first is None or first.kind not in AGENTS:
        return None  # the runner reports the error in the settings
    program = first.argv[0] if first.argv else AGENTS[first.kind].program or names[0]
    message = f"The program of agent {names[0]} was not found on PATH: {program}."
    return PhaseFailed(ErrorCode.AGENT_MISSING, message, hint=f"Install {program}, or use another agent.")


def installed_agents() -> list[InstalledAgent]:
    """The agent programs on PATH, in the order of `agent: auto`."""
    found = []
    for kind in CLI_KINDS:
        if path := find_agent_program(AGENTS[kind].program):
            found.append(InstalledAgent(kind, path, AGENTS[kind].verified))
    return found

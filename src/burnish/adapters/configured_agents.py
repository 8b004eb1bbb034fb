"""Which agents there are: those of the settings, and those that this machine has."""

from __future__ import annotations

from dataclasses import dataclass

from burnish.agents.base import AgentSettings
from burnish.agents.registry import AGENTS
from burnish.config.kinds import CLI_KINDS
from burnish.config.settings import Config
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.proc.own_programs import find_agent_program

# Where the program is not called as the agent is.
PROGRAMS = {"cursor": "cursor-agent"}


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent program of this machine."""

    kind: str
    path: str
    # can this burnish start it?
    known: bool
    # was its adapter tried against the real program?
    verified: bool


def agent_settings(config: Config) -> dict[str, AgentSettings]:
    """Every agent that can be named, the settings' own entries over the plain ones."""
    known = {name: AgentSettings(name=name, kind=name) for name in AGENTS}
    for name, entry in config.agents.items():
        known[name] = AgentSettings(
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
        )
    return known


def can_start(config: Config, agent: str) -> bool:
    """Is there an adapter for it, and its program?"""
    entry = agent_settings(config).get(agent)
    if entry is None or entry.kind not in AGENTS:
        return False
    program = entry.argv[0] if entry.argv else getattr(AGENTS[entry.kind], "program", "")
    return not program or "/" in program or find_agent_program(program) is not None


def missing_agent(config: Config, name: str) -> PhaseFailed | None:
    """Why an agent and those that take its place cannot be started here; None if one can."""
    if not name:
        looked = ", ".join(getattr(AGENTS.get(kind), "program", "") or PROGRAMS.get(kind, kind) for kind in CLI_KINDS)
        what = f"No agent program was found on PATH: looked for {looked}."
        hint = "Install one of them, or describe a command under `agents:` in burnish.yaml and name it as `agent:`."
        return PhaseFailed(ErrorCode.AGENT_MISSING, what, hint=hint)
    known = agent_settings(config)
    tried: list[str] = []
    while name and name not in tried:
        entry = known.get(name)
        if can_start(config, name) or (entry.kind if entry else name) == "static":
            return None
        tried.append(name)
        name = (entry.fallback or "") if entry else ""
    first = known.get(tried[0])
    if first is None or first.kind not in AGENTS:
        return None  # the runner says what is wrong with the settings
    program = first.argv[0] if first.argv else getattr(AGENTS[first.kind], "program", tried[0])
    what = f"The program of agent {tried[0]} was not found on PATH: {program}."
    return PhaseFailed(ErrorCode.AGENT_MISSING, what, hint=f"Install {program}, or name another agent.")


def on_this_machine() -> list[InstalledAgent]:
    """The agent programs on PATH, in the order in which `agent: auto` takes them."""
    found = []
    for kind in CLI_KINDS:
        adapter = AGENTS.get(kind)
        path = find_agent_program(getattr(adapter, "program", "") or PROGRAMS.get(kind, kind))
        if path:
            found.append(InstalledAgent(kind, path, adapter is not None, adapter is not None and adapter.verified))
    return found

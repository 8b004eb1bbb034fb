"""Whether a budget can be counted for an agent, as far as that is known before it is started."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from burnish.agents.base import REPORTS_TOKENS, Agent, AgentSettings, KnowsModel
from burnish.agents.prices import cost
from burnish.agents.registry import AGENTS


def uncounted_usd(
    entry: AgentSettings,
    model: str | None,
    env: Mapping[str, str],
    agents: Mapping[str, Agent] = AGENTS,
    *,
    is_author: bool = False,
) -> str:
    """Why USD cannot be counted for this agent, or not all of them; empty if they can."""
    agent = agents.get(entry.kind)
    usage = agent.usage if agent else REPORTS_TOKENS
    if why := usage.omits or _omits_over_acp(entry, agents) or (usage.omits_as_author if is_author else ""):
        return why
    if usage.has_cost:
        return ""
    if not usage.has_tokens:
        return f"{entry.kind} agents report no cost"
    name = model or entry.model
    if not name and isinstance(agent, KnowsModel):
        name = agent.configured_model(env)
    if not name:
        if usage.has_model:
            return ""
        hint = f"set `model:` under `agents: {entry.name}`"
        return f"its model is not known before it is called; {hint}"
    # `llm` agents name a model with its provider: `openai:gpt-5`
    has_price = cost(name, new=1) is not None or cost(name.rpartition(":")[2], new=1) is not None
    return "" if has_price else f"there is no list price of {name}"


def _omits_over_acp(entry: AgentSettings, agents: Mapping[str, Agent]) -> str:
    """What the program of an `acp` agent leaves out, where an adapter for the same program states it."""
    if entry.kind != "acp":
        return ""
    names = {Path(word).name for word in entry.argv[:2]}
    reasons = (agent.usage.omits_over_acp for agent in agents.values() if agent.program in names)
    return next(filter(None, reasons), "")


def uncounted_tokens(entry: AgentSettings, agents: Mapping[str, Agent] = AGENTS, *, is_author: bool = False) -> str:
    agent = agents.get(entry.kind)
    if agent and not agent.usage.has_tokens:
        return f"{entry.kind} agents report no tokens"
    return agent.usage.omits_as_author if agent and is_author else ""


def uncounted_windows(entry: AgentSettings, agents: Mapping[str, Agent] = AGENTS) -> str:
    agent = agents.get(entry.kind)
    if agent and agent.usage.has_windows:
        return ""
    return f"{entry.kind} agents do not report how much of a plan is used"

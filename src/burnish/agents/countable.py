"""Whether a budget can be counted for an agent, as far as that is known before it is started."""

from __future__ import annotations

from collections.abc import Mapping

from burnish.agents.base import Agent, AgentSettings, KnowsModel
from burnish.agents.prices import cost
from burnish.agents.registry import AGENTS

# They report neither tokens nor money.
SILENT = ("command", "scripted", "cursor", "amp")
# They report what they cost themselves, whatever the model.
OWN_FIGURE = ("claude", "opencode")
# They report the model that they used; without one in the settings its price is known after the first call only.
NAMES_ITS_MODEL = ("gemini", "qwen", "copilot", "aider")


def uncounted_usd(
    entry: AgentSettings, model: str | None, env: Mapping[str, str], agents: Mapping[str, Agent] = AGENTS
) -> str:
    """Why USD cannot be counted for this agent; empty if they can."""
    if entry.kind in OWN_FIGURE:
        return ""
    if entry.kind in SILENT:
        return f"{entry.kind} agents report no cost"
    name = model or entry.model
    agent = agents.get(entry.kind)
    if not name and isinstance(agent, KnowsModel):
        name = agent.configured_model(env)
    if not name:
        if entry.kind in NAMES_ITS_MODEL:
            return ""
        hint = f"set `model:` under `agents: {entry.name}`"
        return f"its model is not known before it is called; {hint}"
    # `openai:gpt-5` is how `llm` names a model
    known = cost(name, new=1) is not None or cost(name.rpartition(":")[2], new=1) is not None
    return "" if known else f"there is no list price of {name}"


def uncounted_tokens(entry: AgentSettings) -> str:
    return f"{entry.kind} agents report no tokens" if entry.kind in SILENT else ""

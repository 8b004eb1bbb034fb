"""Whether a budget can be counted for an agent, as far as that is known before it is started."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from burnish.agents.base import Agent, AgentSettings, KnowsModel
from burnish.agents.prices import cost
from burnish.agents.registry import AGENTS

# They report neither tokens nor money.
SILENT = ("command", "scripted", "cursor", "amp")
# They report what they cost themselves, whatever the model.
OWN_FIGURE = ("claude", "opencode")
# Their figures leave something out, whatever the model: why. Over `acp` it is the program that is started.
PARTIAL = {
    "opencode": "opencode does not report the call that finds a title",
    "acp opencode": "opencode reports the tokens of its last call only over acp",
    "acp gemini": "gemini reports no thoughts over acp",
}
# As authors: what they run can change what they report.
PARTIAL_AS_AUTHOR = {"copilot": "copilot reports its tokens in a file that the commands it runs can change"}
# They report the model that they used; without one in the settings its price is known after the first call only.
NAMES_ITS_MODEL = ("gemini", "qwen", "copilot", "aider")


def uncounted_usd(
    entry: AgentSettings,
    model: str | None,
    env: Mapping[str, str],
    agents: Mapping[str, Agent] = AGENTS,
    *,
    is_author: bool = False,
) -> str:
    """Why USD cannot be counted for this agent, or not all of them; empty if they can."""
    if why := _partial(entry) or (PARTIAL_AS_AUTHOR.get(entry.kind, "") if is_author else ""):
        return why
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


def _partial(entry: AgentSettings) -> str:
    if entry.kind != "acp":
        return PARTIAL.get(entry.kind, "")
    names = {Path(word).name for word in entry.argv[:2]}
    return next((why for name, why in PARTIAL.items() if name.removeprefix("acp ") in names and " " in name), "")


def uncounted_tokens(entry: AgentSettings) -> str:
    return f"{entry.kind} agents report no tokens" if entry.kind in SILENT else ""

"""Every kind of agent there is. A new one is a file beside this one and a line here."""

from __future__ import annotations

from burnish.agents.base import Agent
from burnish.agents.claude import ClaudeAgent
from burnish.agents.codex import CodexAgent
from burnish.agents.command import CommandAgent
from burnish.agents.scripted import ScriptedAgent

AGENTS: dict[str, Agent] = {
    "claude": ClaudeAgent(),
    "codex": CodexAgent(),
    "command": CommandAgent(),
    "scripted": ScriptedAgent(),
}

"""Every kind of agent there is. A new one is a file beside this one and a line here."""

from __future__ import annotations

from burnish.agents.acp import AcpAgent
from burnish.agents.aider import AiderAgent
from burnish.agents.amp import AmpAgent
from burnish.agents.base import Agent
from burnish.agents.claude import ClaudeAgent
from burnish.agents.codex import CodexAgent
from burnish.agents.command import CommandAgent
from burnish.agents.copilot import CopilotAgent
from burnish.agents.cursor import CursorAgent
from burnish.agents.gemini import GeminiAgent
from burnish.agents.llm import LlmAgent
from burnish.agents.opencode import OpencodeAgent
from burnish.agents.qwen import QwenAgent
from burnish.agents.scripted import ScriptedAgent

AGENTS: dict[str, Agent] = {
    "claude": ClaudeAgent(),
    "codex": CodexAgent(),
    "gemini": GeminiAgent(),
    "opencode": OpencodeAgent(),
    "aider": AiderAgent(),
    "copilot": CopilotAgent(),
    "qwen": QwenAgent(),
    "cursor": CursorAgent(),
    "amp": AmpAgent(),
    "llm": LlmAgent(),
    "acp": AcpAgent(),
    "command": CommandAgent(),
    "scripted": ScriptedAgent(),
}
# What some agent reads from a repository. Taken from the base for reviewers, protected by the guard: one list for both.
PROJECT_FILES = tuple(sorted({name for agent in AGENTS.values() for name in agent.project_files}))

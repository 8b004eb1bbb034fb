"""All agents. A new one is a file in this folder and an entry here: other packages derive their tables from it."""

from __future__ import annotations

from burnish.agents.acp import AcpAgent
from burnish.agents.agy import AgyAgent
from burnish.agents.aider import AiderAgent
from burnish.agents.amp import AmpAgent
from burnish.agents.base import Agent, LoadsProjectCode
from burnish.agents.claude import ClaudeAgent
from burnish.agents.cline import ClineAgent
from burnish.agents.codex import CodexAgent
from burnish.agents.command import CommandAgent
from burnish.agents.copilot import CopilotAgent
from burnish.agents.cursor import CursorAgent
from burnish.agents.gemini import GeminiAgent
from burnish.agents.llm import LlmAgent
from burnish.agents.opencode import OpencodeAgent
from burnish.agents.pi import PiAgent
from burnish.agents.qwen import QwenAgent
from burnish.agents.scripted import ScriptedAgent

# Programs come in the order in which `agent: auto` looks for them.
_ADAPTERS: tuple[Agent, ...] = (
    ClaudeAgent(),
    CodexAgent(),
    GeminiAgent(),
    OpencodeAgent(),
    AiderAgent(),
    CopilotAgent(),
    QwenAgent(),
    PiAgent(),
    ClineAgent(),
    CursorAgent(),
    AmpAgent(),
    AgyAgent(),
    AcpAgent(),
    CommandAgent(),
    LlmAgent(),
    ScriptedAgent(),
)
AGENTS: dict[str, Agent] = {agent.name: agent for agent in _ADAPTERS}
# What any agent reads from a repository: taken from the base for reviewers, and protected by the guard.
PROJECT_FILES = tuple(sorted({name for agent in AGENTS.values() for name in agent.project_files}))
# Those that reviewers do not get at all.
PROJECT_CODE = tuple(
    sorted({name for agent in AGENTS.values() if isinstance(agent, LoadsProjectCode) for name in agent.project_code})
)
STOP_HOOKS = {agent.name: agent.stop_hook for agent in AGENTS.values() if agent.stop_hook}

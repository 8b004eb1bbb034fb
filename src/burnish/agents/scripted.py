"""Replays a script instead of asking a model: for the demo and for tests. `scripted_main` describes the format."""

from __future__ import annotations

from dataclasses import dataclass

from burnish.agents.base import (
    NO_LOGIN,
    REPORTS_NOTHING,
    AgentFailure,
    AgentSettings,
    Call,
    FinishedCall,
    Login,
    StopHook,
    UsageReport,
)
from burnish.agents.command import CommandAgent
from burnish.agents.program import own_program
from burnish.core.agent import AgentReply, AgentRequest


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """A real process like every other agent, so that nothing on the way to it goes untested."""

    name: str = "scripted"
    program: str = ""
    verified: bool = True
    tested_version: str = ""
    min_version: str = ""
    update: str = ""
    efforts: tuple[str, ...] | None = None
    keys: tuple[str, ...] = ()
    output_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = ()
    login: Login = NO_LOGIN
    required_settings: tuple[str, ...] = ("script",)
    reads_files: bool = True
    usage: UsageReport = REPORTS_NOTHING
    stop_hook: StopHook | None = None

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        return Call(argv=(*own_program("scripted_main"), settings.script or "", request.role), stdin=request.prompt)

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        return CommandAgent().read(call)

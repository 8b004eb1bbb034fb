"""Cursor's `cursor-agent`, by its documentation: it talks to its own service only and was not tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from burnish.agents.base import (
    REPORTS_NOTHING,
    AgentFailure,
    AgentSettings,
    Call,
    FinishedCall,
    HomeSettings,
    Login,
    StopHook,
    TokenFile,
    UsageReport,
)
from burnish.agents.failure import contradictory, failure, is_failed, missing_answer, no_answer, unreadable
from burnish.agents.file_mentions import without_mentions
from burnish.agents.jsonlines import Json, read_events, text_or_empty
from burnish.agents.steps import Step, ToolEnded, ToolStarted, as_values, claude_steps
from burnish.core.agent import AgentReply, AgentRequest

LOGIN_FILES = Login(
    paths=(".cursor", ".config/cursor"),
    skipped=(".cursor/chats", ".cursor/projects", ".cursor/extensions"),
    token_files=(TokenFile(".config/cursor/auth.json", ("accessToken",)),),
    sessions=(".cursor/chats",),
    programs=("cursor-agent",),
    key_variables=("CURSOR_API_KEY",),
    advice="Set CURSOR_API_KEY.",
)
# Hooks, MCP servers and plugins, also those of Claude Code, may load files of the change; no option switches them off.
# The login is elsewhere.
_NOTHING_STARTED: HomeSettings = dict.fromkeys((".cursor", ".claude"))


@dataclass(frozen=True, slots=True)
class CursorAgent:
    name: str = "cursor"
    program: str = "cursor-agent"
    verified: bool = False
    tested_version: str = ""
    min_version: str = ""
    update: str = "cursor-agent update"
    efforts: tuple[str, ...] | None = None
    keys: tuple[str, ...] = ("CURSOR_API_KEY",)
    output_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = (
        *("AGENTS.md", "CLAUDE.md", ".cursor", ".cursorrules", ".cursorignore", ".cursorindexingignore"),
        ".mcp.json",
    )
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    mention_names: tuple[str, ...] = ("cursor-agent",)
    reads_files: bool = True
    usage: UsageReport = REPORTS_NOTHING
    stop_hook: StopHook | None = None

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        argv = [self.program, "-p", "--output-format", "stream-json"]
        # without --force it only proposes changes
        argv += ["--mode", "ask"] if request.read_only else ["--force"]
        if request.model:
            argv += ["--model", request.model]
        if settings.resume and request.session:
            argv += [f"--resume={request.session}"]
        prompt = without_mentions(request.prompt) if request.quotes_change else request.prompt
        return Call(tuple(argv), stdin=prompt)

    def home_settings(self, request: AgentRequest) -> HomeSettings:
        return _NOTHING_STARTED if request.read_only else {}

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        login = "Run `cursor-agent login`, or set CURSOR_API_KEY."
        stream = read_events(call.stdout)
        results = stream.of_type("result")
        if damage := unreadable("cursor", call, stream, max(results, default=-1)):
            return damage
        if not results:
            return missing_answer("cursor", call, login=login)
        if problem := contradictory("cursor", call, [event.get("result") for event in results.values()]):
            return problem
        result = results[max(results)]
        text = text_or_empty(result.get("result"))
        if call.exit_code != 0 or is_failed(result) or not text or no_answer(text):
            has_failed = is_failed(result)
            return failure("cursor", text, cut=not text and not has_failed, login=login, is_program_error=has_failed)
        return AgentReply(text, provider="cursor", session=text_or_empty(result.get("session_id")) or None)

    def steps(self, event: Json) -> Iterable[Step]:
        """Claude Code's form, but for tools: `{"tool_call": {"readToolCall": {"args": …}}}`."""
        match event:
            case {"type": "tool_call", "subtype": str(state), "call_id": str(id), "tool_call": {**call}}:
                name = next((str(key) for key, value in call.items() if isinstance(value, dict)), "")
                values = as_values(call.get(name))
                if state == "started":
                    return (ToolStarted(id, name.removesuffix("ToolCall"), as_values(values.get("args"))),)
                return (ToolEnded(id, has_failed="error" in as_values(values.get("result"))),)
        return claude_steps(event)

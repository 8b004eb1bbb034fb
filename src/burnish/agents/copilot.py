"""GitHub Copilot CLI: one JSON object per line; the tokens are in a separate file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from burnish.agents.base import (
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
from burnish.agents.failure import failure, missing_answer, no_answer, unreadable
from burnish.agents.jsonlines import Json, dig, json_lines, json_value, read_events, text_or_empty
from burnish.agents.steps import Problem, Said, Step, ToolEnded, ToolStarted, as_values, joined_text
from burnish.agents.usage import TokenCount, billed
from burnish.agents.usage_limits import is_usage_limit
from burnish.core.agent import AgentReply, AgentRequest

_LOGIN = "Run `copilot login`, or set COPILOT_GITHUB_TOKEN."
_USAGE = "usage.json"
# The same limit three times: the available tools, the denied tools, and no one to ask for permission.
_READ_ONLY_TOOLS = ("--available-tools", "view,grep,glob", "--deny-tool", "write", "--deny-tool", "shell")
# The user's hooks and servers may run files of the change, beside a reviewer whose output they can write to.
_NOTHING_STARTED: HomeSettings = {
    # it disables hooks of these settings, and not those of the folder
    ".copilot/settings.json": {"disableAllHooks": True},
    **dict.fromkeys(
        f".copilot/{name}"
        for name in ("hooks", "mcp-config.json", "lsp-config.json", "installed-plugins", "extensions")
    ),
}
_MAX_TRIES = 2
_SHELL_END = re.compile(r"\s*<shellId: \S+ completed with exit code -?\d+>\s*\Z")

# its token comes from GitHub and lasts
LOGIN_FILES = Login(
    paths=(".copilot", ".config/github-copilot"),
    skipped=(
        *(".copilot/session-state", ".copilot/session-store.db*", ".copilot/history-session-state"),
        *(".copilot/logs", ".copilot/pkg", ".copilot/command-history-state.json"),
    ),
    token_files=(TokenFile(".copilot/mcp-oauth-config.json"),),
    sessions=(".copilot/session-state",),
    folder_variables=(("COPILOT_HOME", ".copilot"),),
    key_variables=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"),
    advice="Set COPILOT_GITHUB_TOKEN.",
)
_USAGE_REPORT = UsageReport(
    has_model=True,
    omits_as_author="copilot reports its tokens in a file that the commands it runs can change",
)
_STOP_HOOK = StopHook(
    "copilot",
    "agentStop",
    user_file="hooks/burnish.json",
    home_folder=".copilot",
    timeout_key="timeoutSec",
    flat=True,
    # seen with copilot 1.0.102
    strips_keys=True,
    note="Copilot removes API keys from the environment of its hooks: choose reviewers that need none of them.",
)


@dataclass(frozen=True, slots=True)
class CopilotAgent:
    name: str = "copilot"
    program: str = "copilot"
    verified: bool = True
    tested_version: str = "1.0.102"
    min_version: str = "1.0.102"
    update: str = "copilot update"
    efforts: tuple[str, ...] | None = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    # not COPILOT_ALLOW_ALL: "true" there trusts the repository's own hooks
    keys: tuple[str, ...] = (
        "COPILOT_GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "COPILOT_HOME",
        "COPILOT_MODEL",
        "COPILOT_OFFLINE",
        "COPILOT_PROVIDER_BASE_URL",
        "COPILOT_PROVIDER_API_KEY",
        "COPILOT_PROVIDER_TYPE",
        "COPILOT_PROVIDER_WIRE_API",
    )
    output_files: tuple[str, ...] = (_USAGE,)
    project_files: tuple[str, ...] = (
        *("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".copilot", ".mcp.json", ".vscode/mcp.json"),
        *(".github/copilot-instructions.md", ".github/instructions", ".github/copilot", ".github/mcp.json"),
        *(".github/agents", ".github/chatmodes", ".github/hooks", ".github/prompts", ".github/skills"),
        *(".claude", ".agents"),
    )
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    reads_files: bool = True
    usage: UsageReport = _USAGE_REPORT
    stop_hook: StopHook | None = _STOP_HOOK

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        argv = [self.program, "--output-format", "json", "--no-color", "--disable-client-telemetry"]
        argv += ["--usage-output-file", str(request.call_dir / _USAGE)]
        argv += _READ_ONLY_TOOLS if request.read_only else ["--allow-all-tools"]
        if request.model:
            argv += ["--model", request.model]
        argv += settings.effort_option(request, "--reasoning-effort", "{}")
        if settings.resume and request.session:
            argv += [f"--resume={request.session}"]
        return Call(tuple(argv), stdin=request.prompt, env={"COPILOT_AUTO_UPDATE": "false"})

    def home_settings(self, request: AgentRequest) -> HomeSettings:
        # it has no option for hooks, and one for servers that takes their names
        return _NOTHING_STARTED if request.read_only else {}

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        text, problem, result, answer_at, result_at = "", None, None, -1, -1
        was_cancelled = False
        # messages that began since the last use of a tool, and were not printed as a whole
        open_messages: set[str] = set()
        stream = read_events(call.stdout)
        for index, event in stream:
            match event:
                case {"type": "assistant.message", "data": {"content": str(piece)}}:
                    text, answer_at, was_cancelled = piece.strip(), index, False
                    open_messages.discard(str(dig(event, "data", "messageId")))
                case {"type": "assistant.message_start"}:
                    open_messages.add(str(dig(event, "data", "messageId")))
                case {"type": "tool.execution_start"}:
                    open_messages.clear()
                case {"type": "session.error"}:
                    problem = event.get("data") or {"message": "an error without a reason"}
                case {"type": "abort"}:
                    was_cancelled = True
                case {"type": "result"} if dig(result, "exitCode") in (None, 0):
                    result, result_at = event, index
        if result is None and problem is None:
            return unreadable("copilot", call, stream, -1) or missing_answer("copilot", call, login=_LOGIN)
        if call.exit_code != 0 or problem or dig(result, "exitCode") != 0 or no_answer(text):
            status = dig(problem, "statusCode")
            error = text_or_empty(dig(problem, "message"))
            return failure(
                "copilot",
                error or text or text_or_empty(call.stderr),
                status=status if isinstance(status, int) else None,
                login=_LOGIN,
                is_program_error=bool(error),
            )
        if damage := unreadable("copilot", call, stream, answer_at):
            return damage
        if was_cancelled:
            return failure("copilot", "its last turn was cancelled", cut=True)
        if result_at < answer_at:
            return failure("copilot", "its last turn did not end", cut=True)
        if open_messages and call.role in ("review", "parse"):
            # After a cut answer it asks the model again, and takes the third one that is cut for a whole one.
            return failure("copilot", "the answer was cut off, or a part of it is missing", cut=True)
        if not text:
            return failure("copilot", "the answer was empty", cut=True)
        return _reply(
            text, text_or_empty(dig(result, "sessionId")) or None, json_value(call.files.get(_USAGE, "")), call
        )

    def bill(self, call: FinishedCall) -> AgentReply | None:
        usage = json_value(call.files.get(_USAGE, ""))
        sessions = [
            text_or_empty(event.get("sessionId")) for event in read_events(call.stdout).of_type("result").values()
        ]
        return _reply("", next(filter(None, sessions), None), usage, call) if usage is not None else None

    def steps(self, event: Json) -> Iterable[Step]:
        match event:
            case {"type": "assistant.message", "data": {"content": str(text)}}:
                return (Said(text),)
            # comes after the message, and before it in pieces
            case {"type": "assistant.reasoning", "data": {"content": str(text)}}:
                return (Said(text, is_thought=True),)
            case {"type": "assistant.reasoning_delta", "data": {"deltaContent": str(text)}}:
                return (Said(text, is_piece=True, is_thought=True),)
            case {"type": "tool.execution_start", "data": {"toolCallId": str(id), "toolName": str(name)}}:
                return (ToolStarted(id, name, as_values(dig(event, "data", "arguments"))),)
            case {"type": "tool.execution_complete", "data": {"toolCallId": str(id)}}:
                output = joined_text(dig(event, "data", "result", "content"))
                output = _SHELL_END.sub("", output) or text_or_empty(dig(event, "data", "error", "message"))
                code = dig(event, "data", "shellExecution", "exitCode")
                has_failed = dig(event, "data", "success") is False
                return (ToolEnded(id, output, code if isinstance(code, int) else None, has_failed),)
            case {"type": "session.error", "data": {"message": str(text)}}:
                return (Problem(text),)
        return ()

    def abort_reason(self, stdout: str, stderr: str) -> AgentFailure | None:
        """It retries five times, which takes a minute after 429."""
        again, status, problem = 0, None, ""
        for event in json_lines(stdout):
            match event:
                case {"type": "model.call_failure", "data": {"retryAttempt": int(again)}}:
                    status = dig(event, "data", "statusCode")
                    problem = text_or_empty(dig(event, "data", "errorMessage"))
                case {"type": "assistant.message"}:
                    again, problem = 0, ""
        if is_usage_limit(problem):
            code = status if isinstance(status, int) else None
            return failure("copilot", _message_of(problem), status=code, is_program_error=True)
        if again < _MAX_TRIES:
            return None
        message = f"the server answered {status or 'nothing whole'} again and again"
        code = status if isinstance(status, int) else None
        return failure("copilot", message, status=code, cut=code is None, login=_LOGIN)


def _message_of(problem: str) -> str:
    """The message of an error, which may be the JSON of the server's answer."""
    return text_or_empty(dig(json_value(problem), "message")) or problem


def _reply(text: str, session: str | None, usage: Any, call: FinishedCall) -> AgentReply:
    metrics = dig(usage, "modelMetrics")
    counts = {str(name): _tokens(metric) for name, metric in (metrics.items() if isinstance(metrics, dict) else ())}
    model = max(counts, key=lambda name: counts[name].out, default=None)
    whole = TokenCount(*(sum(getattr(count, key) for count in counts.values()) for key in ("new", "cached", "out")))
    if model and len(counts) == 1 and session and session == call.resumed:
        # A resumed session is counted from its beginning. With several models it is not known whose part is how large.
        counts = {model: counts[model].since(call.session_usage)}
    prices = [count.price(name) for name, count in counts.items()]
    amounts = [price for price in prices if price is not None]
    tokens = sum(count.total for count in counts.values())
    reply = AgentReply(text, model, "github", tokens=tokens, session=session, session_usage=whole.as_json())
    # a command that it runs can rewrite the file
    may_be_changed = call.role not in ("review", "parse")
    has_all_tokens = not may_be_changed and all(count.complete for count in counts.values())
    by_list, partial = sum(amounts) if amounts else None, may_be_changed or len(amounts) < len(prices)
    return billed(reply, None, by_list, has_all_tokens=has_all_tokens, partial=partial)


def _tokens(metric: Any) -> TokenCount:
    return TokenCount.of(*(dig(metric, "usage", f"{kind}Tokens") for kind in ("input", "cacheRead", "output")))

"""Gemini CLI: one JSON object per line, the last of them the result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from burnish.agents.base import (
    NO_SERVER,
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
from burnish.agents.file_mentions import without_mentions
from burnish.agents.jsonlines import Json, dig, read_events, text_or_empty
from burnish.agents.steps import (
    Problem,
    Said,
    Step,
    ToolEnded,
    ToolStarted,
    as_values,
    joined_text,
    with_code_of_silent_command,
)
from burnish.agents.usage import TokenCount, are_token_counts, billed, highest, token_count
from burnish.core.agent import AgentReply, AgentRequest

_STATUSES = (400, 401, 403, 404, 429, 500, 502, 503, 504)
_LOGIN = "Run `gemini` once and log in, or set GEMINI_API_KEY."
_TOOLS = {"discoveryCommand": "", "callCommand": ""}
# whatever the user allows without being asked
_READ_ONLY_TOOLS = {
    "allowed": [],
    "exclude": ["write_file", "replace", "run_shell_command", "invoke_agent", "activate_skill"],
}
# The names of all files would stand before the prompt, without a fence, and the author of a change chooses them.
_NO_TREE = {"includeDirectoryTree": False}
# Whatever other names the user or the repository sets: reviewers get these files as the base has them, and no others.
_INSTRUCTIONS = {"fileName": ["GEMINI.md", "AGENTS.md"]}
# Without trust it does not start at all, and with trust the repository's settings count. These count more.
_SETTINGS = {
    "general": {"maxAttempts": 2, "retryFetchErrors": False, "enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "hooksConfig": {"enabled": False},
    "mcp": {"allowed": [NO_SERVER], "serverCommand": ""},
    "tools": _TOOLS,
    "advanced": {"ignoreLocalEnv": True},
}

# Its events do not report how the model ended its answer; what it writes for its own telemetry does. The file stays in
# the folder of the call, nothing is sent, and the prompt and the answer are not in it.
_TELEMETRY = "telemetry.log"
# At the beginning of a line, which no text within a string is: its line feeds are escaped.
_ENDING = re.compile(r'^ *"finish_reasons": \[(?:\s*"[^"\n]*",)*\s*"([^"\n]*)"\s*\],\s*"role": "main"', re.MULTILINE)

LOGIN_FILES = Login(
    paths=(".gemini",),
    skipped=(".gemini/tmp", ".gemini/history", ".gemini/projects.json", ".gemini/antigravity*"),
    token_files=(
        TokenFile(".gemini/oauth_creds.json", ("expiry_date",)),
        # encrypted, so their expiry date is not known
        TokenFile(".gemini/gemini-credentials.json"),
        TokenFile(".gemini/mcp-oauth-tokens.json"),
        TokenFile(".gemini/mcp-oauth-tokens-v2.json"),
        TokenFile(".gemini/a2a-oauth-tokens.json"),
    ),
    folder_variables=(("GEMINI_CLI_HOME", ""),),
    sessions=(".gemini/tmp", ".gemini/history"),
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"),
    advice="Set GEMINI_API_KEY.",
    is_replaced_by_acp=True,
)
_USAGE_REPORT = UsageReport(has_model=True, omits_over_acp="gemini reports no thoughts over acp")
_STOP_HOOK = StopHook(
    "gemini",
    "AfterAgent",
    user_file="settings.json",
    local_file=".gemini/settings.json",
    home_folder=".gemini",
    refusal="deny",
    per_second=1000,
    project_variable="GEMINI_PROJECT_DIR",
    note="Gemini CLI runs hooks of a project only in a folder that it trusts: answer its question when you start it "
    "there, or see /permissions.",
)


@dataclass(frozen=True, slots=True)
class GeminiAgent:
    name: str = "gemini"
    program: str = "gemini"
    verified: bool = True
    tested_version: str = "0.61.0"
    min_version: str = "0.61.0"
    update: str = "npm install -g @google/gemini-cli@latest"
    efforts: tuple[str, ...] | None = None
    keys: tuple[str, ...] = (
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GEMINI_CLI_HOME",
    )
    output_files: tuple[str, ...] = (_TELEMETRY,)
    project_files: tuple[str, ...] = ("GEMINI.md", "AGENTS.md", ".gemini", ".geminiignore", ".agents")
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    mention_names: tuple[str, ...] = ("gemini", "gemini-cli")
    reads_files: bool = True
    usage: UsageReport = _USAGE_REPORT
    stop_hook: StopHook | None = _STOP_HOOK

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        argv = [self.program, "-o", "stream-json", "--skip-trust", "--allowed-mcp-server-names", NO_SERVER]
        # `default` without a person at hand offers no tool that writes or runs; `plan` may write its plans
        argv += ["--approval-mode", "default" if request.read_only else "yolo"]
        if request.model:
            argv += ["-m", request.model]
        if settings.resume and request.session:
            argv += ["--resume", request.session]
        env = {
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(request.call_dir / "gemini.json"),
            # one process instead of two
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }
        if request.read_only:
            env |= _local_telemetry(str(request.call_dir / _TELEMETRY))
        prompt = without_mentions(request.prompt) if request.quotes_change else request.prompt
        return Call(tuple(argv), stdin=prompt, env=env, files={"gemini.json": json.dumps(_own_settings(request))})

    def home_settings(self, request: AgentRequest) -> HomeSettings:
        # `gemini.json` is skipped unless root owns it and every folder above it, and only root may write there
        return {".gemini/settings.json": _own_settings(request)}

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        text, session, problem, result, before_answer = "", None, "", None, -1
        result_at = error_at = -1
        pieces: list[int] = []
        stream = read_events(call.stdout)
        for index, event in stream:
            match event:
                case {"type": "init", "session_id": str(id_)}:
                    session = id_
                case {"type": "message", "role": "assistant", "content": str(message)}:
                    text += message
                    pieces.append(index)
                case {"type": "tool_use"} | {"type": "tool_result"}:
                    text, before_answer = "", index
                case {"type": "error"}:
                    problem, error_at = text_or_empty(event.get("message")), index
                case {"type": "result"} if dig(result, "status") in (None, "success"):
                    result, result_at = event, index
        if result is None:
            return unreadable("gemini", call, stream, -1) or missing_answer("gemini", call, login=_LOGIN)
        if call.exit_code != 0 or result.get("status") != "success" or no_answer(text):
            error = text_or_empty(dig(result, "error", "message")) or problem
            # its exit code is the low byte of the server's status
            status = next((code for code in _STATUSES if code & 0xFF == call.exit_code), None)
            return failure("gemini", error or text, status=status, login=_LOGIN, is_program_error=bool(error))
        # The answer comes in pieces: a damaged line anywhere in it may be one of them.
        if damage := unreadable("gemini", call, stream, before_answer, pieces):
            return damage
        if result_at < max([before_answer, *pieces]):
            return failure("gemini", "its last turn did not end", cut=True)
        # It may report success all the same, e.g. after it stopped a loop.
        if call.role in ("review", "parse") and error_at > min([at for at in pieces if at > before_answer], default=-1):
            return failure("gemini", problem or "it reported an error after its answer began", cut=True)
        endings = _ENDING.findall(call.files.get(_TELEMETRY, ""))
        if call.role in ("review", "parse") and endings and endings[-1] != "stop":
            return failure("gemini", f"the answer was cut off ({endings[-1]})", cut=True)
        if not text.strip():
            return failure("gemini", problem or "the answer was empty", cut=True)
        return _reply(text.strip(), session, list(stream.of_type("result").values()))

    def bill(self, call: FinishedCall) -> AgentReply | None:
        results = list(read_events(call.stdout).of_type("result").values())
        return _reply("", None, results) if results else None

    def steps(self, event: Json) -> Iterable[Step]:
        match event:
            case {"type": "message", "role": "assistant", "content": str(text)}:
                return (Said(text, is_piece=event.get("delta") is True),)
            case {"type": "tool_use", "tool_id": str(id), "tool_name": str(name)}:
                return (ToolStarted(id, name, as_values(event.get("parameters"))),)
            case {"type": "tool_result", "tool_id": str(id)}:
                output = joined_text(event.get("output")) or text_or_empty(dig(event, "error", "message"))
                result = ToolEnded(id, output, has_failed=event.get("status") == "error")
                return (with_code_of_silent_command(result),)
            case {"type": "error", "message": str(text)}:
                return (Problem(text),)
        return ()


def _local_telemetry(file: str) -> dict[str, str]:
    """Variables, which count more than all settings: a user's own telemetry may go to a server."""
    values = {"ENABLED": "true", "TARGET": "local", "OUTFILE": file, "USE_COLLECTOR": "false"}
    values |= {"LOG_PROMPTS": "false", "TRACES_ENABLED": "false", "OTLP_ENDPOINT": ""}
    return {f"GEMINI_TELEMETRY_{name}": value for name, value in values.items()}


def _own_settings(request: AgentRequest) -> dict[str, Any]:
    settings: dict[str, Any] = dict(_SETTINGS)
    if request.quotes_change:
        settings["context"] = _NO_TREE | _INSTRUCTIONS
    if request.read_only:
        settings["tools"] = _TOOLS | _READ_ONLY_TOOLS
    return settings


def _reply(text: str, session: str | None, results: list[Json]) -> AgentReply:
    """Of several result lines the highest counts of each model: another process may have written some of them."""
    reports = [_counts(result) for result in results]
    names = dict.fromkeys(name for report in reports for name in report)
    counts = {name: highest(report[name] for report in reports if name in report) for name in names}
    prices = [count.price(name) for name, count in counts.items()]
    amounts = [price for price in prices if price is not None]
    model = max(counts, key=lambda name: counts[name].total, default=None)
    reply = AgentReply(text, model, "google", tokens=sum(c.total for c in counts.values()), session=session)
    complete = _complete(reports)
    by_list, partial = sum(amounts) if amounts else None, len(amounts) < len(prices) or not complete
    return billed(reply, None, by_list, has_all_tokens=complete, partial=partial)


def _counts(result: Json) -> dict[str, TokenCount]:
    models = dig(result, "stats", "models")
    return {str(name): _tokens(counts) for name, counts in (models.items() if isinstance(models, dict) else ())}


def _complete(reports: list[dict[str, TokenCount]]) -> bool:
    return all(report and all(count.complete for count in report.values()) for report in reports)


def _tokens(counts: Any) -> TokenCount:
    """`output_tokens` has no thoughts, and `total_tokens` has them: thoughts are billed as output."""
    tokens_in, out, whole = (token_count(dig(counts, f"{name}_tokens")) for name in ("input", "output", "total"))
    tokens_in = tokens_in or token_count(dig(counts, "input")) + token_count(dig(counts, "cached"))
    count = TokenCount.of(tokens_in, token_count(dig(counts, "cached")), max(out, whole - tokens_in))
    kinds = ("input_tokens", "input", "output_tokens", "total_tokens", "cached")
    values = {kind: counts[kind] for kind in kinds if kind in counts} if isinstance(counts, dict) else {}
    enough = ("input_tokens" in values or "input" in values) and ("output_tokens" in values or "total_tokens" in values)
    return replace(count, complete=enough and are_token_counts(values.values()))

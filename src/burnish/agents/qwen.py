"""Qwen Code: a relative of Gemini CLI that prints as Claude Code does, and ends well whatever happened."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from burnish.agents.base import (
    NO_SERVER,
    AgentFailure,
    AgentSettings,
    Call,
    CallUsage,
    FinishedCall,
    Login,
    StopHook,
    TokenFile,
    UsageReport,
)
from burnish.agents.failure import (
    contradictory,
    failure,
    is_failed,
    missing_answer,
    no_answer,
    structured_conflict,
    unreadable,
)
from burnish.agents.file_mentions import without_mentions
from burnish.agents.jsonlines import EventStream, Json, dig, read_events, text_or_empty
from burnish.agents.prices import cost
from burnish.agents.steps import Step, ToolEnded, claude_steps, with_code_of_silent_command
from burnish.agents.usage import TokenCount, billed, highest
from burnish.core.agent import AgentReply, AgentRequest, Use

_MODEL = {"generationConfig": {"maxRetries": 0}}
# The names of files would stand before the prompt, without a fence, and the author of a change chooses them.
_NO_TREE = {"skipStartupContext": True}
# Whatever other names the user or the repository sets: reviewers get these files as the base has them, and no others.
_INSTRUCTIONS = {"fileName": ["QWEN.md", "AGENTS.md"]}
_LOGIN = "Run `qwen` once and choose a login, or set OPENAI_API_KEY (with OPENAI_BASE_URL and OPENAI_MODEL)."
# They count more than the repository's own settings. Its waits of a minute after 429 end with the retries.
_SETTINGS = {
    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "model": _MODEL,
    "memory": {"enableManagedAutoMemory": False},
    "disableAllHooks": True,
    "mcp": {"allowed": [NO_SERVER], "serverCommand": ""},
    "tools": {"discoveryCommand": "", "callCommand": ""},
}

LOGIN_FILES = Login(
    paths=(".qwen",),
    skipped=(".qwen/projects", ".qwen/tmp", ".qwen/history", ".qwen/debug", ".qwen/todos", ".qwen/logs"),
    token_files=(
        TokenFile(".qwen/oauth_creds.json", ("expiry_date",)),
        TokenFile(".qwen/mcp-oauth-tokens.json"),
        TokenFile(".qwen/mcp-oauth-tokens-v2.json"),
    ),
    sessions=(".qwen/projects",),
    key_variables=("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"),
    advice="Set OPENAI_API_KEY with OPENAI_BASE_URL and OPENAI_MODEL.",
    is_replaced_by_acp=True,
)
_USAGE_REPORT = UsageReport(has_model=True)
_STOP_HOOK = StopHook(
    "qwen",
    "Stop",
    user_file="settings.json",
    local_file=".qwen/settings.json",
    home_folder=".qwen",
    per_second=1000,
    project_variable="QWEN_PROJECT_DIR",
)


@dataclass(frozen=True, slots=True)
class QwenAgent:
    name: str = "qwen"
    program: str = "qwen"
    verified: bool = True
    tested_version: str = "0.15.10"
    min_version: str = "0.15.10"
    update: str = "npm install -g @qwen-code/qwen-code@latest"
    efforts: tuple[str, ...] | None = None
    keys: tuple[str, ...] = (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_MODEL",
        "DASHSCOPE_API_KEY",
        "BAILIAN_CODING_PLAN_API_KEY",
    )
    output_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = ("QWEN.md", "AGENTS.md", ".qwen", ".qwenignore", ".agents")
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    mention_names: tuple[str, ...] = ("qwen", "qwen-code")
    reads_files: bool = True
    usage: UsageReport = _USAGE_REPORT
    stop_hook: StopHook | None = _STOP_HOOK

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        # the setting is not enough: its list is joined with the user's
        argv = [self.program, "-o", "stream-json", "--allowed-mcp-server-names", NO_SERVER]
        argv += ["--approval-mode", "plan" if request.read_only else "yolo"]
        if request.read_only:
            argv += ["--exclude-tools", "write_file,edit,run_shell_command,monitor,agent,skill"]
        if request.model:
            argv += ["-m", request.model]
        for_review = {**_SETTINGS, "model": _MODEL | _NO_TREE, "context": _INSTRUCTIONS}
        files = {"qwen.json": json.dumps(for_review if request.quotes_change else _SETTINGS)}
        if request.schema:
            argv += ["--json-schema", f"@{request.call_dir / 'schema.json'}"]
            files["schema.json"] = request.schema
        if settings.resume and request.session:
            argv += ["--resume", request.session]
        env = {"QWEN_CODE_SYSTEM_SETTINGS_PATH": str(request.call_dir / "qwen.json")}
        prompt = without_mentions(request.prompt) if request.quotes_change else request.prompt
        return Call(tuple(argv), stdin=prompt, env=env, files=files)

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        stream = read_events(call.stdout)
        results = stream.of_type("result")
        if damage := unreadable("qwen", call, stream, max(results, default=-1)):
            return damage
        if not results:
            return missing_answer("qwen", call, login=_LOGIN)
        if problem := contradictory("qwen", call, [event.get("result") for event in results.values()]):
            return problem
        result = results[max(results)]
        text = text_or_empty(result.get("result"))
        # a wrong key ends with exit code 0, no error flag, and the error as the answer
        if call.exit_code != 0 or is_failed(result) or no_answer(text):
            message = text or text_or_empty(dig(result, "error", "message")) or str(result.get("subtype"))
            return failure("qwen", message, status=_status(message), login=_LOGIN, is_program_error=is_failed(result))
        if problem := structured_conflict("qwen", result, "structured_result"):
            return problem
        if not text:
            return failure("qwen", "the answer was empty", cut=True)
        return _reply(text, _models(stream), list(results.values()), call)

    def bill(self, call: FinishedCall) -> AgentReply | None:
        stream = read_events(call.stdout)
        results = list(stream.of_type("result").values())
        return _reply("", _models(stream), results, call) if results else None

    def call_usage(self, event: Json) -> CallUsage | None:
        usage = dig(event, "message", "usage")
        if event.get("type") != "assistant" or not isinstance(usage, dict):
            return None
        # what came from the cache is part of its input
        count = TokenCount.of(*(usage.get(f"{name}_tokens") for name in ("input", "cache_read_input", "output")))
        price = count.price(text_or_empty(dig(event, "message", "model")))
        return text_or_empty(dig(event, "message", "id")), Use(price, count.total)

    def steps(self, event: Json) -> Iterable[Step]:
        return (_with_exit_code(step) if isinstance(step, ToolEnded) else step for step in claude_steps(event))


# how it reports a command
_REPORT = re.compile(
    r"^Output: (?P<output>.*)\nError: (?P<error>.*)\nExit Code: (?P<code>-?\d{1,4}|\(none\))\nSignal: ",
    re.DOTALL | re.MULTILINE,
)


def _with_exit_code(step: ToolEnded) -> ToolEnded:
    report = _REPORT.search(step.output)
    if report is None:
        return with_code_of_silent_command(step)
    output = "\n".join(part for part in (report["output"], report["error"]) if part not in ("(empty)", "(none)"))
    return replace(step, output=output, exit_code=int(report["code"]) if report["code"] != "(none)" else None)


def _models(stream: EventStream) -> list[str]:
    names = (text_or_empty(dig(event, "message", "model")) for event in stream.of_type("assistant").values())
    return [name for name in names if name]


def _status(message: str) -> int | None:
    found = re.search(r"API Error: (\d{3})\b", message)
    return int(found[1]) if found else None


def _reply(text: str, models: list[str], results: list[Json], call: FinishedCall) -> AgentReply:
    counts = [_tokens(result) for result in results]
    total = highest(counts)
    session = next((id_ for result in results if (id_ := text_or_empty(result.get("session_id")))), None)
    # a resumed session is counted from its beginning
    own_count = total.since(call.session_usage) if session and session == call.resumed else total
    reply = AgentReply(
        text=text,
        model=models[-1] if models else None,
        provider="qwen",
        tokens=own_count.total,
        session=session,
        session_usage=total.as_json(),
    )
    complete = all(count.complete for count in counts)
    partial = not complete or any(cost(name, new=1) is None for name in models)
    by_list = own_count.highest_price([call.model, *models])
    return billed(reply, None, by_list, has_all_tokens=complete, partial=partial)


def _tokens(result: Json) -> TokenCount:
    return TokenCount.of(*(dig(result, "usage", f"{name}_tokens") for name in ("input", "cache_read_input", "output")))

"""Claude Code: `claude -p`, one JSON object per line, the last of them the result."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from burnish.agents.base import (
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
from burnish.agents.file_mentions import NO_ATTACHMENTS
from burnish.agents.jsonlines import EventStream, Json, dig, number, read_events, text_or_empty
from burnish.agents.prices import cost
from burnish.agents.steps import Step, claude_steps
from burnish.agents.usage import (
    NOTHING_USED,
    TokenCount,
    WindowReport,
    are_token_counts,
    billed,
    dollars,
    highest,
    plan_windows,
    token_count,
)
from burnish.core.agent import AgentReply, AgentRequest, PlanWindow, Use

# Other tools do not exist then, not even in subagents. `Bash(git diff:*)` is not allowed: `--output` writes files.
# The user's hooks may run files of the change, beside a reviewer whose output they can write to.
_READ_ONLY_TOOLS = (
    *("--tools", "Read,Grep,Glob", "--strict-mcp-config", "--permission-mode", "dontAsk"),
    *("--settings", '{"disableAllHooks": true}'),
)
# acceptEdits alone refuses most commands; skipping all permissions is refused to root.
_AUTHOR_TOOLS = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash,WebFetch,WebSearch")
# How the model ends an answer that is whole; `tool_use` gives the answer to a schema.
_WHOLE = ("end_turn", "stop_sequence", "tool_use")
_TOKEN_KEYS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_LOGIN = "Run `claude` once and log in, or set ANTHROPIC_API_KEY."

LOGIN_FILES = Login(
    paths=(".claude", ".claude.json", ".config/claude"),
    skipped=(
        *(".claude/projects", ".claude/todos", ".claude/tasks", ".claude/plans", ".claude/sessions"),
        *(".claude/history.jsonl", ".claude/file-history", ".claude/paste-cache", ".claude/session-env"),
        *(".claude/shell-snapshots", ".claude/statsig", ".claude/telemetry", ".claude/debug", ".claude/logs"),
        *(".claude/backups", ".claude/cache", ".claude/ide", ".claude/local", ".claude/*.backup*"),
    ),
    token_files=(TokenFile(".claude/.credentials.json", ("claudeAiOauth.expiresAt",)),),
    sessions=(".claude/projects",),
    folder_variables=(("CLAUDE_CONFIG_DIR", ".claude"),),
    programs=("claude-agent-acp", "claude-code-acp"),
    key_variables=("CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    # renews a token that has expired or soon will, without calling a model
    refresh=("auth", "status"),
    advice="Run `claude setup-token` and set CLAUDE_CODE_OAUTH_TOKEN, or set ANTHROPIC_API_KEY.",
)
_USAGE_REPORT = UsageReport(has_cost=True, has_windows=True)
_STOP_HOOK = StopHook(
    "claude",
    "Stop",
    user_file="settings.json",
    # the user's file, which is not shared by git
    local_file=".claude/settings.local.json",
    home_variable="CLAUDE_CONFIG_DIR",
    home_folder=".claude",
    project_variable="CLAUDE_PROJECT_DIR",
)


@dataclass(frozen=True, slots=True)
class ClaudeAgent:
    name: str = "claude"
    program: str = "claude"
    verified: bool = True
    tested_version: str = "2.1.325"
    min_version: str = "2.1.197"
    update: str = "claude update"
    efforts: tuple[str, ...] | None = ("low", "medium", "high", "xhigh", "max")
    keys: tuple[str, ...] = (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CONFIG_DIR",
        "XDG_CONFIG_HOME",
    )
    output_files: tuple[str, ...] = ()
    # claude searches with ripgrep, which skips files listed in `.ignore` and `.rgignore`
    project_files: tuple[str, ...] = (
        "CLAUDE.md",
        "CLAUDE.local.md",
        "AGENTS.md",
        ".claude",
        ".claude-plugin",
        ".mcp.json",
        ".ignore",
        ".rgignore",
    )
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    reads_files: bool = True
    usage: UsageReport = _USAGE_REPORT
    stop_hook: StopHook | None = _STOP_HOOK

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        # `user`: hooks in the repository's .claude/settings.json would run without permission
        argv = [self.program, "-p", "--output-format", "stream-json", "--verbose", "--setting-sources", "user"]
        argv += _READ_ONLY_TOOLS if request.read_only else _AUTHOR_TOOLS
        if request.model:
            argv += ["--model", request.model]
        argv += settings.effort_option(request, "--effort", "{}")
        if request.schema:
            argv += ["--json-schema", request.schema]
        if settings.resume and request.session:
            argv += ["--resume", request.session]
        env = {
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            # by default it retries for minutes, also with a wrong key; burnish retries according to its settings
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "API_TIMEOUT_MS": "300000",
        }
        if request.quotes_change:
            # else it reads each file that the prompt names as `@path`, and the prompt quotes the change
            env |= NO_ATTACHMENTS
        return Call(argv=tuple(argv), stdin=request.prompt, env=env)

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        stream = read_events(call.stdout)
        results = stream.of_type("result")
        if damage := unreadable("claude", call, stream, max(results, default=-1)):
            return damage
        if not results:
            return missing_answer("claude", call, login=_LOGIN)
        answers = [(event.get("result"), event.get("structured_output")) for event in results.values()]
        if problem := contradictory("claude", call, answers):
            return problem
        result = results[max(results)]
        result_text = text_or_empty(result.get("result"))
        # `subtype` alone is not enough: it is "success" even with a wrong key
        if is_failed(result) or call.exit_code != 0 or no_answer(result_text):
            status = result.get("api_error_status")
            message = result_text or ", ".join(map(str, result.get("errors") or ())) or str(result.get("subtype"))
            return failure(
                "claude",
                message,
                status=status if isinstance(status, int) else None,
                login=_LOGIN,
                is_program_error=is_failed(result),
            )
        if problem := structured_conflict("claude", result, "structured_output"):
            return problem
        answer = result.get("structured_output")
        text = json.dumps(answer, ensure_ascii=False) if isinstance(answer, dict) else result_text
        is_cut = call.role in ("review", "parse") and result.get("stop_reason", "end_turn") not in _WHOLE
        if is_cut or not text:
            return failure("claude", "the answer was cut off", cut=True)
        return replace(_reply(text, list(results.values()), call), windows=_windows(stream))

    def bill(self, call: FinishedCall) -> AgentReply | None:
        results = list(read_events(call.stdout).of_type("result").values())
        if results and all(_is_free(event) for event in results):
            return NOTHING_USED
        return _reply("", results, call) if results else None

    def call_usage(self, event: Json) -> CallUsage | None:
        usage = dig(event, "message", "usage")
        if event.get("type") != "assistant" or not isinstance(usage, dict):
            return None
        new, cache_writes, cached, out = (token_count(usage.get(name)) for name in _TOKEN_KEYS)
        price = cost(text_or_empty(dig(event, "message", "model")), new=new + cache_writes, cached=cached, out=out)
        return text_or_empty(dig(event, "message", "id")), Use(price, new + cache_writes + cached + out)

    def steps(self, event: Json) -> Iterable[Step]:
        return claude_steps(event)


def _windows(stream: EventStream) -> tuple[PlanWindow, ...]:
    """From `rate_limit_event`, which it prints for the plan of an account, not for a key."""
    reports: list[WindowReport] = []
    for event in stream.of_type("rate_limit_event").values():
        windows = dig(event, "rate_limit_info", "unifiedWindows")
        for name, window in windows.items() if isinstance(windows, dict) else ():
            if isinstance(window, dict):
                reports.append((str(name), window.get("utilization"), window.get("resetsAt")))
    return plan_windows(reports)


def _reply(text: str, results: list[Json], call: FinishedCall) -> AgentReply:
    counts = [_tokens(event) for event in results]
    total = highest(counts)
    reply = AgentReply(
        text=text,
        model=_model(results[-1]),
        provider="anthropic",
        tokens=total.total,
        session=text_or_empty(results[-1].get("session_id")) or None,
    )
    costs = [usd for event in results if (usd := dollars(event.get("total_cost_usd"))) is not None]
    models = [call.model, *(_model(event) for event in results)]
    complete = all(count.complete for count in counts)
    own, by_list = max(costs, default=None), total.highest_price(models)
    return billed(reply, own, by_list, has_all_tokens=complete, partial=not any(costs) and not complete)


def _is_free(result: Json) -> bool:
    """Whether a result reports an amount of 0 and no tokens, as after a refused request."""
    count = _tokens(result)
    return dollars(result.get("total_cost_usd")) == 0 and count.complete and count.total == 0


def _tokens(result: Json) -> TokenCount:
    values = [dig(result, "usage", name) for name in _TOKEN_KEYS]
    new, cache_writes, cache_reads, out = map(token_count, values)
    return TokenCount(new + cache_writes, cache_reads, out, are_token_counts((values[0], values[3]), values[1:3]))


def _model(result: Json) -> str | None:
    """The model with the most output tokens; a call may also use smaller models."""
    models = result.get("modelUsage")
    if not isinstance(models, dict) or not models:
        return None
    return str(max(models, key=lambda name: number(dig(models, name, "outputTokens"))))

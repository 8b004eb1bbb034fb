"""cline: one JSON object per line, each with its time first; the answer is in `run_result`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from burnish.agents.failure import contradictory, failure, missing_answer, no_answer, unreadable
from burnish.agents.file_mentions import without_mentions
from burnish.agents.jsonlines import Json, dig, read_events, text_or_empty
from burnish.agents.steps import Problem, Said, Step, ToolEnded, ToolStarted, as_values
from burnish.agents.usage import TokenCount, at_least, billed, dollars
from burnish.core.agent import AgentReply, AgentRequest, Use
from burnish.errors import BadInput

_LOGIN = (
    "Run `cline auth` and log in, or set the key of the provider that it is configured for, e.g. ANTHROPIC_API_KEY."
)
# In front of the prompt, which it reads from a pipe only if there is an argument as well.
_ARGUMENT = "Do the following."
# Calls of tools in a row that failed, before it gives up. By default it does so after three.
_MAX_MISTAKES = "10"
_SETTINGS, _SERVERS, _LOG = "cline-settings.json", "cline-servers.json", "cline.log"
# Tools that wait for a person, or start other agents.
_NOT_ALONE = (
    *("ask_question", "spawn_agent", "team_attach_outcome_fragment", "team_await_runs", "team_broadcast"),
    *("team_cancel_run", "team_cleanup", "team_create_outcome", "team_finalize_outcome", "team_list_outcomes"),
    *("team_list_runs", "team_mission_log", "team_read_mailbox", "team_review_outcome_fragment", "team_run_task"),
    *("team_send_message", "team_shutdown_teammate", "team_spawn_teammate", "team_status", "team_task"),
)
# Plan mode still offers the tool that runs commands.
_NOT_FOR_REVIEWERS = ("run_commands", "editor", "apply_patch", "fetch_web_content", "web_search", "skills")
# Each of these lines repeats the whole message so far; output of commands comes again at their end. `*` is the time.
_EVENT = '{"ts":"*","type":"agent_event","event":{"type":'
_REPEATS = (
    *(f'{_EVENT}"content_start","contentType":"{kind}"' for kind in ("text", "reasoning")),
    f'{_EVENT}"content_update"',
)
# It has no option to leave these out.
_CODE = (".cline/hooks", ".clinerules/hooks", ".cline/plugins")
_EXIT = re.compile(r"^\[Command exited with code (\d+)\]\n?")
# What its log says of errors that it has retried; in its output they look like all others.
_RETRIED = re.compile(r"Failed after \d+ attempts")

LOGIN_FILES = Login(
    paths=(".cline",),
    skipped=(
        *(".cline/data/sessions", ".cline/data/db", ".cline/data/logs", ".cline/data/cache", ".cline/data/locks"),
        *(".cline/data/checkpoint-scratch", ".cline/data/workspaces", ".cline/worktrees", ".cline/remote"),
        *(".cline/hooks", ".cline/plugins", ".cline/cron", ".cline/tasks", ".cline/schedules"),
    ),
    token_files=(TokenFile(".cline/data/settings/providers.json", ("providers.*.settings.auth.expiresAt",)),),
    folder_variables=(("CLINE_DATA_DIR", ".cline/data"), ("CLINE_DIR", ".cline")),
    key_variables=(
        *("CLINE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
        "AI_GATEWAY_API_KEY",
    ),
    advice="Configure a provider with an API key (`cline auth --provider … --apikey …`).",
)
_USAGE_REPORT = UsageReport(has_cost=True, has_model=True)


@dataclass(frozen=True, slots=True)
class ClineAgent:
    name: str = "cline"
    program: str = "cline"
    verified: bool = True
    tested_version: str = "3.0.65"
    min_version: str = "3.0.65"
    update: str = "cline update"
    efforts: tuple[str, ...] | None = ("none", "low", "medium", "high", "xhigh")
    keys: tuple[str, ...] = (*LOGIN_FILES.key_variables, "CLINE_DATA_DIR", "CLINE_DIR")
    output_files: tuple[str, ...] = (_LOG,)
    project_files: tuple[str, ...] = (
        *(".cline", ".clinerules*", ".clineignore", "AGENTS.md", ".agents"),
        ".claude",
    )
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    mention_names: tuple[str, ...] = ("cline",)
    reads_files: bool = True
    usage: UsageReport = _USAGE_REPORT
    stop_hook: StopHook | None = None

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        if code := _code_in_repository(request.cwd):
            raise BadInput(
                f"cline would run code of the repository ({code}), and has no option against it.",
                hint=f"Remove {code}, or use another agent.",
            )
        here, reviews = request.call_dir, request.read_only
        argv = [self.program, "--json", "--retries", _MAX_MISTAKES]
        if reviews:
            argv += ["--plan"]
        if request.model:
            argv += ["--model", request.model]
        argv += settings.effort_option(request, "--thinking", "{}")
        tools = (*_NOT_ALONE, *(_NOT_FOR_REVIEWERS if reviews else ()))
        own = {"telemetryOptOut": True, "autoUpdateEnabled": False, "disabledTools": tools}
        env = {
            # else a daemon does the work, with the settings of the one who started it, and stays
            "CLINE_SESSION_BACKEND_MODE": "local",
            "CLINE_NO_AUTO_UPDATE": "1",
            # of its libraries: four lines for each request
            "NODE_NO_WARNINGS": "1",
            "CLINE_GLOBAL_SETTINGS_PATH": str(here / _SETTINGS),
            "CLINE_LOG_PATH": str(here / _LOG),
        }
        files = {_SETTINGS: json.dumps(own)}
        if reviews:
            env["CLINE_MCP_SETTINGS_PATH"] = str(here / _SERVERS)
            files[_SERVERS] = '{"mcpServers": {}}'
        prompt = without_mentions(request.prompt) if request.quotes_change else request.prompt
        return Call((*argv, _ARGUMENT), stdin=prompt, env=env, files=files, without_lines=_REPEATS, stdin_by_pipe=True)

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        stream = read_events(call.stdout)
        results = stream.of_type("run_result")
        repeats = [index for index, event in stream if _is_end(event)]
        if damage := unreadable("cline", call, stream, max(results, default=-1), repeats):
            return damage
        if not results:
            return missing_answer("cline", call, login=_LOGIN)
        texts = [dig(event, "event", "text") for _, event in stream if dig(event, "event", "type") == "done"]
        if problem := contradictory("cline", call, [*texts, *(event.get("text") for event in results.values())]):
            return problem
        result = results[max(results)]
        text, reason = text_or_empty(result.get("text")), text_or_empty(result.get("finishReason"))
        if reason == "error" or (call.exit_code != 0 and reason == "completed"):
            return _failed(call, text, stream.events)
        if call.exit_code != 0 or reason != "completed" or not text:
            return failure("cline", f"the answer broke off ({reason or 'no end'})", cut=True)
        if no_answer(text):
            return failure("cline", text, login=_LOGIN)
        return _highest(text, results)

    def bill(self, call: FinishedCall) -> AgentReply | None:
        events = read_events(call.stdout)
        results = events.of_type("run_result")
        if results:
            return _highest("", results)
        usages = [event["event"] for _, event in events if dig(event, "event", "type") == "usage"]
        return _reply("", {"usage": _sum(usages[-1])}) if usages else None

    def call_usage(self, event: Json) -> CallUsage | None:
        match event:
            case {"type": "agent_event", "event": {"type": "usage"} as usage}:
                # its sums so far, of the whole run
                total = _sum(usage)
                return "run", Use(dollars(total["totalCost"]) or None, _tokens(total).total)
        return None

    def steps(self, event: Json) -> Iterable[Step]:
        match event:
            case {"type": "agent_event", "event": {"type": str(kind)} as part}:
                return tuple(_steps(kind, part))
            case {"type": "run_aborted", "message": str(text)}:
                return (Problem(text),)
        return ()


def _steps(kind: str, part: Json) -> Iterator[Step]:
    match kind, part:
        case "content_end", {"contentType": "text", "text": str(text)}:
            yield Said(text)
        case "content_end", {"contentType": "reasoning", **thought}:
            yield Said(text_or_empty(thought.get("reasoning")) or text_or_empty(thought.get("text")), is_thought=True)
        case "content_start", {"contentType": "tool", "toolCallId": str(id), "toolName": str(name)}:
            yield ToolStarted(id, *_tool(name, as_values(part.get("input"))))
        case "content_end", {"contentType": "tool", "toolCallId": str(id)}:
            yield _ended(id, part.get("output"))
        case "error", {"error": {"message": str(text)}}:
            yield Problem(text)


def _tool(name: str, values: Json) -> tuple[str, Json]:
    """Its tools take lists: as one action."""
    match name, values:
        case "run_commands", {"commands": list(commands)}:
            return "run_command", {"command": "; ".join(one for one in commands if isinstance(one, str))}
        case "read_files", {"files": list(files)}:
            paths = (dig(one, "path") for one in files)
            return "read_file", {"path": ", ".join(path for path in paths if isinstance(path, str))}
        case "search_codebase", {"queries": list(queries)}:
            return "codebase_search", {"query": ", ".join(one for one in queries if isinstance(one, str))}
        case "editor", _:
            return "edit", values
    return name, values


def _ended(id: str, output: Any) -> ToolEnded:
    results = [one for one in (output if isinstance(output, list) else [output]) if isinstance(one, dict)]
    codes, texts = [], []
    for one in results:
        text = text_or_empty(one.get("result")) or text_or_empty(one.get("error"))
        code = _EXIT.match(text)
        codes += [int(code[1])] if code else []
        texts.append(_EXIT.sub("", text))
    has_failed = any(one.get("success") is False or "error" in one for one in results)
    return ToolEnded(id, "\n".join(texts), codes[0] if codes else None, has_failed=has_failed)


def _is_end(event: Json) -> bool:
    """What it prints after its result when it has failed."""
    return event.get("type") in ("run_aborted", "error")


def _failed(call: FinishedCall, text: str, events: Iterable[Json]) -> AgentFailure:
    classes = [dig(event, "event", "errorClass") for event in events if dig(event, "event", "type") == "error"]
    status = 401 if "auth" in classes else None
    # It retries 429 and 5xx for about a minute, and prints the last message without its status.
    was_retried = not status and bool(_RETRIED.search(call.files.get(_LOG, "")))
    cut = was_retried or "without a finish reason" in text
    return failure("cline", text, status=status, cut=cut, login=_LOGIN, is_program_error=True)


def _code_in_repository(cwd: Path) -> str:
    """A folder with hooks or plugins that cline would run: of the repository, wherever in it the call is made."""
    for folder in (cwd, *cwd.parents):
        for name in _CODE:
            place = folder / name
            if place.is_dir() and any(place.iterdir()):
                return name
        if (folder / ".git").exists():
            break
    return ""


def _sum(usage: Json) -> dict[str, Any]:
    """The sums in an event, under the names of the final result."""
    names = ("InputTokens", "OutputTokens", "CacheReadTokens", "CacheWriteTokens")
    return {f"{name[0].lower()}{name[1:]}": usage.get(f"total{name}") for name in names} | {
        "totalCost": usage.get("totalCost")
    }


def _tokens(usage: Any) -> TokenCount:
    return TokenCount.of(dig(usage, "inputTokens"), dig(usage, "cacheReadTokens"), dig(usage, "outputTokens"))


def _reply(text: str, result: Json) -> AgentReply:
    # with those of agents that it has started
    usage = result.get("aggregateUsage") or result.get("usage")
    count, model = _tokens(usage), text_or_empty(dig(result, "model", "id")) or None
    reply = AgentReply(text, model, text_or_empty(dig(result, "model", "provider")), tokens=count.total)
    return billed(reply, dollars(dig(usage, "totalCost")), count.price(model), has_all_tokens=count.complete)


def _highest(text: str, results: Mapping[int, Json]) -> AgentReply:
    """The last result. A process that a tool started may print another one, which cannot lower the bill."""
    *others, reply = [_reply(text, results[index]) for index in sorted(results)]
    for other in others:
        reply = at_least(reply, Use(other.cost_usd, other.tokens))
    return reply

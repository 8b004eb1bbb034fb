"""Codex: `codex exec`, one JSON object per line; it has the strongest sandbox of these programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from burnish.agents.base import (
    AgentFailure,
    AgentSettings,
    Call,
    FinishedCall,
    Login,
    StopHook,
    TokenFile,
    UsageReport,
)
from burnish.agents.failure import failure, missing_answer, no_answer, unreadable
from burnish.agents.jsonlines import EventStream, Json, dig, json_lines, number, read_events, text_or_empty
from burnish.agents.steps import Problem, Said, Step, ToolEnded, ToolStarted, as_values
from burnish.agents.usage import NOTHING_USED, TokenCount, billed, highest, plan_windows, used_share
from burnish.core.agent import AgentReply, AgentRequest, PlanWindow
from burnish.regular_files import parse_toml, read_regular

_LOGIN = "Run `codex login`, or set CODEX_API_KEY."
# `plugins` connects to the network at every start; `hooks` may come from the repository
_QUIET = (
    *("--disable", "plugins", "--disable", "hooks", "--ignore-rules", "--skip-git-repo-check", "--color", "never"),
    *("-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false", "-c", "feedback.enabled=false"),
)
_MAX_WAITS = 3
_COUNTED = re.compile(r"^Reconnecting\.\.\. \d+/\d+ \((.*)\)$")
_WAITING = re.compile(r"waiting for network|^Reconnecting\.\.\. \d+/\d+")
# `account/read` can renew the token; `codex login status` cannot
_REFRESH = "".join(
    json.dumps(message) + "\n"
    for message in (
        {"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "burnish", "version": "1"}}},
        {"method": "initialized"},
        {"id": 1, "method": "account/read", "params": {"refreshToken": True}},
    )
)

LOGIN_FILES = Login(
    paths=(".codex",),
    skipped=(
        *(".codex/sessions", ".codex/archived_sessions", ".codex/history.jsonl", ".codex/log", ".codex/*.sqlite*"),
        *(".codex/tmp", ".codex/worktrees", ".codex/shell_snapshots", ".codex/thread-writer-locks"),
    ),
    token_files=(TokenFile(".codex/auth.json", ("tokens.access_token",)),),
    sessions=(".codex/sessions",),
    folder_variables=(("CODEX_HOME", ".codex"),),
    programs=("codex-acp",),
    key_variables=("CODEX_API_KEY", "OPENAI_API_KEY"),
    refresh=("app-server",),
    refresh_input=_REFRESH,
    refresh_until='"id":1',
    advice="Set CODEX_API_KEY.",
)


_USAGE_REPORT = UsageReport(has_windows=True)
_NO_REASON = "the turn failed without a reason"


@dataclass(frozen=True, slots=True)
class _Turn:
    """Index of the last event that began or completed a turn, and the failure after the last message."""

    started: int = -1
    completed: int = -1
    failed: str = ""


_STOP_HOOK = StopHook(
    "codex",
    "Stop",
    user_file="hooks.json",
    home_variable="CODEX_HOME",
    home_folder=".codex",
    note="Codex runs a hook only once you have trusted it: it asks when you start it the next time, or see /hooks.",
)


@dataclass(frozen=True, slots=True)
class CodexAgent:
    name: str = "codex"
    program: str = "codex"
    verified: bool = True
    tested_version: str = "0.166.0"
    min_version: str = "0.166.0"
    update: str = "codex update"
    efforts: tuple[str, ...] | None = ()
    keys: tuple[str, ...] = ("CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME")
    output_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = ("AGENTS.md", "AGENTS.override.md", ".codex", ".agents")
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    reads_files: bool = True
    usage: UsageReport = _USAGE_REPORT
    stop_hook: StopHook | None = _STOP_HOOK

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        argv = [self.program, "exec", "--json", *_QUIET]
        # before other options: it takes every word up to the next one
        argv += [word for path in request.images if "," not in str(path) for word in ("-i", str(path))]
        # given each time: a resumed session does not store it
        argv += ["-s", "read-only" if request.read_only else "workspace-write"]
        # else, with write access, it trusts the repository's .codex/config.toml and starts the programs named there
        argv += ["-c", f'projects={{{json.dumps(str(request.cwd))}={{trust_level="untrusted"}}}}']
        if request.read_only:
            # as the user's servers (`without_servers`), it may be a program that loads files of the change
            argv += ["-c", "notify=[]"]
        files = {}
        if request.model:
            argv += ["-m", request.model]
        argv += settings.effort_option(request, "-c", 'model_reasoning_effort="{}"')
        if request.schema:
            argv += ["--output-schema", str(request.call_dir / "schema.json")]
            files["schema.json"] = request.schema
        if settings.resume and request.session:
            argv += ["resume", request.session]
        return Call(argv=(*argv, "-"), stdin=request.prompt, files=files)

    def without_servers(self, call: Call, env: Mapping[str, str]) -> Call:
        # an empty table would be merged with the user's, so that each one has to be named
        servers = [f"{json.dumps(name)}={{enabled=false}}" for name in configured_servers(codex_home(env))]
        options = ("-c", f"mcp_servers={{{','.join(servers)}}}") if servers else ()
        return replace(call, argv=(*call.argv[:2], *options, *call.argv[2:]))

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        text, session, problem, answer_at, turn = "", None, "", -1, _Turn()
        counts: list[TokenCount] = []
        stream = read_events(call.stdout)
        for index, event in stream:
            match event:
                case {"type": "thread.started", "thread_id": str(id_)}:
                    # the first one is the program's own: commands that it starts print only later
                    session = session or id_
                # an item of the type `error` is only a warning
                case {"type": "item.completed", "item": {"type": "agent_message", "text": str(piece)}}:
                    text, answer_at = piece, index
                    turn = _Turn(turn.started, turn.completed)
                case {"type": "turn.started"}:
                    turn = _Turn(index, turn.completed, turn.failed)
                case {"type": "turn.failed"} | {"type": "error"}:
                    problem = (
                        text_or_empty(dig(event, "error", "message"))
                        or text_or_empty(event.get("message"))
                        or _NO_REASON
                    )
                    turn = _Turn(
                        turn.started, turn.completed, problem if event["type"] == "turn.failed" else turn.failed
                    )
                case {"type": "turn.completed"}:
                    counts.append(_tokens(event.get("usage")))
                    problem, turn = turn.failed, _Turn(turn.started, index, turn.failed)
        if problem or call.exit_code != 0:
            return _failed(problem, call)
        if damage := unreadable("codex", call, stream, answer_at):
            return damage
        if not counts:
            return _failed(problem, call)
        if turn.completed < max(answer_at, turn.started):
            return failure("codex", "its last turn did not end", cut=True)
        if not text.strip() or no_answer(text):
            return failure("codex", text or "the answer was empty", cut=not text)
        return replace(_reply(text.strip(), session, counts, call), windows=_windows(call.session_record))

    def bill(self, call: FinishedCall) -> AgentReply | None:
        stream = read_events(call.stdout)
        counts = [_tokens(event.get("usage")) for event in stream.of_type("turn.completed").values()]
        if not counts and _is_unanswered(stream) and call.session_record.get("is_unused"):
            return NOTHING_USED
        usage = call.session_record.get("usage")
        # a turn that failed is counted in the session file alone
        counts += [_tokens(usage)] if usage else []
        return _reply("", _thread(stream), counts, call) if counts else None

    def session_record(self, sessions: Path, stdout: str) -> Mapping[str, Any]:
        return session_record(sessions, _thread(read_events(stdout)))

    def configured_model(self, env: Mapping[str, str]) -> str | None:
        return configured_model(codex_home(env))

    def session_model(self, env: Mapping[str, str], session: str) -> str | None:
        return session_model(codex_home(env), session)

    def steps(self, event: Json) -> Iterable[Step]:
        return _steps(event)

    def abort_reason(self, stdout: str, stderr: str) -> AgentFailure | None:
        """It waits without end for a server that it cannot reach, and for minutes after 429 with `retry-after`.

        Its settings for that (`request_max_retries`, `stream_max_retries`) belong to a provider of the user's own: the
        built-in one has none.
        """
        waits, message = 0, ""
        for event in json_lines(stdout):
            message = text_or_empty(event.get("message"))
            waits = waits + 1 if event.get("type") == "error" and _WAITING.search(message) else 0
        if waits < _MAX_WAITS:
            return None
        status = re.search(r"status:? (\d{3})", message)
        code = int(status[1]) if status else None
        reason = _COUNTED.sub(r"\1", message)
        return failure("codex", reason, status=code, cut=code is None, login=_LOGIN, is_program_error=True)


def _steps(event: Json) -> Iterator[Step]:
    item = event.get("item")
    if not isinstance(item, dict):
        if event.get("type") in ("error", "turn.failed"):
            yield Problem(text_or_empty(event.get("message")) or text_or_empty(dig(event, "error", "message")))
        return
    name, is_done = str(item.get("id")), event.get("type") == "item.completed"
    match item:
        case {"type": "agent_message", "text": str(text)} if is_done:
            yield Said(text)
        case {"type": "reasoning", "text": str(text)} if is_done:
            yield Said(text, is_thought=True)
        case {"type": "error", "message": str(text)} if is_done:
            yield Problem(text)
        case {"type": "command_execution", "command": str(command)}:
            yield ToolStarted(name, "bash", {"command": command})
            if is_done:
                code = item.get("exit_code")
                code = code if isinstance(code, int) else None
                yield ToolEnded(
                    name, text_or_empty(item.get("aggregated_output")), code, item.get("status") == "failed"
                )
        case {"type": "file_change", "changes": [*changes]}:
            paths = [path for change in changes if (path := text_or_empty(dig(change, "path")))]
            yield ToolStarted(name, "edit", {"path": ", ".join(paths)})
            if is_done:
                yield ToolEnded(name, has_failed=item.get("status") == "failed")
        case {"type": "mcp_tool_call", "tool": str(tool)}:
            yield ToolStarted(name, tool, as_values(item.get("arguments")))
            if is_done:
                yield ToolEnded(name, has_failed=item.get("status") == "failed")
        case {"type": "web_search", "query": str(query)}:
            yield ToolStarted(name, "websearch", {"query": query})
            if is_done:
                yield ToolEnded(name)


def _failed(problem: str, call: FinishedCall) -> AgentFailure:
    if not problem:
        return missing_answer("codex", call, login=_LOGIN)
    # after several attempts, the message contains the HTTP status of the attempts
    status = re.search(r"status:? (\d{3})", problem)
    code = int(status[1]) if status else None
    return failure("codex", problem, status=code, login=_LOGIN, is_program_error=True)


def _tokens(usage: Any) -> TokenCount:
    # cached is part of input, reasoning part of output
    return TokenCount.of(*(dig(usage, f"{name}_tokens") for name in ("input", "cached_input", "output")))


def _reply(text: str, session: str | None, counts: list[TokenCount], call: FinishedCall) -> AgentReply:
    total = highest(counts)
    # a resumed session is counted from its beginning
    own_count = total.since(call.session_usage) if session and session == call.resumed else total
    reply = AgentReply(
        text=text, provider="openai", tokens=own_count.total, session=session, session_usage=total.as_json()
    )
    complete = all(count.complete for count in counts)
    return billed(reply, None, own_count.price(call.model), has_all_tokens=complete, partial=not complete)


# -- codex model ----------------------------------------------------------------------------------
# Which model codex uses: it does not print it, so that its price has to be found by its settings.

# What every installation on this machine shares; the user's own settings come first.
SYSTEM_CONFIG = Path("/etc/codex/config.toml")
_MAX_SESSION_LENGTH = 64 * 1024 * 1024


def codex_home(env: Mapping[str, str]) -> Path:
    return Path(env.get("CODEX_HOME") or Path(env.get("HOME") or "~").expanduser() / ".codex")


def configured_model(home: Path) -> str | None:
    """From `config.toml`, with the profile that it selects: as a table of its own file, or as a file beside it."""
    return next((model for path in (home / "config.toml", SYSTEM_CONFIG) if (model := _model_in(path))), None)


def configured_servers(home: Path) -> list[str]:
    """Names of the MCP servers in the settings of the user and of the machine, with the profile that is selected."""
    names: dict[str, None] = {}
    for path in (home / "config.toml", SYSTEM_CONFIG):
        config = _toml(path)
        for layer in (config, _profile_file(path, config)):
            servers = layer.get("mcp_servers")
            names |= dict.fromkeys(servers if isinstance(servers, dict) else ())
    return list(names)


def session_model(home: Path, session: str) -> str | None:
    """The one that codex recorded last in the file of this session."""
    payloads = _recorded(home / "sessions", session, "turn_context")
    models = [model for payload in payloads if isinstance(model := payload.get("model"), str)]
    return models[-1] if models else None


def _model_in(path: Path) -> str | None:
    config = _toml(path)
    if name := _profile(config):
        profiles = config.get("profiles")
        table = profiles.get(name) if isinstance(profiles, dict) else None
        for profile in (_profile_file(path, config), table if isinstance(table, dict) else {}):
            if isinstance(profile.get("model"), str):
                return str(profile["model"])
    model = config.get("model")
    return model if isinstance(model, str) and model else None


def _profile(config: Mapping[str, Any]) -> str:
    name = config.get("profile")
    return name if isinstance(name, str) and re.fullmatch(r"[\w.-]+", name) else ""


def _profile_file(path: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    name = _profile(config)
    return _toml(path.with_name(f"{name}.config.toml")) if name else {}


def _toml(path: Path) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        return parse_toml((read_regular(path) or b"").decode("utf-8"))
    return {}


def _recorded(sessions: Path, session: str | None, kind: str) -> Iterator[Json]:
    """The payloads of this kind in the file of a session."""
    if not session or not re.fullmatch(r"[0-9a-zA-Z-]{8,64}", session):
        return
    mark = f'"{kind}"'.encode()
    for path in sessions.glob(f"*/*/*/rollout-*-{session}.jsonl"):
        # Without a sandbox an author can put a pipe or a link in its place.
        data = read_regular(path, longest=_MAX_SESSION_LENGTH + 1, follow=False) or b""
        for line in data.split(b"\n") if len(data) <= _MAX_SESSION_LENGTH else ():
            if mark not in line:
                continue
            with suppress(ValueError, RecursionError):
                event = json.loads(line)
                payload = dig(event, "payload")
                if isinstance(payload, dict) and kind in (event.get("type"), payload.get("type")):
                    yield payload


# -- session record -------------------------------------------------------------------------------
# What codex writes to the file of its session and does not print: the used share of a plan, and the usage of a turn
# that failed.


def session_record(sessions: Path, session: str | None) -> dict[str, Any]:
    """`windows`, the highest `usage`, and whether the model has answered nothing at all (`is_unused`)."""
    counts = list(_recorded(sessions, session, "token_count"))
    windows = [
        [_window_name(window), used_share(window.get("used_percent"), 100), window.get("resets_at")]
        for payload in counts
        for name in ("primary", "secondary")
        if isinstance(window := dig(payload, "rate_limits", name), dict)
    ]
    usages = [usage for payload in counts if isinstance(usage := dig(payload, "info", "total_token_usage"), dict)]
    record: dict[str, Any] = {"windows": windows} if windows else {}
    if usages:
        record["usage"] = max(usages, key=lambda usage: _tokens(usage).total)
    return record | {"is_unused": bool(counts) and all("info" in one and one["info"] is None for one in counts)}


_WINDOW_NAMES = {300: "five_hour", 10080: "seven_day"}


def _window_name(window: Json) -> str:
    minutes = number(window.get("window_minutes"))
    return _WINDOW_NAMES.get(minutes, f"{minutes} minutes")


def _windows(record: Mapping[str, Any]) -> tuple[PlanWindow, ...]:
    reports = record.get("windows", [])
    return plan_windows((str(name), share, reset) for name, share, reset in reports)


def _thread(stream: EventStream) -> str | None:
    """The first one is the program's own: commands that it starts print only later."""
    threads = [text_or_empty(event.get("thread_id")) for event in stream.of_type("thread.started").values()]
    return next(filter(None, threads), None)


def _is_unanswered(stream: EventStream) -> bool:
    """Whether the model has neither written nor called a tool: a command could have changed the session file."""
    return not stream.gaps and all(dig(event, "item", "type") in (None, "error") for event in stream.events)

"""pi: one JSON object per line, exit code 0 whatever happens; the answer is the last message of the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
from burnish.agents.jsonlines import Json, dig, json_lines, read_events, text_or_empty
from burnish.agents.steps import Problem, Said, Step, ToolEnded, ToolStarted, as_values, joined_text
from burnish.agents.usage import TokenCount, billed, dollars
from burnish.core.agent import AgentReply, AgentRequest, Use

_LOGIN = "Run `pi` once and log in with /login, or set the key of the model's provider, e.g. ANTHROPIC_API_KEY."
# What a repository can bring along in `.pi` is code, or text that is not part of the prompt.
_ALONE = ("--offline", "--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes")
_READ_ONLY_TOOLS = ("--tools", "read,grep,find,ls")
# Each of these lines repeats the whole message so far, twice.
_REPEATS = ('{"type":"message_update"', '{"type":"tool_execution_update"')
_EXIT = re.compile(r"\n*Command exited with code (\d+)\s*$")
# It retries three times, 14 seconds in all; the provider's library retries before that.
_MAX_RETRIES = 2

LOGIN_FILES = Login(
    paths=(".pi/agent",),
    skipped=(
        *(".pi/agent/sessions", ".pi/agent/extensions", ".pi/agent/npm", ".pi/agent/git", ".pi/agent/*.log"),
        ".pi/agent/node_modules",
    ),
    token_files=(TokenFile(".pi/agent/auth.json", ("*.expires",)),),
    sessions=(".pi/agent/sessions",),
    folder_variables=(("PI_CODING_AGENT_DIR", ".pi/agent"),),
    key_variables=(
        *("ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"),
        *("DEEPSEEK_API_KEY", "GROQ_API_KEY", "XAI_API_KEY", "MISTRAL_API_KEY"),
    ),
    advice="Set the key of the model's provider.",
)
_USAGE_REPORT = UsageReport(has_cost=True, has_model=True)


@dataclass(frozen=True, slots=True)
class PiAgent:
    name: str = "pi"
    program: str = "pi"
    verified: bool = True
    tested_version: str = "0.73.1"
    min_version: str = "0.73.1"
    update: str = "pi update pi"
    efforts: tuple[str, ...] | None = ("off", "minimal", "low", "medium", "high", "xhigh")
    keys: tuple[str, ...] = (*LOGIN_FILES.key_variables, "PI_CODING_AGENT_DIR")
    output_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = ("AGENTS.md", "CLAUDE.md", ".pi", ".agents")
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    reads_files: bool = True
    usage: UsageReport = _USAGE_REPORT
    stop_hook: StopHook | None = None

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        argv = [self.program, "-p", "--mode", "json", *_ALONE]
        argv += _READ_ONLY_TOOLS if request.read_only else ()
        if request.model:
            argv += ["--model", request.model]
        argv += settings.effort_option(request, "--thinking", "{}")
        if settings.resume and request.session:
            argv += ["--session", request.session]
        elif not settings.resume:
            argv += ["--no-session"]
        env = {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"}
        return Call(tuple(argv), stdin=request.prompt, env=env, without_lines=_REPEATS)

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        stream = read_events(call.stdout)
        session, answer, answer_at, started_at, ended_at = None, None, -1, -1, -1
        copies: list[object] = []
        for index, event in stream:
            match event:
                case {"type": "session", "id": str(id_)}:
                    # the first one is the program's own: commands that it starts print only later
                    session = session or id_
                case {"type": "message_start", "message": {"role": "assistant"}}:
                    started_at = index
                case {"type": "message_end", "message": {"role": "assistant"} as message}:
                    answer, answer_at, copies = message, index, [_text(message)]
                case {"type": "turn_end", "message": {"role": "assistant"} as message}:
                    copies.append(_text(message))
                case {"type": "agent_end"}:
                    ended_at = index
        repeats = [index for index, event in stream if event.get("type") in ("turn_end", "agent_end")]
        if damage := unreadable("pi", call, stream, answer_at, repeats):
            return damage
        if answer is None:
            return missing_answer("pi", call, login=_LOGIN)
        if problem := contradictory("pi", call, copies):
            return problem
        text, reason = _text(answer), text_or_empty(answer.get("stopReason"))
        error = text_or_empty(answer.get("errorMessage"))
        if call.exit_code != 0 or error or reason in ("error", "aborted") or no_answer(text):
            return failure("pi", error or text or reason, login=_LOGIN, is_program_error=bool(error))
        if reason != "stop" or max(started_at, answer_at) > ended_at or started_at > answer_at or not text:
            return failure("pi", f"the answer broke off ({reason if reason != 'stop' else 'no end'})", cut=True)
        return _reply(text, session, list(_replies(stream.events)))

    def bill(self, call: FinishedCall) -> AgentReply | None:
        messages = list(_replies(read_events(call.stdout).events))
        return _reply("", None, messages) if messages else None

    def call_usage(self, event: Json) -> CallUsage | None:
        message = next(_replies((event,)), None)
        if message is None:
            return None
        # it reports 0 for models whose price it does not know
        use = Use(dollars(dig(message, "usage", "cost", "total")) or None, _tokens(message).total)
        return str(message.get("responseId") or message.get("timestamp") or ""), use

    def steps(self, event: Json) -> Iterable[Step]:
        match event:
            case {"type": "message_end", "message": {"role": "assistant"} as message}:
                return tuple(_said(message))
            case {"type": "tool_execution_start", "toolCallId": str(id), "toolName": str(name)}:
                return (ToolStarted(id, name, as_values(event.get("args"))),)
            case {"type": "tool_execution_end", "toolCallId": str(id)}:
                output = joined_text(dig(event, "result", "content"))
                code = _EXIT.search(output) if event.get("toolName") == "bash" else None
                end = _EXIT.sub("", output) if code else output
                return (ToolEnded(id, end, int(code[1]) if code else None, has_failed=event.get("isError") is True),)
        return ()

    def abort_reason(self, stdout: str, stderr: str) -> AgentFailure | None:
        attempt, problem = 0, ""
        for event in json_lines(stdout):
            match event:
                case {"type": "auto_retry_start", "attempt": int(attempt)}:
                    problem = text_or_empty(event.get("errorMessage"))
                case {"type": "auto_retry_end"}:
                    attempt = 0
        if attempt < _MAX_RETRIES:
            return None
        return failure("pi", problem or "the server does not answer", cut=True, login=_LOGIN, is_program_error=True)


def _replies(events: Iterable[Json]) -> Iterator[dict[str, Any]]:
    """The messages of the model, each once: other events repeat them."""
    for event in events:
        match event:
            case {"type": "message_end", "message": {"role": "assistant"} as message}:
                yield message


def _text(message: Json) -> str:
    return joined_text([part for part in _parts(message) if part.get("type") == "text"]).strip()


def _parts(message: Json) -> list[Json]:
    content = message.get("content")
    return [part for part in (content if isinstance(content, list) else ()) if isinstance(part, dict)]


def _said(message: Json) -> Iterator[Step]:
    for part in _parts(message):
        if text := text_or_empty(part.get("thinking")):
            yield Said(text, is_thought=True)
        elif text := text_or_empty(part.get("text")):
            yield Said(text)
    if error := text_or_empty(message.get("errorMessage")):
        yield Problem(error)


def _tokens(message: Json) -> TokenCount:
    usage = message.get("usage")
    count = TokenCount.apart(dig(usage, "input"), dig(usage, "cacheRead"), dig(usage, "output"))
    return count.plus(TokenCount.apart(dig(usage, "cacheWrite") or 0, 0, 0))


def _reply(text: str, session: str | None, messages: list[dict[str, Any]]) -> AgentReply:
    count = TokenCount()
    for message in messages:
        count = count.plus(_tokens(message))
    last = messages[-1]
    model = text_or_empty(last.get("model")) or None
    reply = AgentReply(text, model, text_or_empty(last.get("provider")), tokens=count.total, session=session)
    amounts = [usd for message in messages if (usd := dollars(dig(message, "usage", "cost", "total")))]
    models = [text_or_empty(message.get("model")) for message in messages]
    # a message without a price beside others that have one: the sum is too low
    partial = 0 < len(amounts) < sum(_tokens(message).total > 0 for message in messages)
    by_list = count.highest_price(models)
    return billed(reply, sum(amounts) or None, by_list, has_all_tokens=count.complete, partial=partial)

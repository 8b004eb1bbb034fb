"""agy (Antigravity CLI): one JSON object per line, with the answer in `result`. Written from its documentation.

Known from its pages, its changelog and reports of its users, not from a run: https://antigravity.google/docs/cli/headless
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from burnish.agents.base import AgentFailure, AgentSettings, Call, FinishedCall, Login, StopHook, UsageReport
from burnish.agents.failure import contradictory, failure, missing_answer, no_answer, unreadable
from burnish.agents.jsonlines import EventStream, Json, dig, read_events, text_or_empty
from burnish.agents.steps import Problem, Said, Step, ToolEnded, ToolStarted, as_values
from burnish.agents.usage import TokenCount, billed
from burnish.core.agent import AgentReply, AgentRequest
from burnish.errors import BadInput

_LOGIN = "Run `agy` once in a terminal and sign in."
_NO_REVIEWS = "agy cannot be limited to reading, as its permissions are in the user's own settings alone"
# Its own limit ends a call with exit code 0 and a part of the answer: burnish's must come first.
_MARGIN_SECONDS = 600
_TIMED_OUT = re.compile(r"^\[agy\] print timeout\b", re.MULTILINE)
# What its tools call their arguments.
_KEYS = {
    **dict.fromkeys(("AbsolutePath", "TargetFile", "DirectoryPath", "SearchPath"), "path"),
    "CommandLine": "command",
    "Query": "query",
    "CodeContent": "content",
}

LOGIN_FILES = Login(
    # its tokens are in the keyring of the user's session
    paths=(".gemini/antigravity-cli", ".gemini/config", ".gemini/GEMINI.md"),
    skipped=tuple(
        f".gemini/antigravity-cli/{name}"
        for name in ("brain", "conversations", "implicit", "scratch", "cache", "log", "logs", "plugins", "*.log")
    ),
    sessions=(".gemini/antigravity-cli/conversations",),
    advice=_LOGIN,
)
_USAGE_REPORT = UsageReport(has_model=True)


@dataclass(frozen=True, slots=True)
class AgyAgent:
    name: str = "agy"
    program: str = "agy"
    verified: bool = False
    tested_version: str = ""
    min_version: str = ""
    update: str = "agy update"
    efforts: tuple[str, ...] | None = None
    keys: tuple[str, ...] = ("DBUS_SESSION_BUS_ADDRESS",)
    output_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = (
        *("GEMINI.md", "AGENTS.md", ".agents", ".agent", ".antigravity*", ".gemini"),
        ".antigravitycli",
    )
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    mention_names: tuple[str, ...] = ("agy", "antigravity-cli")
    review_problem: str = _NO_REVIEWS
    reads_files: bool = True
    usage: UsageReport = _USAGE_REPORT
    stop_hook: StopHook | None = None

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        if request.quotes_change:
            raise BadInput(f"{_NO_REVIEWS}.", hint="Name another agent under `review.agents`.")
        minutes = int(request.timeout_seconds + _MARGIN_SECONDS) // 60
        argv = [self.program, "--output-format", "stream-json", "--dangerously-skip-permissions"]
        # without the folder it may work in one of its own
        argv += ["--print-timeout", f"{minutes}m", "--add-dir", str(request.cwd)]
        if request.model:
            argv += ["--model", request.model]
        if settings.resume and request.session:
            argv += ["--conversation", request.session]
        # It takes a prompt only as an argument, which Linux limits to 128 KiB and shows to other users.
        prompt = f"Your task is in the file {request.call_dir / 'prompt.md'}. Read all of it, then do it."
        argv += ["--add-dir", str(request.call_dir), "-p", prompt]
        return Call(tuple(argv), env={"AGY_CLI_DISABLE_AUTO_UPDATE": "1"})

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        stream = read_events(call.stdout)
        results = {index: event["result"] for index, event in stream if _is_result(event)}
        if damage := unreadable("agy", call, stream, max(results, default=-1)):
            return damage
        if not results:
            return missing_answer("agy", call, login=_LOGIN)
        if problem := contradictory("agy", call, [result.get("response") for result in results.values()]):
            return problem
        result = results[max(results)]
        text, error = text_or_empty(result.get("response")), text_or_empty(result.get("error"))
        if call.exit_code != 0 or result.get("status") != "SUCCESS" or error:
            return failure("agy", error or text, login=_LOGIN, is_program_error=bool(error))
        if result.get("denied_actions"):
            return failure("agy", "it was not allowed to use its tools, and ended without an answer")
        # both are what its own time limit leaves
        if _TIMED_OUT.search(call.stderr) or not _tokens(result).total or not text:
            return failure("agy", "the answer broke off", cut=True)
        if no_answer(text):
            return failure("agy", text, login=_LOGIN)
        return _reply(text, stream, result)

    def bill(self, call: FinishedCall) -> AgentReply | None:
        stream = read_events(call.stdout)
        results = [event["result"] for _, event in stream if _is_result(event)]
        return _reply("", stream, results[-1]) if results and _tokens(results[-1]).total else None

    def steps(self, event: Json) -> Iterable[Step]:
        match event:
            case {"event": "step_update", "step_update": dict(step)}:
                return tuple(_steps(step))
        return ()


def _steps(step: Json) -> Iterator[Step]:
    id, state = str(step.get("step_index")), step.get("state")
    match step:
        case {"step_type": "agent_response"}:
            if isinstance(text := step.get("text_delta"), str):
                yield Said(text, is_piece=state != "DONE")
            if state == "ERROR":
                yield Problem(text_or_empty(step.get("error")) or text_or_empty(dig(step, "error", "message")))
        case {"tool_name": str(name)}:
            info = as_values(step.get("tool_info"))
            values = as_values(info.get("parameters"))
            # the first state may be the last one; a tool that has begun is not begun again
            yield ToolStarted(id, name, {_KEYS.get(key, key): value for key, value in values.items()})
            if state in ("DONE", "ERROR"):
                output = text_or_empty(info.get("output")) or text_or_empty(info.get("error"))
                yield ToolEnded(id, output, has_failed=state == "ERROR" or bool(info.get("error")))


def _is_result(event: Json) -> bool:
    return event.get("event") == "result" and isinstance(event.get("result"), dict)


def _tokens(result: Json) -> TokenCount:
    """Input without what came from the cache; thoughts are part of the output."""
    usage = result.get("usage")
    return TokenCount.apart(dig(usage, "input_tokens"), dig(usage, "cache_read_tokens"), dig(usage, "output_tokens"))


def _reply(text: str, stream: EventStream, result: dict[str, Any]) -> AgentReply:
    inits = [event for _, event in stream if event.get("event") == "init"]
    model = next((name for event in inits if (name := text_or_empty(dig(event, "init", "model")))), None)
    ids = (dig(event, *keys) for event in inits for keys in (("conversation_id",), ("init", "conversation_id")))
    session = next((id for id in map(text_or_empty, ids) if id), None) or text_or_empty(result.get("conversation_id"))
    count = _tokens(result)
    reply = AgentReply(text, model, "agy", tokens=count.total, session=session or None)
    return billed(reply, None, count.price(model), has_all_tokens=count.complete)

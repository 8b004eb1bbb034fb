"""opencode: one JSON object per line; it is over when the last step ended with `stop`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from burnish.agents.base import (
    AgentFailure,
    AgentSettings,
    Call,
    CallUsage,
    FinishedCall,
    HomeSettings,
    Login,
    StopHook,
    TokenFile,
    UsageReport,
)
from burnish.agents.failure import failure, missing_answer, no_answer, unreadable
from burnish.agents.jsonlines import Json, commented_json, dig, json_lines, number, read_events, text_or_empty
from burnish.agents.steps import Problem, Said, Step, ToolEnded, ToolStarted, as_values, joined_text
from burnish.agents.usage import are_token_counts, billed, dollars, token_count
from burnish.core.agent import AgentReply, AgentRequest, Use
from burnish.regular_files import read_regular

_LOGIN = "Run `opencode auth login`, or name the variable with the key under `env:` of the agent."
# Its `plan` agent may still run commands, and `git diff*` alone would write files by `--output`.
_READ_ONLY_TOOLS = dict.fromkeys(("edit", "write", "bash", "task", "webfetch", "external_directory", "skill"), "deny")
# Language servers and formatters may be files of the change, or load some.
_NOTHING_STARTED = {"lsp": False, "formatter": False}
_AUTHOR_TOOLS = {"*": "allow", "question": "deny"}
_QUIET = (
    *("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD"),
    *("OPENCODE_DISABLE_DEFAULT_PLUGINS", "OPENCODE_DISABLE_SHARE"),
    # opencode.json, .opencode and .claude of the repository, which may name programs
    *("OPENCODE_DISABLE_PROJECT_CONFIG", "OPENCODE_DISABLE_CLAUDE_CODE", "OPENCODE_DISABLE_EXTERNAL_SKILLS"),
)
# Code of the user, which `--pure` loads nevertheless.
_CODE_FOLDERS = ("plugin", "plugins", "tool", "tools")
_CODE = tuple(f"{folder}/{name}" for folder in (".config/opencode", ".opencode") for name in _CODE_FOLDERS)
# The same in a repository: the code at the top of a plugin is run, and may load any file.
_PROJECT_CODE = ("opencode.json", "opencode.jsonc", ".opencode")
_MAX_TRIES = 3
_SYSTEM_CONFIG = Path("/etc/opencode")
# not of the small model that finds a title
_REFUSED = re.compile(r'^timestamp=(\S+) .*message="stream error".* small=false .*error\.error="(.*)"$', re.MULTILINE)

LOGIN_FILES = Login(
    paths=(".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"),
    skipped=(
        *(".local/share/opencode/opencode*.db*", ".local/share/opencode/storage", ".local/share/opencode/log"),
        *(".local/share/opencode/snapshot", ".local/share/opencode/tool-output", ".local/share/opencode/project"),
        *(".local/state/opencode/prompt-*", ".local/state/opencode/locks"),
    ),
    token_files=(
        TokenFile(".local/share/opencode/auth.json", ("*.expires",)),
        TokenFile(".local/share/opencode/mcp-auth.json"),
    ),
    sessions=(".local/share/opencode/burnish",),
    session_variables=(("OPENCODE_DB", ".local/share/opencode/burnish/opencode.db"),),
    key_variables=(
        "OPENCODE_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "GEMINI_API_KEY",
    ),
    advice="Use a provider with an API key.",
)
_USAGE_REPORT = UsageReport(
    has_cost=True,
    omits="opencode does not report the call that finds a title",
    omits_over_acp="opencode reports the tokens of its last call only over acp",
)

# A plugin, since opencode has no settings for commands. `opencode run` ends as soon as its session is idle, so the
# review has to end before that: nothing else happens meanwhile. At a terminal it goes on, and gets another message.
_PLUGIN = """\
// Written by `burnish hook install opencode`; `burnish hook uninstall opencode` removes it.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = {command}
const LIMIT = {seconds} * 1000
const NO_TERMINAL = process.argv.includes("run")

function decision(output) {
  try {
    return JSON.parse(output)
  } catch {
    return {}
  }
}

function reviewLater(input) {
  return new Promise((resolve) => {
    const child = spawn("/bin/sh", ["-c", COMMAND], { stdio: ["pipe", "pipe", "ignore"], timeout: LIMIT })
    let output = ""
    child.stdout.on("data", (piece) => (output += piece))
    child.on("error", () => resolve(""))
    child.on("close", () => resolve(output))
    child.stdin.on("error", () => {})
    child.stdin.end(input)
  })
}

export const Burnish = async ({ client, directory }) => {
  const helpers = new Set()
  const finished = new Set()
  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      if (event.type === "session.created" || event.type === "session.updated") {
        if (info?.parentID) helpers.add(info.id)
        return
      }
      const isEnd = event.type === "message.updated" && info?.role === "assistant" && info.finish === "stop"
      if (!isEnd || info.summary || finished.has(info.id) || helpers.has(info.sessionID)) return
      finished.add(info.id)
      const input = JSON.stringify({ session_id: info.sessionID, cwd: directory })
      const output = NO_TERMINAL
        ? spawnSync("/bin/sh", ["-c", COMMAND], { input, stdio: ["pipe", "pipe", "ignore"], timeout: LIMIT }).stdout
        : await reviewLater(input)
      const answer = decision(String(output ?? ""))
      if (answer.decision !== "block") return
      const body = { parts: [{ type: "text", text: answer.reason }] }
      await client.session.promptAsync({ path: { id: info.sessionID }, body })
    },
  }
}
"""
_STOP_HOOK = StopHook(
    "opencode",
    "message.updated",
    user_file="plugin/burnish.js",
    local_file=".opencode/plugin/burnish.js",
    home_folder=".config/opencode",
    script=_PLUGIN,
    note="opencode loads plugins when it starts: start it again. It does not load them with --pure.",
)


@dataclass(frozen=True, slots=True)
class OpencodeAgent:
    name: str = "opencode"
    program: str = "opencode"
    verified: bool = True
    tested_version: str = "1.18.33"
    min_version: str = "1.18.33"
    update: str = "opencode upgrade"
    efforts: tuple[str, ...] | None = ()
    keys: tuple[str, ...] = (
        "OPENCODE_API_KEY",
        "OPENCODE_CONFIG",
        "OPENCODE_CONFIG_DIR",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "GEMINI_API_KEY",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
    )
    output_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = (
        *("AGENTS.md", "CLAUDE.md", "CONTEXT.md", ".claude", ".agents", ".ignore", ".rgignore"),
        *_PROJECT_CODE,
    )
    project_code: tuple[str, ...] = _PROJECT_CODE
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    reads_files: bool = True
    usage: UsageReport = _USAGE_REPORT
    stop_hook: StopHook | None = _STOP_HOOK

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        # not `--auto`: what is neither allowed nor denied is refused, because there is no one to ask
        argv = [self.program, "run", "--pure", "--format", "json", "--thinking", "--print-logs", "--log-level", "ERROR"]
        if request.model:
            argv += ["-m", request.model]
        argv += settings.effort_option(request, "--variant", "{}")
        if settings.resume and request.session:
            argv += ["-s", request.session]
        env = dict.fromkeys(_QUIET, "1")
        if request.read_only:
            # an agent of our own: what the user allows to the usual ones would count more than a general rule
            argv += ["--agent", "burnish-review"]
            reviewer = {"mode": "primary", "description": "reviews", "permission": _READ_ONLY_TOOLS}
            env["OPENCODE_CONFIG_CONTENT"] = json.dumps({"agent": {"burnish-review": reviewer}, **_NOTHING_STARTED})
        env["OPENCODE_PERMISSION"] = json.dumps(_READ_ONLY_TOOLS if request.read_only else _AUTHOR_TOOLS)
        return Call(tuple(argv), stdin=request.prompt, env=env)

    def home_settings(self, request: AgentRequest) -> HomeSettings:
        return dict.fromkeys(_CODE) if request.read_only else {}

    def without_servers(self, call: Call, env: Mapping[str, str]) -> Call:
        # an empty table would be merged with the user's, so that each one has to be named
        settings = json.loads(call.env["OPENCODE_CONFIG_CONTENT"])
        settings["mcp"] = {name: {"enabled": False} for name in configured_servers(env)}
        return replace(call, env={**call.env, "OPENCODE_CONFIG_CONTENT": json.dumps(settings)})

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        text, session, problem, reason, answer_at = "", None, None, "", -1
        in_step = False
        steps: list[Any] = []
        stream = read_events(call.stdout)
        for index, event in stream:
            session = text_or_empty(event.get("sessionID")) or session
            match event:
                case {"type": "text", "part": {"text": str(piece)}}:
                    text, answer_at = piece.strip(), index
                case {"type": "error"}:
                    problem = event.get("error") or {}
                case {"type": "step_start"}:
                    # a text before a tool is not the answer: what the tool showed may have changed it
                    in_step, text = True, "" if reason == "tool-calls" else text
                case {"type": "step_finish", "part": dict(part)}:
                    steps.append(part)
                    in_step = False
                    reason = text_or_empty(part.get("reason"))
        if problem is not None:
            status = dig(problem, "data", "statusCode")
            message = text_or_empty(dig(problem, "data", "message")) or text_or_empty(dig(problem, "name"))
            code = status if isinstance(status, int) else None
            return failure("opencode", message, status=code, login=_LOGIN, is_program_error=True)
        if damage := unreadable("opencode", call, stream, answer_at):
            return damage
        if call.exit_code != 0 or not steps:
            return missing_answer("opencode", call, login=_LOGIN)
        if reason != "stop" or in_step or not text or no_answer(text):
            message = (
                text
                if no_answer(text)
                else f"the answer broke off ({'in a step' if in_step else reason or 'no reason given'})"
            )
            return failure("opencode", message, cut=not no_answer(text), login=_LOGIN)
        return _reply(text, session, steps)

    def call_usage(self, event: Json) -> CallUsage | None:
        part = event.get("part")
        if event.get("type") != "step_finish" or not isinstance(part, dict):
            return None
        # it reports 0 for models whose price it does not know
        return text_or_empty(part.get("id")), Use(dollars(part.get("cost")) or None, _step_tokens(part))

    def steps(self, event: Json) -> Iterable[Step]:
        match event:
            case {"type": "text", "part": {"text": str(text)}}:
                return (Said(text),)
            case {"type": "reasoning", "part": {"text": str(text)}}:
                return (Said(text, is_thought=True),)
            case {"type": "tool_use", "part": {"callID": str(id), "tool": str(name), "state": {**state}}}:
                code = dig(state, "metadata", "exit")
                output = joined_text(state.get("output")) or text_or_empty(state.get("error"))
                end = ToolEnded(id, output, code if isinstance(code, int) else None, state.get("status") == "error")
                return (ToolStarted(id, name, as_values(state.get("input"))), end)
            case {"type": "error"}:
                data = dig(event, "error", "data", "message") or dig(event, "error", "message")
                return (Problem(text_or_empty(data)),)
        return ()

    def abort_reason(self, stdout: str, stderr: str) -> AgentFailure | None:
        """It waits a minute or longer after 429 and 5xx, and retries without end after a cut answer."""
        last_move, breaks = 0, 0
        for event in json_lines(stdout):
            cut = event.get("type") == "step_finish" and dig(event, "part", "reason") not in ("stop", "tool-calls")
            if event.get("type") == "step_start":
                continue
            breaks, last_move = (breaks + 1, last_move) if cut else (0, number(event.get("timestamp")))
        refusals = [error for time, error in _REFUSED.findall(stderr) if _milliseconds(time) > last_move]
        if max(breaks, len(refusals)) < _MAX_TRIES:
            return None
        message = refusals[-1] if refusals else "the answer broke off"
        words = f"{message}, {_MAX_TRIES} times"
        return failure("opencode", words, cut=True, login=_LOGIN, is_program_error=bool(refusals))


def _milliseconds(time: str) -> float:
    try:
        return datetime.fromisoformat(time).timestamp() * 1000
    except ValueError:
        return 0.0


def _token_counts(step: Any) -> list[Any]:
    counts = [dig(step, "tokens", name) for name in ("input", "output", "reasoning")]
    return [*counts, *(dig(step, "tokens", "cache", name) for name in ("read", "write"))]


def _step_tokens(step: Any) -> int:
    return sum(map(token_count, _token_counts(step)))


def _has_all_tokens(step: Any) -> bool:
    given, out, *others = _token_counts(step)
    return are_token_counts((given, out), others)


def _reply(text: str, session: str | None, steps: list[Any]) -> AgentReply:
    tokens = sum(map(_step_tokens, steps))
    amounts = [usd for step in steps if (usd := dollars(step.get("cost"))) is not None]
    reply = AgentReply(text, provider="opencode", tokens=tokens, session=session)
    # A model whose price it does not know costs 0 there. It does not report the call that finds a title.
    return billed(reply, sum(amounts) or None, None, has_all_tokens=all(map(_has_all_tokens, steps)), partial=True)


def configured_servers(env: Mapping[str, str]) -> list[str]:
    """Names of the MCP servers in the settings of the user and of the machine."""
    home = Path(env.get("HOME") or Path.home())
    folders = [Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "opencode", home / ".opencode", _SYSTEM_CONFIG]
    folders += [Path(env["OPENCODE_CONFIG_DIR"])] if env.get("OPENCODE_CONFIG_DIR") else []
    files = [folder / name for folder in folders for name in ("config.json", "opencode.json", "opencode.jsonc")]
    files += [Path(env["OPENCODE_CONFIG"])] if env.get("OPENCODE_CONFIG") else []
    names: dict[str, None] = {}
    for file in files:
        with suppress(ValueError, RecursionError):
            servers = dig(commented_json((read_regular(file) or b"").decode("utf-8")), "mcp")
            names |= dict.fromkeys(servers if isinstance(servers, dict) else ())
    return list(names)

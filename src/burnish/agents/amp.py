"""Amp, by its documentation: it talks to its own service only and was not tried."""

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
from burnish.agents.steps import Step, claude_steps
from burnish.core.agent import AgentReply, AgentRequest

_WRITERS = ("create_file", "edit_file", "undo_edit", "Bash", "Task")

LOGIN_FILES = Login(
    paths=(".config/amp", ".local/share/amp"),
    skipped=(".local/share/amp/threads", ".local/share/amp/history.jsonl", ".local/share/amp/logs"),
    token_files=(TokenFile(".local/share/amp/secrets.json"),),
    key_variables=("AMP_API_KEY",),
    advice="Set AMP_API_KEY.",
)
# Plugins, toolboxes, MCP servers and skills that bring servers along: all may load files of the change. The login is
# elsewhere, and the settings of a review are ours.
_NOTHING_STARTED: HomeSettings = dict.fromkeys((".config/amp", ".config/agents", ".agents", ".claude"))


@dataclass(frozen=True, slots=True)
class AmpAgent:
    """It chooses the model itself: a model is its mode (`smart`, `rush`, …)."""

    name: str = "amp"
    program: str = "amp"
    verified: bool = False
    tested_version: str = ""
    min_version: str = ""
    update: str = "amp update"
    efforts: tuple[str, ...] | None = None
    keys: tuple[str, ...] = ("AMP_API_KEY", "AMP_URL")
    output_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = ("AGENTS.md", "AGENT.md", "CLAUDE.md", ".amp", ".agents", ".claude")
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    mention_names: tuple[str, ...] = ("ampcode",)
    reads_files: bool = True
    usage: UsageReport = REPORTS_NOTHING
    stop_hook: StopHook | None = None

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        argv = [self.program, "-x", "--stream-json", "--no-notifications"]
        files = {}
        if request.read_only:
            rules = ",".join(f'{{"tool": "{name}", "action": "reject"}}' for name in _WRITERS)
            files["amp.json"] = f'{{"amp.permissions": [{rules}]}}'
            argv += ["--settings-file", str(request.call_dir / "amp.json")]
        else:
            argv += ["--dangerously-allow-all"]
        if request.model:
            argv += ["--mode", request.model]
        prompt = without_mentions(request.prompt) if request.quotes_change else request.prompt
        return Call(tuple(argv), stdin=prompt, files=files, env={"AMP_SKIP_UPDATE_CHECK": "1"})

    def home_settings(self, request: AgentRequest) -> HomeSettings:
        return _NOTHING_STARTED if request.read_only else {}

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        login = "Run `amp login`, or set AMP_API_KEY."
        stream = read_events(call.stdout)
        results = stream.of_type("result")
        if damage := unreadable("amp", call, stream, max(results, default=-1)):
            return damage
        if not results:
            return missing_answer("amp", call, login=login)
        if problem := contradictory("amp", call, [event.get("result") for event in results.values()]):
            return problem
        result = results[max(results)]
        text = text_or_empty(result.get("result"))
        if call.exit_code != 0 or is_failed(result) or not text or no_answer(text):
            message = text_or_empty(result.get("error")) or text
            has_failed = is_failed(result)
            return failure("amp", message, cut=not message and not has_failed, login=login, is_program_error=has_failed)
        return AgentReply(text, provider="amp", session=text_or_empty(result.get("session_id")) or None)

    def steps(self, event: Json) -> Iterable[Step]:
        return claude_steps(event)

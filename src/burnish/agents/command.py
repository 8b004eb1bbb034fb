"""Any program: the prompt on its stdin, the reply on its stdout."""

from __future__ import annotations

import re
from dataclasses import dataclass

from burnish.agents.base import REPORTS_NOTHING, AgentFailure, AgentSettings, Call, FinishedCall, UsageReport
from burnish.agents.login import NO_LOGIN, Login
from burnish.agents.stop_hook import StopHook
from burnish.agents.transient import looks_transient
from burnish.core.agent import AgentReply, AgentRequest

_NAMES = re.compile(r"\{(prompt_file|workspace|task|cycle|phase|model)\}")
# These two change files; what they say is a courtesy. A review that says nothing has not happened.
_MAY_BE_SILENT = ("implement", "improve")
# What programs without an adapter of their own read: AGENTS.md and the files of pi, cline, roo, goose, crush, droid,
# kiro, junie, windsurf, continue, auggie and kimi.
OTHER_PROJECT_FILES = (
    *("AGENTS.md", "AGENTS.override.md", "AGENTS.local.md", "AGENT.md", ".agents", ".mcp.json", ".pi", "CRUSH.md"),
    *(".cline", ".clinerules*", ".clineignore", ".roo", ".roorules*", ".rooignore", ".roomodes", ".goosehints"),
    *(".gooseignore", ".crush", ".crush.json", "crush.json", ".crushignore", ".factory", ".kiro", ".junie", ".kimi"),
    *(".windsurf", ".windsurfrules", ".continue", ".continuerules", ".augment*", ".rules"),
)


@dataclass(frozen=True, slots=True)
class CommandAgent:
    """`{prompt_file} {workspace} {task} {cycle} {phase} {model}` in its argv are filled in."""

    name: str = "command"
    program: str = ""
    verified: bool = True
    tested_version: str = ""
    keys: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    project_files: tuple[str, ...] = OTHER_PROJECT_FILES
    login: Login = NO_LOGIN
    required_settings: tuple[str, ...] = ("argv",)
    reads_files: bool = True
    usage: UsageReport = REPORTS_NOTHING
    stop_hook: StopHook | None = None

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        values = {
            "prompt_file": str(request.call_dir / "prompt.md"),
            "workspace": str(request.cwd),
            "task": str(request.task),
            "cycle": str(request.cycle),
            "phase": request.phase,
            "model": request.model or "",
        }
        # In one pass: a value that happens to hold braces is not looked into.
        argv = tuple(_NAMES.sub(lambda found: values[found[1]], word) for word in settings.argv)
        return Call(argv=argv, stdin=request.prompt)

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        if call.exit_code != 0:
            return failed_exit("The command", call)
        text = call.stdout.strip()
        if not text and call.role not in _MAY_BE_SILENT:
            return AgentFailure(
                "The command said nothing.", hint="Its reply is what it prints on stdout; see `burnish log`."
            )
        return AgentReply(text=text or "(no output)", seconds=call.seconds)


def failed_exit(who: str, call: FinishedCall) -> AgentFailure:
    """A program that ended badly, in its own last words."""
    last = next((line for line in reversed((call.stderr.strip() or call.stdout).split("\n")) if line.strip()), "")
    return AgentFailure(
        f"{who} failed with {call.how}{': ' + last.strip()[:300] if last else '.'}",
        retryable=looks_transient(call.stdout, call.stderr),
        hint="Everything it printed: `burnish log`.",
    )

"""Any program: the prompt on its stdin, the reply on its stdout."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.agents.base import (
    NO_LOGIN,
    REPORTS_NOTHING,
    AgentFailure,
    AgentSettings,
    Call,
    FinishedCall,
    Login,
    ReplacesMentions,
    StopHook,
    UsageReport,
)
from burnish.agents.failure import looks_transient
from burnish.agents.file_mentions import NO_ATTACHMENTS, replaces_mentions, without_mentions
from burnish.core.agent import AgentReply, AgentRequest
from burnish.regular_files import read_regular

_NAMES = re.compile(r"\{(prompt_file|workspace|task|cycle|phase|model|effort)\}")
# of a script that is searched for the programs that it starts
_MAX_SCRIPT_LENGTH = 256 * 1024
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
    """`{prompt_file} {workspace} {task} {cycle} {phase} {model} {effort}` in its argv are filled in."""

    name: str = "command"
    program: str = ""
    verified: bool = True
    tested_version: str = ""
    min_version: str = ""
    update: str = ""
    efforts: tuple[str, ...] | None = ()
    keys: tuple[str, ...] = ()
    output_files: tuple[str, ...] = ()
    project_files: tuple[str, ...] = OTHER_PROJECT_FILES
    login: Login = NO_LOGIN
    required_settings: tuple[str, ...] = ("argv",)
    reads_files: bool = True
    usage: UsageReport = REPORTS_NOTHING
    stop_hook: StopHook | None = None

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        is_escaped = request.quotes_change and "@" in request.prompt and _replaces_mentions(settings.argv)
        prompt = without_mentions(request.prompt) if is_escaped else request.prompt
        values = {
            # what differs from the prompt is written to `stdin`
            "prompt_file": str(request.call_dir / ("stdin" if is_escaped else "prompt.md")),
            "workspace": str(request.cwd),
            "task": str(request.task),
            "cycle": str(request.cycle),
            "phase": request.phase,
            "model": request.model or "",
            "effort": settings.effort(request),
        }
        # In one pass, so that braces inside a value are not replaced.
        argv = tuple(_NAMES.sub(lambda found: values[found[1]], word) for word in settings.argv)
        return Call(argv=argv, stdin=prompt, env=NO_ATTACHMENTS if request.quotes_change else {})

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        if call.exit_code != 0:
            return failed_exit("The command", call)
        text = call.stdout.strip()
        if not text and call.role not in _MAY_BE_SILENT:
            return AgentFailure(
                "The command printed nothing.", hint="Its reply is what it prints on stdout; see `burnish log`."
            )
        return AgentReply(text=text or "(no output)", seconds=call.seconds)


def _replaces_mentions(argv: Sequence[str]) -> bool:
    """By its name, behind links too, or by the text of a script that it is, or that it is given."""
    # the registry names this module
    from burnish.agents.registry import AGENTS

    program = shutil.which(argv[0]) if argv else None
    files = [Path(word) for word in (*([program] if program else []), *argv) if "/" in word or "." in word]
    names = [*argv, *(str(file.resolve()) for file in files)]
    data = (read_regular(file, longest=_MAX_SCRIPT_LENGTH) or b"" for file in files)
    scripts = (text.decode("utf-8", "replace") for text in data if b"\0" not in text)
    adapter_names = [
        name for agent in AGENTS.values() if isinstance(agent, ReplacesMentions) for name in agent.mention_names
    ]
    return replaces_mentions(map(_last_parts, names), scripts, adapter_names)


def _last_parts(word: str) -> str:
    """Of a path the file and its folder (`gemini-cli/index.js`); any other word as it is."""
    return "/".join(word.split("/")[-2:]) if word.startswith("/") else word


def failed_exit(who: str, call: FinishedCall) -> AgentFailure:
    """A program that ended badly, in its own last words."""
    last = next((line for line in reversed((call.stderr.strip() or call.stdout).split("\n")) if line.strip()), "")
    return AgentFailure(
        f"{who} failed with {call.how}{': ' + last.strip()[:300] if last else '.'}",
        retryable=looks_transient(call.stdout, call.stderr),
        hint="Everything it printed: `burnish log`.",
    )

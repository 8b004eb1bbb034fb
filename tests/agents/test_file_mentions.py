"""Text of a change that names a file as `@path` has no program attach that file to a reviewer's prompt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from burnish.agents.amp import AmpAgent
from burnish.agents.base import AgentSettings
from burnish.agents.claude import ClaudeAgent
from burnish.agents.command import CommandAgent
from burnish.agents.cursor import CursorAgent
from burnish.agents.file_mentions import NO_ATTACHMENTS, plain_answer, without_mentions
from burnish.agents.gemini import GeminiAgent
from burnish.agents.qwen import QwenAgent
from burnish.core.agent import AgentRequest

SETTINGS = AgentSettings(name="it", kind="it")
PROMPT = '+# as in @EVIL.md\n+@property\n+see a\\@b, "@~/.ssh/id_rsa"\n@@ -0,0 +1 @@\n'
# as gemini and qwen find them
MENTION = re.compile(r"(?<!\\)@")


def request(**changes: Any) -> AgentRequest:
    values: dict[str, Any] = {"role": "review", "phase": "review", "prompt": PROMPT, "task": 1, "cycle": 1}
    values |= {"agent": "it", "cwd": Path("/w"), "call_dir": Path("/calls/1"), "timeout_seconds": 60.0}
    return AgentRequest(**{**values, "read_only": True, **changes})


@pytest.mark.parametrize("agent", [GeminiAgent(), QwenAgent(), AmpAgent(), CursorAgent()], ids=lambda one: one.name)
def test_a_reviewer_s_prompt_mentions_no_file(agent: Any) -> None:
    sent = agent.call(request(), SETTINGS).stdin

    assert not MENTION.search(sent)
    assert sent.endswith(PROMPT.replace("@", "\\@").replace("\\\\@", "\\@"))
    # a reviewer that may repair what it finds
    assert agent.call(request(read_only=False), SETTINGS).stdin == sent
    # the words of the user's own task
    assert agent.call(request(read_only=False, role="implement"), SETTINGS).stdin == PROMPT


def test_claude_attaches_nothing_for_a_reviewer() -> None:
    call = ClaudeAgent().call(request(), SETTINGS)

    assert call.env["CLAUDE_CODE_DISABLE_ATTACHMENTS"] == "1" and call.stdin == PROMPT
    author = ClaudeAgent().call(request(read_only=False, role="implement"), SETTINGS)
    assert "CLAUDE_CODE_DISABLE_ATTACHMENTS" not in author.env


COMMANDS = {
    "by name": ("gemini", "-p"),
    "a path": ("/opt/tools/qwen", "-p"),
    "a package": ("npx", "-y", "@google/gemini-cli"),
    "a shell": ("sh", "-c", 'amp -x "$(cat {prompt_file})"'),
    "a script": ("{tmp}/judge.sh",),
    "a script behind an interpreter": ("bash", "{tmp}/judge.sh", "{prompt_file}"),
    "a link": ("{tmp}/judge",),
}


@pytest.mark.parametrize("argv", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_command_that_names_a_program_which_attaches_files_is_sent_no_mention(argv: Any, tmp_path: Path) -> None:
    (tmp_path / "judge.sh").write_text("#!/bin/sh\nexec gemini -m gemini-2.5-pro\n")
    (tmp_path / "cursor").mkdir()
    (tmp_path / "cursor" / "cli.js").write_text("")
    (tmp_path / "judge").symlink_to(tmp_path / "cursor" / "cli.js")
    argv = tuple(word.replace("{tmp}", str(tmp_path)) for word in argv)
    settings = AgentSettings("it", "command", argv=argv)
    call = CommandAgent().call(request(), settings)

    assert call.stdin and not MENTION.search(call.stdin) and call.env == NO_ATTACHMENTS
    assert not any("prompt.md" in word for word in call.argv)
    author = CommandAgent().call(request(read_only=False, role="implement"), settings)
    assert author.stdin == PROMPT and not author.env


@pytest.mark.parametrize("text", ["for f in *; do continue; done\n", "&amp; import gemini_tools\n", "\0gemini"])
def test_other_commands_get_the_prompt_as_it_is_and_claude_attaches_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "judge").write_text(text)
    for argv in ((str(tmp_path / "judge"),), ("claude", "-p"), ("python3", "example.py", "{prompt_file}")):
        call = CommandAgent().call(request(), AgentSettings("it", "command", argv=argv))
        assert call.stdin == PROMPT and call.env == NO_ATTACHMENTS


def test_a_prompt_without_at_signs_is_sent_as_it_is() -> None:
    assert without_mentions("x = 1\n") == "x = 1\n"


@pytest.mark.parametrize("quote", ["@property", "\\@property", "\\\\@property"])
def test_the_answer_quotes_what_is_in_the_file(quote: str) -> None:
    reply = plain_answer(f'{{"quote": "{quote}"}}', prompt=without_mentions(PROMPT))

    assert json.loads(reply) == {"quote": "@property"}
    assert plain_answer(quote, prompt=PROMPT) == quote


@pytest.mark.parametrize(("agent", "file"), [(GeminiAgent(), "gemini.json"), (QwenAgent(), "qwen.json")])
def test_reviewers_read_instructions_only_by_names_that_the_base_decides(agent: Any, file: str) -> None:
    """`context.fileName` of the user's settings may be any name, and a change could add such a file."""
    names = json.loads(agent.call(request(), SETTINGS).files[file])["context"]["fileName"]

    assert names and set(names) <= set(agent.project_files)

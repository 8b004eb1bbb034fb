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
from burnish.agents.cursor import CursorAgent
from burnish.agents.file_mentions import plain_answer, without_mentions
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
    # the words of the user's own task
    assert agent.call(request(read_only=False), SETTINGS).stdin == PROMPT


def test_claude_attaches_nothing_for_a_reviewer() -> None:
    call = ClaudeAgent().call(request(), SETTINGS)

    assert call.env["CLAUDE_CODE_DISABLE_ATTACHMENTS"] == "1" and call.stdin == PROMPT
    assert "CLAUDE_CODE_DISABLE_ATTACHMENTS" not in ClaudeAgent().call(request(read_only=False), SETTINGS).env


def test_a_prompt_without_at_signs_is_sent_as_it_is() -> None:
    assert without_mentions("x = 1\n") == "x = 1\n"


@pytest.mark.parametrize("quote", ["@property", "\\@property", "\\\\@property"])
def test_the_answer_quotes_what_is_in_the_file(quote: str) -> None:
    reply = plain_answer(f'{{"quote": "{quote}"}}', sent=without_mentions(PROMPT))

    assert json.loads(reply) == {"quote": "@property"}
    assert plain_answer(quote, sent=PROMPT) == quote


@pytest.mark.parametrize(("agent", "file"), [(GeminiAgent(), "gemini.json"), (QwenAgent(), "qwen.json")])
def test_reviewers_read_instructions_only_by_names_that_the_base_decides(agent: Any, file: str) -> None:
    """`context.fileName` of the user's settings may be any name, and a change could add such a file."""
    names = json.loads(agent.call(request(), SETTINGS).files[file])["context"]["fileName"]

    assert names and set(names) <= set(agent.project_files)

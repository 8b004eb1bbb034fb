"""A session that the program no longer knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.agents.failure import is_session_gone
from testing.lab import Lab
from testing.program import PROGRAM, put_on_path

FORGETFUL = """
import json, os, sys
if "--resume" in sys.argv:
    with open(os.path.dirname(os.environ["HOME"]) + "/program.jsonl", "a") as log:
        log.write(json.dumps({"argv": sys.argv[1:], "phase": "refused"}) + "\\n")
    print("No conversation found with session ID: one", file=sys.stderr)
    sys.exit(1)
"""


def test_the_author_begins_a_new_session_once_and_the_run_says_so(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    settings = "agent: claude\nagents: {claude: {resume: true}}\nreview: {agents: [claude]}"
    put_on_path(lab, settings, FORGETFUL + PROGRAM)
    lab.add("Add division")
    result = lab.burnish("run", "1")
    assert "The session of claude is gone: it begins a new one with the full prompt." in result.err
    calls = [json.loads(line) for line in (lab.root / "program.jsonl").read_text().splitlines()]
    assert [call["phase"] for call in calls] == ["implement", "review", "refused", "improve", "review"]
    assert lab.task()["status"] == "verified"


@pytest.mark.parametrize(
    "message",
    [
        "claude failed: exit code 1: No conversation found with session ID: 5f6c.",
        "codex failed: no rollout found for thread id 01a1e10c.",
        "opencode failed: Session not found: ses_1.",
    ],
)
def test_the_words_of_each_program(message: str) -> None:
    assert is_session_gone(message)
    assert not is_session_gone("claude failed: 500 internal server error.")

"""A session that the program no longer knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.agents.failure import is_session_gone
from testing.lab import Lab
from testing.program import PROGRAM, put_on_path

# as Claude Code 2.1 prints it; a program that prints nothing on stdout, as codex, has not asked its model either
FREE = {
    "type": "result",
    "subtype": "error_during_execution",
    "is_error": True,
    "total_cost_usd": 0,
    "errors": ["No conversation found with session ID: one"],
    "usage": {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0},
}
FORGETFUL = """
import json, os, sys
if "--resume" in sys.argv:
    print(REPORT, end="")
    with open(os.path.dirname(os.environ["HOME"]) + "/program.jsonl", "a") as log:
        log.write(json.dumps({"argv": sys.argv[1:], "phase": "refused"}) + "\\n")
    print("No conversation found with session ID: one", file=sys.stderr)
    sys.exit(1)
"""


@pytest.mark.parametrize("report", [json.dumps(FREE) + "\n", ""])
def test_the_author_begins_a_new_session_once_and_the_run_says_so(tmp_path: Path, report: str) -> None:
    lab = Lab.make(tmp_path)
    settings = "agent: claude\nagents: {claude: {resume: true}}\nreview: {agents: [claude]}"
    put_on_path(lab, settings, f"REPORT = {report!r}{FORGETFUL}{PROGRAM}")
    lab.add("Add division")
    result = lab.burnish("run", "1")
    assert "The session of claude is gone: it begins a new one with the full prompt." in result.err
    calls = [json.loads(line) for line in (lab.root / "program.jsonl").read_text().splitlines()]
    assert [call["phase"] for call in calls] == ["implement", "review", "refused", "improve", "review"]
    assert lab.task()["status"] == "verified"
    # the refused call is free, and known to be
    assert (lab.task()["cost_usd"], lab.task()["cost_source"]) == (1.0, "program")
    assert (
        "note: The session of claude is gone: it begins a new one with the full prompt." in lab.burnish("show", "1").out
    )


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

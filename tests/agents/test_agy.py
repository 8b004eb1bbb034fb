"""agy, which could not be tried: an author only, and its exit code 0 with "SUCCESS" is not an answer by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from burnish.agents.agy import AgyAgent
from burnish.agents.base import AgentFailure, AgentSettings, FinishedCall
from burnish.agents.steps import Said, ToolEnded, ToolStarted
from burnish.config.loading import load
from burnish.config.policy import RoleResolver
from burnish.core.agent import AgentReply
from burnish.core.task import Spec
from burnish.errors import BadInput
from testing.agent_samples import request

SETTINGS = AgentSettings("agy", "agy", resume=True)
USAGE = {"input_tokens": 100, "output_tokens": 20, "thinking_tokens": 5, "cache_read_tokens": 1000}


def read(code: int = 0, stderr: str = "", **changes: Any) -> AgentReply | AgentFailure:
    init = {"event": "init", "conversation_id": "c1", "init": {"model": "gemini-3-pro"}}
    result = {"event": "result", "result": {"status": "SUCCESS", "response": "Done.", "usage": USAGE, **changes}}
    stdout = "".join(json.dumps(event) + "\n" for event in (init, result))
    return AgyAgent().read(FinishedCall(code, None, "exit", stdout, stderr, "implement"))


def test_its_result_is_the_answer() -> None:
    reply = read()
    assert isinstance(reply, AgentReply)
    assert (reply.text, reply.session, reply.model, reply.tokens) == ("Done.", "c1", "gemini-3-pro", 1120)
    assert reply.cost_usd == pytest.approx((100 * 2 + 1000 * 0.2 + 20 * 12) / 1e6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"code": 1, "status": "ERROR", "error": "not logged in"}, "not logged in"),
        ({"status": "ERROR", "response": "I will report shortly.", "error": "user denied permission"}, "denied"),
        ({"response": "", "denied_actions": [{"action": "command"}]}, "not allowed to use its tools"),
        ({"response": "A part", "usage": dict.fromkeys(USAGE, 0)}, "broke off"),
        ({"stderr": "[agy] print timeout after 5m0s with turn in progress; returning partial output"}, "broke off"),
        ({"response": ""}, "broke off"),
    ],
)
def test_success_alone_is_not_an_answer(changes: dict[str, Any], words: str) -> None:
    answer = read(**changes)
    assert isinstance(answer, AgentFailure) and words in answer.what


def test_a_used_up_quota_is_a_limit_that_ends() -> None:
    answer = read(code=3, status="ERROR", error="You have exhausted your quota. Resets in 34m13s.")
    assert isinstance(answer, AgentFailure) and "34m13s" in answer.limit


def test_its_prompt_is_read_from_a_file_that_it_may_open() -> None:
    argv = AgyAgent().call(request(prompt="Do it.", session="c1"), SETTINGS).argv
    assert argv[-2] == "-p" and "/calls/1/prompt.md" in argv[-1] and "Do it." not in argv
    folders = [argv[index + 1] for index, word in enumerate(argv) if word == "--add-dir"]
    assert folders == ["/ws", "/calls/1"] and argv[argv.index("--conversation") + 1] == "c1"


def test_its_steps() -> None:
    def steps(**step: Any) -> tuple[Any, ...]:
        return tuple(AgyAgent().steps({"event": "step_update", "step_update": step}))

    assert steps(step_index=2, step_type="agent_response", state="ACTIVE", text_delta="I l") == (Said("I l", True),)
    info = {"name": "run_command", "parameters": {"CommandLine": "ls"}, "output": "a"}
    tool = {"step_index": 4, "step_type": "tool", "tool_name": "run_command"}
    assert steps(**tool, state="ACTIVE", tool_info=info) == (ToolStarted("4", "run_command", {"command": "ls"}),)
    assert steps(**tool, state="DONE", tool_info=info)[1:] == (ToolEnded("4", "a"),)


def test_it_is_never_a_reviewer(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be limited to reading"):
        AgyAgent().call(request(read_only=True), SETTINGS)

    def panel(text: str, *installed: str) -> list[str]:
        (tmp_path / "burnish.yaml").write_text(text)
        config = load(tmp_path, env={})
        resolver = RoleResolver(config, Spec("One"), lambda name: name in installed)
        return [one.agent for one in resolver.panel(config.review.agents)]

    assert panel("agent: agy", "agy") == ["static"]
    assert panel("agent: agy", "agy", "codex") == ["codex"]
    with pytest.raises(BadInput, match=r"review.agents\[0\]: agy cannot review"):
        panel("agent: codex\nreview: {agents: [agy]}", "agy", "codex")

"""Qwen Code: it says that all went well even when the key was wrong."""

from __future__ import annotations

import json

import pytest

from burnish.agents.base import NO_SERVER, AgentFailure, AgentSettings
from burnish.agents.qwen import QwenAgent
from burnish.core.agent import AgentReply
from testing.agent_samples import request, spoken

SETTINGS = AgentSettings("qwen", "qwen")


def read(exit_code: int = 0, **changes: object) -> AgentReply | AgentFailure:
    usage = {"input_tokens": 1000, "output_tokens": 10}
    told = {"type": "result", "is_error": False, "result": "Fine.", "session_id": "s", "usage": usage, **changes}
    stdout = json.dumps({"type": "assistant", "message": {"model": "qwen3-coder-plus"}}) + "\n" + json.dumps(told)
    return QwenAgent().read(spoken("qwen", "implement", stdout=stdout, exit_code=exit_code))


def test_a_reviewer_has_no_tool_to_write_with() -> None:
    call = QwenAgent().call(request(read_only=True, schema="{}"), SETTINGS)

    assert call.argv[call.argv.index("--approval-mode") + 1] == "plan"
    assert "write_file" in call.argv[call.argv.index("--exclude-tools") + 1]
    assert call.argv[call.argv.index("--json-schema") + 1] == "@/calls/1/schema.json" and call.files["schema.json"]


def test_a_reviewer_is_not_told_the_names_of_files_before_the_prompt() -> None:
    """Qwen's own list of the folder has no fence, and the author of a change chooses the names."""
    told = json.loads(QwenAgent().call(request(read_only=True), SETTINGS).files["qwen.json"])

    assert told["model"] == {"generationConfig": {"maxRetries": 0}, "skipStartupContext": True}


def test_the_repository_starts_nothing() -> None:
    call = QwenAgent().call(request(), SETTINGS)
    told = json.loads(call.files["qwen.json"])

    assert call.env["QWEN_CODE_SYSTEM_SETTINGS_PATH"] == "/calls/1/qwen.json"
    assert told["disableAllHooks"] is True and told["mcp"]["allowed"] == [NO_SERVER]


@pytest.mark.parametrize(("text", "retryable"), [("[API Error: 401 wrong key]", 0), ("[API Error: 503 busy]", 1)])
def test_an_error_as_an_answer_is_a_failure(text: str, retryable: int) -> None:
    answer = read(result=text)

    assert isinstance(answer, AgentFailure) and answer.retryable is bool(retryable)


def test_tokens_and_cost_are_counted() -> None:
    reply = read()

    assert isinstance(reply, AgentReply) and reply.tokens == 1010
    assert reply.cost_usd == pytest.approx((1000 * 1 + 10 * 5) / 1e6)


def test_an_empty_answer_is_none() -> None:
    assert isinstance(read(result=""), AgentFailure)
    assert isinstance(read(is_error=True), AgentFailure)

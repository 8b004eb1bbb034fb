"""Claude Code: what it is started with, and the traps in what it prints."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from burnish.agents.base import AgentFailure, AgentSettings, FinishedCall
from burnish.agents.claude import ClaudeAgent
from burnish.core.agent import AgentReply
from testing.agent_samples import request, spoken

SETTINGS = AgentSettings("claude", "claude")


def result(**changes: object) -> str:
    told = {"type": "result", "subtype": "success", "is_error": False, "result": "Fine.", "session_id": "e47d"}
    return json.dumps({"type": "system"}) + "\n" + json.dumps({**told, **changes}) + "\n"


def read(stdout: str, exit_code: int = 0, stderr: str = "") -> AgentReply | AgentFailure:
    return ClaudeAgent().read(spoken("claude", "implement", stdout=stdout, exit_code=exit_code, stderr=stderr))


def test_a_reviewer_has_no_tool_to_write_with_and_no_settings_of_the_repository() -> None:
    argv = ClaudeAgent().call(request(read_only=True), SETTINGS).argv

    assert argv[argv.index("--tools") + 1] == "Read,Grep,Glob"
    assert argv[argv.index("--setting-sources") + 1] == "user"
    assert "--strict-mcp-config" in argv


def test_the_schema_and_the_session_are_handed_on() -> None:
    asked = request(schema='{"type": "object"}', session="e47d")
    fresh = ClaudeAgent().call(asked, SETTINGS).argv
    resumed = ClaudeAgent().call(asked, AgentSettings("claude", "claude", resume=True)).argv

    assert fresh[fresh.index("--json-schema") + 1] == '{"type": "object"}'
    assert "--resume" not in fresh and resumed[-2:] == ("--resume", "e47d")


def test_it_waits_for_nothing_and_tells_nobody() -> None:
    env = ClaudeAgent().call(request(), SETTINGS).env

    assert env["CLAUDE_CODE_MAX_RETRIES"] == "1" and env["DISABLE_TELEMETRY"] == env["DISABLE_AUTOUPDATER"] == "1"


def test_tokens_cost_model_and_session_are_read() -> None:
    reply = ClaudeAgent().read(spoken("claude", "implement"))

    assert isinstance(reply, AgentReply)
    assert reply.tokens > 1000 and reply.cost_usd and reply.session
    assert reply.model and reply.model.startswith("claude-")


@pytest.mark.attacks("count an answer that did not end as a review", 3)
@pytest.mark.parametrize("reason", ["pause_turn", "max_tokens", "a reason of the future", None])
def test_a_review_whose_answer_did_not_end_is_a_failure(reason: str | None) -> None:
    """claude reports success all the same, also where the model's server gave no reason."""
    finished = spoken("claude", "review", stdout=result(stop_reason=reason))
    answer = ClaudeAgent().read(replace(finished, role="review"))

    assert isinstance(answer, AgentFailure) and answer.retryable


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "tool_use"])
def test_a_review_whose_answer_ended_is_read(reason: str) -> None:
    finished = spoken("claude", "review", stdout=result(stop_reason=reason))

    assert isinstance(ClaudeAgent().read(replace(finished, role="review")), AgentReply)


def test_success_is_not_believed_when_the_error_flag_is_set() -> None:
    answer = read(result(is_error=True, result="API Error: 529 overloaded", api_error_status=529), exit_code=1)

    assert isinstance(answer, AgentFailure) and answer.retryable


def test_an_empty_result_with_exit_code_0_is_a_cut_stream() -> None:
    answer = read(result(result=""))

    assert isinstance(answer, AgentFailure) and answer.retryable


@pytest.mark.parametrize(
    ("text", "retryable"),
    [
        ("Claude AI usage limit reached|1763222400", False),
        ("You've hit your session limit · resets 3pm", False),
        ("Not logged in · Please run /login", False),
        ("API Error: 429 rate_limit_error", True),
        ("Credit balance is too low", False),
    ],
)
def test_an_excuse_with_exit_code_0_is_no_answer(text: str, retryable: bool) -> None:
    answer = read(result(result=text))

    assert isinstance(answer, AgentFailure) and answer.retryable is retryable


def test_an_answer_about_limits_is_an_answer() -> None:
    for text in ("The API error is handled now; rate limits too.", "I added a limit: 429 is sent when it is reached."):
        assert isinstance(read(result(result=text)), AgentReply)


def test_a_budget_or_turn_limit_is_named() -> None:
    answer = read(result(is_error=True, result=None, subtype="error_max_turns", errors=["Reached 3 turns"]), 1)

    assert isinstance(answer, AgentFailure) and "Reached 3 turns" in answer.what and not answer.retryable


def test_plain_words_on_stderr_are_told() -> None:
    answer = read("", exit_code=1, stderr="No conversation found with session ID: 123\n")

    assert isinstance(answer, AgentFailure) and "No conversation found" in answer.what


def window_event(**windows: object) -> str:
    """As claude 2.1.325 printed it for a server that sends `anthropic-ratelimit-unified-…`."""
    return json.dumps({"type": "rate_limit_event", "rate_limit_info": {"status": "allowed", "unifiedWindows": windows}})


def test_the_share_of_each_window_of_the_plan_is_read_and_no_other_line_lowers_it() -> None:
    real = {"utilization": 0.93, "resetsAt": 1794949468, "status": "allowed"}
    week = {"utilization": 0.61, "resetsAt": 1795035868, "status": "allowed"}
    lines = [
        window_event(five_hour=real, seven_day=week),
        # of a process that it started
        window_event(five_hour={**real, "utilization": 0.1}),
        window_event(five_hour={**real, "utilization": 1.0, "resetsAt": 1794940000}),
        window_event(five_hour={"utilization": "0.9", "resetsAt": 1}, seven_day=7),
        window_event(five_hour={**real, "utilization": float("nan")}),
        window_event(five_hour={**real, "utilization": -(10**400)}),
        json.dumps({"type": "rate_limit_event", "rate_limit_info": "none"}),
    ]
    result = {"type": "result", "is_error": False, "result": "Done.", "session_id": "one"}
    stdout = "\n".join([*lines, json.dumps(result)]) + "\n"
    reply = ClaudeAgent().read(FinishedCall(0, None, "exit", stdout, ""))
    assert isinstance(reply, AgentReply)
    assert {(one.name, one.share, one.until) for one in reply.windows} == {
        ("five_hour", 0.93, "2026-11-17T21:04:28+00:00"),
        ("five_hour", 1.0, "2026-11-17T18:26:40+00:00"),
        ("seven_day", 0.61, "2026-11-18T21:04:28+00:00"),
    }

"""Copilot: the last message counts, if the last line says that all went well."""

from __future__ import annotations

import json
from dataclasses import replace

from burnish.agents.base import AgentFailure, AgentSettings
from burnish.agents.copilot import CopilotAgent
from burnish.core.agent import AgentReply
from testing.agent_samples import request, spoken

SETTINGS = AgentSettings("copilot", "copilot")
RESULT = {"type": "result", "sessionId": "s", "exitCode": 0}


def said(text: str) -> dict[str, object]:
    return {"type": "assistant.message", "data": {"content": text}}


def read(*events: dict[str, object], exit_code: int = 0, usage: str = "") -> AgentReply | AgentFailure:
    stdout = "".join(json.dumps(event) + "\n" for event in events)
    done = spoken("copilot", "implement", stdout=stdout, exit_code=exit_code, files={"usage.json": usage})
    return CopilotAgent().read(done)


def test_a_reviewer_can_only_look() -> None:
    look = CopilotAgent().call(request(read_only=True), SETTINGS).argv

    assert "--allow-all-tools" not in look and look[look.index("--available-tools") + 1] == "view,grep,glob"
    assert look.count("--deny-tool") == 2


def test_the_repository_is_never_trusted() -> None:
    assert "COPILOT_ALLOW_ALL" not in CopilotAgent().keys
    assert "--trust-folder" not in CopilotAgent().call(request(), SETTINGS).argv


def test_tokens_are_read_from_its_file() -> None:
    usage = {"modelMetrics": {"gpt-5": {"usage": {"inputTokens": 1000, "outputTokens": 10, "cacheReadTokens": 0}}}}
    reply = read(said("I begin."), said("Done."), RESULT, usage=json.dumps(usage))

    assert isinstance(reply, AgentReply) and (reply.text, reply.tokens, reply.session) == ("Done.", 1010, "s")
    assert reply.cost_usd == (1000 * 1.25 + 10 * 10) / 1e6


def test_without_that_file_the_answer_still_counts() -> None:
    reply = read(said("Done."), RESULT)

    assert isinstance(reply, AgentReply) and reply.tokens == 0 and reply.cost_usd is None


def test_an_error_of_the_session_is_a_failure() -> None:
    problem = {"type": "session.error", "data": {"message": "no", "statusCode": 429}}
    answer = read(said("Done."), problem, RESULT)

    assert isinstance(answer, AgentFailure) and answer.retryable
    assert isinstance(read(said("Done."), {**RESULT, "exitCode": 1}), AgentFailure)
    assert isinstance(read(said("Done.")), AgentFailure)


def test_refused_again_and_again_it_is_not_waited_for() -> None:
    def abort_reason(*events: dict[str, object]) -> AgentFailure | None:
        return CopilotAgent().abort_reason("".join(json.dumps(event) + "\n" for event in events), "")

    tries = [{"type": "model.call_failure", "data": {"retryAttempt": n, "statusCode": 429}} for n in range(3)]
    found = abort_reason(*tries)
    assert found and found.retryable and "429" in found.what
    assert abort_reason(*tries[:2]) is None and abort_reason(*tries, said("Hello")) is None


def begun(id_: str) -> dict[str, object]:
    return {"type": "assistant.message_start", "data": {"messageId": id_}}


def ended(id_: str, text: str = "Fine.") -> dict[str, object]:
    return {"type": "assistant.message", "data": {"messageId": id_, "content": text}}


def test_a_review_is_cut_if_an_answer_began_that_was_not_printed_as_a_whole() -> None:
    """It asks a model again whose answer was cut, and prints the third cut answer as if it were whole."""
    tool = {"type": "tool.execution_start", "data": {"toolCallId": "1", "toolName": "view"}}

    def review(*events: dict[str, object], role: str = "review") -> AgentReply | AgentFailure:
        stdout = "".join(json.dumps(event) + "\n" for event in (*events, RESULT))
        return CopilotAgent().read(replace(spoken("copilot", "implement", stdout=stdout, exit_code=0), role=role))

    cut = review(begun("1"), begun("2"), begun("3"), ended("3"))

    assert isinstance(cut, AgentFailure) and cut.retryable
    assert isinstance(review(begun("1"), ended("1"), begun("2")), AgentFailure)
    assert isinstance(review(begun("1"), ended("1")), AgentReply)
    assert isinstance(review(begun("1"), tool, begun("2"), ended("2")), AgentReply)
    assert isinstance(review(begun("1"), begun("2"), ended("2"), role="implement"), AgentReply)

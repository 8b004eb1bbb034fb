"""Two that could not be tried: marked as such, and as careful with what they print as the others."""

from __future__ import annotations

import json

import pytest

from burnish.agents.base import AgentFailure, AgentSettings, FinishedCall
from burnish.agents.registry import AGENTS
from burnish.core.agent import AgentReply
from testing.agent_samples import request

both = pytest.mark.parametrize("name", ["cursor", "amp"])


def read(name: str, exit_code: int = 0, **changes: object) -> AgentReply | AgentFailure:
    told = {"type": "result", "is_error": False, "result": "Done.", "session_id": "s", **changes}
    return AGENTS[name].read(FinishedCall(exit_code, None, "exit", json.dumps(told) + "\n", "", role="review"))


@both
def test_they_say_that_they_were_not_tried(name: str) -> None:
    assert AGENTS[name].verified is False


@both
def test_an_answer_counts_only_if_nothing_speaks_against_it(name: str) -> None:
    reply = read(name)
    assert isinstance(reply, AgentReply) and (reply.text, reply.session) == ("Done.", "s")
    for answer in (read(name, 1), read(name, is_error=True), read(name, result=""), read(name, type="other")):
        assert isinstance(answer, AgentFailure)


@both
def test_a_reviewer_may_not_write(name: str) -> None:
    call = AGENTS[name].call(request(read_only=True), AgentSettings("it", name))
    assert "--force" not in call.argv and "--dangerously-allow-all" not in call.argv


def test_amp_is_given_rules_for_a_review() -> None:
    call = AGENTS["amp"].call(request(read_only=True), AgentSettings("it", "amp"))
    rules = json.loads(call.files["amp.json"])["amp.permissions"]
    assert {"tool": "Bash", "action": "reject"} in rules

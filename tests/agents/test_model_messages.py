"""What a reviewer's model wrote beside its final message is known to those who read the verdict."""

from __future__ import annotations

import json

import pytest

from burnish.agents.base import Spoken
from burnish.agents.model_messages import other_messages
from burnish.agents.registry import AGENTS
from burnish.core.agent import AgentReply
from tests.agents.test_streams import STREAMS, Events

FIRST, SECOND, FINAL = "I reject this change.", "Let me look at the tests, too.", "The final message approves."
# these join everything that the model wrote into one text
WHOLE = ("acp", "llm")


def printed(events: Events) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


@pytest.mark.parametrize("name", [name for name in STREAMS if name not in WHOLE])
def test_every_message_before_the_final_one_is_told(name: str) -> None:
    stdout = printed(STREAMS[name](FIRST, SECOND, FINAL))
    reply = AGENTS[name].read(Spoken(0, None, "exit", stdout, "", "review"))
    assert isinstance(reply, AgentReply) and reply.text == FINAL
    assert other_messages(stdout, reply.text) == (FIRST, SECOND)


def test_words_beside_a_structured_answer_are_told() -> None:
    claude = {"type": "result", "result": FIRST, "structured_output": {"verdict": "approved"}}
    model = {"text": json.dumps({"verdict": "approved"}), "words": FIRST}
    for event in (claude, model):
        assert other_messages(printed([event]), json.dumps({"verdict": "approved"})) == (FIRST,)


def test_messages_of_others_are_not_the_reviewers() -> None:
    part = {"type": "assistant", "parent_tool_use_id": "1", "message": {"content": [{"type": "text", "text": FIRST}]}}
    tool = {"type": "user", "message": {"content": [{"type": "tool_result", "content": FIRST}]}}
    output = {"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": FIRST}}
    prompt = {"type": "message", "role": "user", "content": FIRST}
    assert other_messages(printed([part, tool, output, prompt]), FINAL) == ()


def test_plain_output_and_hostile_shapes_have_no_messages() -> None:
    shapes = [{"type": "assistant", "message": {"content": [1, None, {"text": 3}]}}, {"type": "text", "part": []}]
    assert other_messages("Verdict: REJECTED\n" + printed(shapes), FINAL) == ()

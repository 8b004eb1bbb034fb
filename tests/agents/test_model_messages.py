"""What a reviewer's model wrote beside its final message is known to those who read the verdict."""

from __future__ import annotations

import json

import pytest

from burnish.agents.base import FinishedCall
from burnish.agents.jsonlines import other_messages, text_around
from burnish.agents.registry import AGENTS
from burnish.config.kinds import NO_REVIEWERS
from burnish.core.agent import AgentReply
from tests.agents.test_streams import STREAMS, Events

FIRST, SECOND, FINAL = "I reject this change.", "Let me look at the tests, too.", "The final message approves."
# these join everything that the model wrote into one text
WHOLE = ("acp", "llm")


def printed(events: Events) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


@pytest.mark.parametrize("name", [name for name in STREAMS if name not in (*WHOLE, *NO_REVIEWERS)])
def test_every_message_before_the_final_one_is_told(name: str) -> None:
    stdout = printed(STREAMS[name](FIRST, SECOND, FINAL))
    reply = AGENTS[name].read(FinishedCall(0, None, "exit", stdout, "", "review"))
    assert isinstance(reply, AgentReply) and reply.text == FINAL
    assert other_messages(stdout, reply.text) == (FIRST, SECOND)


def test_words_beside_a_structured_answer_are_told() -> None:
    claude = {"type": "result", "result": FIRST, "structured_output": {"verdict": "approved"}}
    model = {"text": json.dumps({"verdict": "approved"}), "words": FIRST}
    for event in (claude, model):
        assert text_around(printed([event]), json.dumps({"verdict": "approved"})) == ((), (FIRST,))


APPROVAL = {"number": "1", "verdict": "approved", "findings": [], "blocking": None, "rejection_reason": None}


def test_the_structured_answer_as_a_text_in_another_spelling_is_not_another_message() -> None:
    """claude prints its object a second time without spaces: an honest approval must not contradict itself."""
    for text in (json.dumps(APPROVAL, separators=(",", ":")), json.dumps(APPROVAL, indent=1, sort_keys=True)):
        event = {"type": "result", "result": text, "structured_output": APPROVAL}
        assert text_around(printed([event]), json.dumps(APPROVAL)) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(APPROVAL | {"verdict": "rejected"}),
        json.dumps(APPROVAL | {"blocking": False}),
        '{"verdict": "rejected", ' + json.dumps(APPROVAL)[1:],
        json.dumps(APPROVAL) + " No.",
    ],
)
def test_another_object_beside_the_answer_is_told(text: str) -> None:
    event = {"type": "result", "result": text, "structured_output": APPROVAL}
    assert text_around(printed([event]), json.dumps(APPROVAL)) == ((), (text,))


def assistant(*parts: dict[str, object]) -> dict[str, object]:
    return {"type": "assistant", "message": {"content": list(parts)}}


def text_part(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def tool_part(name: str) -> dict[str, object]:
    return {"type": "tool_use", "name": name, "input": {}}


CODEX_WORK = {"type": "item.completed", "item": {"type": "command_execution", "command": "ls"}}
TOOL_USES: dict[str, Events] = {
    **{name: [assistant(tool_part("Read"))] for name in ("claude", "qwen", "amp", "cursor")},
    "codex": [CODEX_WORK],
    "gemini": [{"type": "tool_use", "tool_name": "read_file"}, {"type": "tool_result", "status": "success"}],
    "copilot": [{"type": "tool.execution_start", "data": {}}, {"type": "tool.execution_complete", "data": {}}],
    "opencode": [{"type": "tool_use", "part": {"state": {}}}],
}


@pytest.mark.parametrize("name", TOOL_USES)
def test_what_a_model_writes_after_its_last_use_of_a_tool_is_its_final_message(name: str) -> None:
    message = STREAMS[name](FIRST) if name != "gemini" else STREAMS[name](FIRST)[3:]
    first = [event for event in message if FIRST[:5] in str(event) or FIRST[-5:] in str(event)][:2]
    first = [event for event in first if event.get("type") != "result"]
    last = STREAMS[name](FINAL) if name != "gemini" else STREAMS[name](FINAL)[3:]
    assert text_around(printed([*first, *TOOL_USES[name], *last]), FINAL) == ((), ())
    # gemini's pieces are one message until a tool is used
    answer = FIRST + FINAL if name == "gemini" else FINAL
    assert text_around(printed([*first, *last]), answer) == (() if name == "gemini" else (FIRST,), ())


def test_the_call_that_gives_the_answer_does_not_end_the_message() -> None:
    answer = {"verdict": "approved"}
    end = {"type": "result", "result": "Done.", "structured_output": answer}
    for tool in ("StructuredOutput", "structured_output"):
        stdout = printed([assistant(tool_part("Read")), assistant(text_part(FIRST), tool_part(tool)), end])
        assert text_around(stdout, json.dumps(answer)) == ((FIRST,), ("Done.",))


def test_a_message_after_the_answer_is_told() -> None:
    events = [assistant(text_part(FINAL)), assistant(text_part(SECOND)), {"type": "result", "result": FINAL}]
    assert text_around(printed(events), FINAL) == ((), (SECOND,))


def test_messages_of_others_are_not_the_reviewers() -> None:
    part = {"type": "assistant", "parent_tool_use_id": "1", "message": {"content": [{"type": "text", "text": FIRST}]}}
    tool = {"type": "user", "message": {"content": [{"type": "tool_result", "content": FIRST}]}}
    output = {"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": FIRST}}
    prompt = {"type": "message", "role": "user", "content": FIRST}
    assert other_messages(printed([part, tool, output, prompt]), FINAL) == ()


def test_plain_output_and_hostile_shapes_have_no_messages() -> None:
    shapes = [{"type": "assistant", "message": {"content": [1, None, {"text": 3}]}}, {"type": "text", "part": []}]
    assert other_messages("Verdict: REJECTED\n" + printed(shapes), FINAL) == ()

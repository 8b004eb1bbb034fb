"""An approval does not count before a final message of unknown shape, nor before the use of a tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from burnish.agents.base import AgentFailure, FinishedCall
from burnish.agents.other_verdicts import conflicting_verdict, torn_output, unfinished_answer
from burnish.agents.registry import AGENTS
from burnish.core.review import Review, Verdict
from burnish.review import contract
from burnish.review.reading import Expect
from testing.agent_streams import STREAMS, Events, lines_of

NUMBER = "8f2c41d09b7e55aa"
APPROVAL = f"Good.\n\n```burnish-verdict {NUMBER}\n" + (
    json.dumps({"verdict": "approved", "summary": "x", "inspected": ["a.py"], "findings": []}) + "\n```"
)
LAST = "Wait, I found a bug in a.py. Let me look further."
Event = dict[str, Any]

SHAPES: dict[str, Callable[[Event], Event]] = {
    "in an event": lambda event: {"type": "stream_event", "event": event},
    "in an envelope without a type": lambda event: {"jsonrpc": "2.0", "params": event},
    "in an envelope, without its type": lambda event: {"jsonrpc": "2.0", "params": {**event, "type": "x", "kind": 1}},
    "in a list": lambda event: {"type": "batch", "events": [event]},
    "two envelopes": lambda event: {"type": "x", "data": {"type": "y", "payload": event}},
    "another type": lambda event: {**event, "type": "notice"},
    "a type that is not a word": lambda event: {**event, "type": [event.get("type")]},
    "its type in an object": lambda event: {**event, "type": {"name": event.get("type")}},
    "an item elsewhere": lambda event: {"type": "item.completed", "id": "item_5"},
    "an item without a type": lambda event: {"type": "item.completed", "item": {"parts": [{"text": LAST}]}},
}


def is_approved(name: str, events: Events) -> bool:
    call = FinishedCall(0, None, "exit", "\n".join(lines_of(events)) + "\n", "", "review")
    reply = AGENTS[name].read(call)
    if isinstance(reply, AgentFailure):
        return False
    if any(problem(name, call, reply.text) for problem in (torn_output, unfinished_answer, conflicting_verdict)):
        return False
    review = contract.read(reply.text, NUMBER, expect=Expect())
    return isinstance(review, Review) and review.verdict is Verdict.APPROVED


def holds_last(event: Event) -> bool:
    return any(part in json.dumps(event) for part in (LAST[:20], LAST[-20:]))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("name", ["codex", "copilot", "opencode", "gemini"])
def test_a_draft_does_not_approve_if_the_message_after_it_has_an_unknown_shape(
    name: str, shape: Callable[[Event], Event]
) -> None:
    events = STREAMS[name](APPROVAL, LAST)
    assert not is_approved(name, [shape(event) if holds_last(event) else event for event in events])
    assert is_approved(name, STREAMS[name]("Let me look.", APPROVAL))


TOOLS: dict[str, Events] = {
    "codex": [{"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": "1 failed"}}],
    "codex, not ended": [{"type": "item.started", "item": {"type": "command_execution"}}],
    "copilot": [{"type": "tool.execution_start", "data": {}}, {"type": "tool.execution_complete", "data": {}}],
    "opencode": [
        {"type": "tool_use", "part": {"type": "tool"}},
        {"type": "step_finish", "part": {"reason": "tool-calls"}},
        {"type": "step_start"},
    ],
    "gemini": [{"type": "tool_use", "tool_name": "read_file"}, {"type": "tool_result", "status": "success"}],
}


@pytest.mark.parametrize("case", TOOLS)
def test_an_approval_before_the_use_of_a_tool_is_not_the_final_message(case: str) -> None:
    name = case.partition(",")[0]
    *events, end = STREAMS[name](APPROVAL)
    assert not is_approved(name, [*events, *TOOLS[case], end])
    assert is_approved(name, [*events, end])

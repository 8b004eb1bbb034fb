"""pi: exit code 0 for everything; the last message of the model is the answer, with its reason to stop."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from burnish.agents.base import AgentFailure, AgentSettings, FinishedCall
from burnish.agents.jsonlines import other_messages
from burnish.agents.pi import PiAgent
from burnish.agents.program import own_program
from burnish.agents.steps import Problem, Said, ToolEnded, ToolStarted
from burnish.core.agent import AgentReply, Use
from burnish.core.cost import CostSource
from testing.agent_samples import request

SETTINGS = AgentSettings("pi", "pi")
USAGE = {"input": 100, "output": 20, "cacheRead": 1000, "cacheWrite": 5, "cost": {"total": 0.25}}


def message(text: str, reason: str = "stop", **more: Any) -> dict[str, Any]:
    parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}]
    values = {"role": "assistant", "content": parts, "model": "sonnet", "provider": "anthropic", "usage": USAGE}
    return {**values, "stopReason": reason, **more}


def stream(*messages: dict[str, Any], end: bool = True) -> str:
    events: list[dict[str, Any]] = [{"type": "session", "id": "s1"}]
    for one in messages:
        events += [{"type": "message_start", "message": {"role": "assistant", "content": []}}]
        events += [{"type": "message_end", "message": one}, {"type": "turn_end", "message": one}]
    events += [{"type": "agent_end", "messages": list(messages)}] if end else []
    return "".join(json.dumps(event) + "\n" for event in events)


def read(stdout: str, role: str = "review") -> AgentReply | AgentFailure:
    return PiAgent().read(FinishedCall(0, None, "exit", stdout, "", role))


def test_every_call_to_the_model_is_billed() -> None:
    reply = read(stream(message("Let me look.", "toolUse"), message("It is well.")))
    assert isinstance(reply, AgentReply)
    assert (reply.text, reply.session, reply.model) == ("It is well.", "s1", "sonnet")
    assert (reply.tokens, reply.cost_usd, reply.cost_source) == (2250, 0.5, CostSource.PROGRAM)
    event = {"type": "message_end", "message": message("x", timestamp=7)}
    assert PiAgent().call_usage(event) == ("7", Use(0.25, 1125))
    assert PiAgent().call_usage({"type": "turn_end", "message": message("x")}) is None


def test_a_price_that_is_missing_for_one_call_makes_the_sum_partial() -> None:
    free = {**USAGE, "cost": {"total": 0}}
    reply = read(stream(message("a", "toolUse", usage=free), message("b")))
    assert isinstance(reply, AgentReply) and reply.cost_source is CostSource.PARTIAL


@pytest.mark.parametrize(
    ("stdout", "words"),
    [
        (stream(message("I approve.", "length")), "broke off"),
        (stream(message("I approve.", "aborted")), "I approve"),
        (stream(message("I approve."), end=False), "broke off"),
        (stream(message("", "error", errorMessage="529 overloaded")), "529 overloaded"),
        (stream(message("I approve.", "toolUse")), "broke off"),
    ],
)
def test_a_message_without_its_end_is_not_an_answer(stdout: str, words: str) -> None:
    answer = read(stdout)
    assert isinstance(answer, AgentFailure) and words in answer.what


def test_a_message_that_had_begun_is_missing() -> None:
    begun = json.dumps({"type": "message_start", "message": {"role": "assistant", "content": []}}) + "\n"
    answer = read(stream(message("I approve."), end=False) + begun + '{"type": "agent_end"}\n')
    assert isinstance(answer, AgentFailure)


def test_two_texts_of_one_turn_are_not_an_answer() -> None:
    other = json.dumps({"type": "turn_end", "message": message("I reject.")})
    lines = stream(message("I approve.")).splitlines()
    answer = read("\n".join([*lines[:-1], other, lines[-1], ""]))
    assert isinstance(answer, AgentFailure) and "different results" in answer.what


def test_earlier_messages_are_known() -> None:
    stdout = stream(message("I reject it.", "toolUse"), message("I approve."))
    assert other_messages(stdout, "I approve.") == ("I reject it.",)


def test_a_failure_that_a_retry_has_overcome_does_not_count() -> None:
    reply = read(stream(message("", "error", errorMessage="429"), message("It is well.")))
    assert isinstance(reply, AgentReply) and reply.text == "It is well."


def test_it_is_ended_at_its_second_retry_and_not_before() -> None:
    events = [{"type": "auto_retry_start", "attempt": n, "errorMessage": "429 slow down"} for n in (1, 2)]
    first, second = (json.dumps(event) + "\n" for event in events)
    assert PiAgent().abort_reason(first, "") is None
    assert PiAgent().abort_reason(first + second + '{"type": "auto_retry_end"}\n', "") is None
    reason = PiAgent().abort_reason(first + second, "")
    assert reason and reason.retryable and "429 slow down" in reason.what


def test_its_steps() -> None:
    agent = PiAgent()
    assert agent.steps({"type": "message_end", "message": message("Look.", errorMessage="no")}) == (
        Said("Hm.", is_thought=True),
        Said("Look."),
        Problem("no"),
    )
    start = {"type": "tool_execution_start", "toolCallId": "c", "toolName": "bash", "args": {"command": "ls"}}
    assert agent.steps(start) == (ToolStarted("c", "bash", {"command": "ls"}),)
    result = {"content": [{"type": "text", "text": "a\n\nCommand exited with code 3"}]}
    end = {"type": "tool_execution_end", "toolCallId": "c", "toolName": "bash", "result": result, "isError": True}
    assert agent.steps(end) == (ToolEnded("c", "a", 3, has_failed=True),)


def test_a_reviewer_has_only_tools_that_read_and_nothing_of_the_repository_is_loaded() -> None:
    look, work = (PiAgent().call(request(read_only=flag), SETTINGS).argv for flag in (True, False))
    assert look[look.index("--tools") + 1] == "read,grep,find,ls" and "--tools" not in work
    for argv in (look, work):
        assert {"--offline", "--no-extensions", "--no-skills", "--no-prompt-templates", "--no-session"} <= set(argv)
    again = AgentSettings("pi", "pi", resume=True)
    argv = PiAgent().call(request(session="s1"), again).argv
    assert argv[argv.index("--session") + 1] == "s1" and "--no-session" not in argv


def filtered(code: str) -> subprocess.CompletedProcess[str]:
    argv = (*own_program("line_filter"), '{"type":"message_update"', "--", sys.executable, "-c", code)
    return subprocess.run(argv, input="in", capture_output=True, text=True, timeout=60, check=False)


def test_lines_that_repeat_a_message_are_not_stored() -> None:
    lines = ['{"type":"message_update","x":1}', '{"type":"message_end"}', "no end"]
    code = f"import sys; print(sys.stdin.read()); sys.stdout.write({chr(10).join(lines)!r}); sys.exit(7)"
    done = filtered(code)
    assert (done.stdout, done.returncode) == ('in\n{"type":"message_end"}\nno end', 7)
    assert filtered("import os; os.kill(os.getpid(), 9)").returncode == 137


@pytest.mark.slow
def test_a_process_that_keeps_the_output_open_is_not_waited_for() -> None:
    code = "import subprocess; print('x', flush=True); subprocess.Popen(['sleep', '20'], stderr=subprocess.DEVNULL)"
    begun = time.monotonic()
    assert filtered(code).stdout == "x\n" and time.monotonic() - begun < 15

"""opencode: over when the last step ended with `stop`; a reviewer is denied every way to write."""

from __future__ import annotations

import json

from burnish.agents.base import AgentFailure, AgentSettings
from burnish.agents.opencode import OpencodeAgent
from burnish.agents.steps import Said
from burnish.core.agent import AgentReply
from testing.agent_samples import request, spoken

SETTINGS = AgentSettings("opencode", "opencode")


def said(text: str) -> dict[str, object]:
    return {"type": "text", "sessionID": "ses_1", "part": {"text": text}}


def step(reason: str, cost: float = 0.25) -> dict[str, object]:
    tokens = {"input": 100, "output": 10, "reasoning": 5, "cache": {"read": 50, "write": 1}}
    return {"type": "step_finish", "sessionID": "ses_1", "part": {"reason": reason, "cost": cost, "tokens": tokens}}


def read(*events: dict[str, object], exit_code: int = 0) -> AgentReply | AgentFailure:
    stdout = "".join(json.dumps(event) + "\n" for event in events)
    return OpencodeAgent().read(spoken("opencode", "implement", stdout=stdout, exit_code=exit_code, stderr=""))


def test_a_reviewer_is_denied_commands_too() -> None:
    call = OpencodeAgent().call(request(read_only=True), SETTINGS)
    agent = json.loads(call.env["OPENCODE_CONFIG_CONTENT"])["agent"][call.argv[call.argv.index("--agent") + 1]]

    for permission in (json.loads(call.env["OPENCODE_PERMISSION"]), agent["permission"]):
        assert permission["edit"] == permission["bash"] == permission["task"] == "deny"
    assert "--auto" not in call.argv and "--pure" in call.argv


def test_settings_of_the_repository_are_not_read() -> None:
    assert OpencodeAgent().call(request(), SETTINGS).env["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"


def test_tokens_and_cost_are_summed_over_the_steps() -> None:
    reply = read(said("I begin."), step("tool-calls"), said("Done."), step("stop"))

    assert isinstance(reply, AgentReply)
    assert (reply.text, reply.tokens, reply.cost_usd, reply.session) == ("Done.", 332, 0.5, "ses_1")


def test_a_step_that_did_not_end_well_is_no_answer() -> None:
    for events in (
        [said("Done.")],
        [said("Done."), step("tool-calls")],
        [said("Done."), step("length")],
        [step("stop")],
    ):
        assert isinstance(read(*events), AgentFailure)


def test_an_error_is_a_failure_by_its_status() -> None:
    for status, retryable in ((401, False), (503, True)):
        error = {"name": "APIError", "data": {"message": "no", "statusCode": status}}
        answer = read(said("Done."), step("stop"), {"type": "error", "error": error}, exit_code=1)
        assert isinstance(answer, AgentFailure) and answer.retryable is retryable


REFUSED = (
    'timestamp=2026-11-15T23:15:{second:02}.000Z level=ERROR run=1 message="stream error" providerID=p '
    'small={small} agent=build mode=primary error.error="AI_APICallError: slow down"\n'
)


def refused(*seconds: int, small: str = "false") -> str:
    return "".join(REFUSED.format(second=second, small=small) for second in seconds)


def test_refused_again_and_again_it_is_not_waited_for() -> None:
    found = OpencodeAgent().abort_reason("", refused(1, 3, 7))
    assert found and found.retryable and "slow down" in found.what

    assert OpencodeAgent().abort_reason("", refused(1, 3)) is None
    assert OpencodeAgent().abort_reason("", refused(1, 3, 7, small="true")) is None
    # what came before the last step is over
    moved = json.dumps({**step("tool-calls"), "timestamp": 1794784504000})
    assert OpencodeAgent().abort_reason(moved, refused(1, 3, 7)) is None
    assert OpencodeAgent().abort_reason(moved, refused(1, 5, 7, 9)) is not None


def test_an_answer_that_breaks_off_again_and_again_ends_it() -> None:
    def abort_reason(*events: dict[str, object]) -> AgentFailure | None:
        return OpencodeAgent().abort_reason("".join(json.dumps(event) + "\n" for event in events), "")

    begun = {"type": "step_start"}
    found = abort_reason(*[begun, step("unknown")] * 3)
    assert found and found.retryable
    # a server that gives no reasons, but whose model works
    assert abort_reason(*[begun, {"type": "tool_use"}, step("unknown")] * 5) is None


def test_thoughts_are_asked_for_and_are_not_an_answer() -> None:
    """As opencode 1.18.33 prints them with `--thinking`."""
    assert "--thinking" in OpencodeAgent().call(request(), SETTINGS).argv
    thought = {"type": "reasoning", "part": {"type": "reasoning", "text": "I would reject it."}}
    assert OpencodeAgent().steps(thought) == (Said("I would reject it.", is_thought=True),)
    reply = read({"type": "step_start"}, thought, said("All done."), step("stop"))
    assert isinstance(reply, AgentReply) and reply.text == "All done."

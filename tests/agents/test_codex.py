"""Codex: its sandbox is named at every call, and only a finished turn is an answer."""

from __future__ import annotations

import json
from pathlib import Path

from burnish.agents.base import AgentFailure, AgentSettings
from burnish.agents.codex import CodexAgent
from burnish.core.agent import AgentReply
from testing.agent_samples import request, spoken

SETTINGS = AgentSettings("codex", "codex", resume=True)
STARTED = {"type": "thread.started", "thread_id": "01a1"}
FAILED = {"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized"}}
DONE = {"type": "turn.completed", "usage": {"input_tokens": 1000, "cached_input_tokens": 400, "output_tokens": 50}}


def said(text: str, kind: str = "agent_message") -> dict[str, object]:
    return {"type": "item.completed", "item": {"type": kind, "text": text, "message": text}}


def read(*events: dict[str, object], exit_code: int = 0, model: str = "") -> AgentReply | AgentFailure:
    stdout = "".join(json.dumps(event) + "\n" for event in events)
    done = spoken("codex", "implement", stdout=stdout, stderr="", exit_code=exit_code, model=model)
    return CodexAgent().read(done)


def test_the_sandbox_is_named_before_resume() -> None:
    for read_only, mode in ((True, "read-only"), (False, "workspace-write")):
        argv = CodexAgent().call(request(read_only=read_only, session="01a1"), SETTINGS).argv
        assert argv[argv.index("-s") + 1] == mode
        assert argv.index("-s") < argv.index("resume") and argv[-3:] == ("resume", "01a1", "-")


def test_the_repository_is_not_trusted_whatever_its_name() -> None:
    argv = CodexAgent().call(request(cwd=Path('/w/a "b".c')), SETTINGS).argv

    assert r'projects={"/w/a \"b\".c"={trust_level="untrusted"}}' in argv
    assert "hooks" in argv and "plugins" in argv and "--ignore-rules" in argv


def test_the_schema_is_laid_into_a_file() -> None:
    call = CodexAgent().call(request(schema='{"type": "object"}'), SETTINGS)

    assert call.argv[call.argv.index("--output-schema") + 1] == "/calls/1/schema.json"
    assert call.files["schema.json"] == '{"type": "object"}'


def test_the_last_message_of_a_finished_turn_is_the_answer() -> None:
    reply = read(STARTED, said("I begin."), said("careful", "error"), said("Done."), DONE, model="gpt-5-codex")

    assert isinstance(reply, AgentReply)
    assert (reply.text, reply.session, reply.tokens) == ("Done.", "01a1", 1050)
    assert reply.cost_usd == (600 * 1.25 + 400 * 0.125 + 50 * 10) / 1e6


def test_a_model_without_a_listed_price_has_no_cost() -> None:
    reply = read(said("Done."), DONE, model="gpt-99")

    assert isinstance(reply, AgentReply) and reply.cost_usd is None


def test_a_turn_that_did_not_finish_is_no_answer() -> None:
    assert isinstance(read(STARTED, said("Done.")), AgentFailure)
    assert isinstance(read(STARTED, said("Done."), FAILED, exit_code=1), AgentFailure)
    assert isinstance(read(STARTED, said(" "), DONE), AgentFailure)


def test_what_it_tried_again_by_itself_is_no_failure() -> None:
    again = {"type": "error", "message": "Reconnecting... 2/5 (unexpected status 500)"}

    assert isinstance(read(STARTED, again, said("Done."), DONE), AgentReply)


def test_its_own_retries_end_at_the_third_one() -> None:
    """Printed by codex 0.166.0: with `retry-after: 20` it would wait for 443 seconds."""
    words = "exceeded retry limit, last status: 429 Too Many Requests"
    again = [{"type": "error", "message": f"Reconnecting... {n}/5 ({words})"} for n in (1, 2, 3)]
    lines = [json.dumps(event) + "\n" for event in (STARTED, *again)]
    assert CodexAgent().abort_reason("".join(lines[:-1]), "") is None
    found = CodexAgent().abort_reason("".join(lines), "")
    assert found and found.retryable and found.what == f"codex failed: {words}."
    wrong_key = lines[-1].replace("429 Too Many Requests", "401 Unauthorized")
    refused = CodexAgent().abort_reason("".join([*lines[:2], wrong_key, wrong_key]), "")
    assert refused and not refused.retryable and "codex login" in refused.hint
    # it came through in between
    assert CodexAgent().abort_reason("".join([*lines[:3], json.dumps(said("Hello")) + "\n", lines[3]]), "") is None


def test_a_server_that_cannot_be_reached_is_not_waited_for_without_end() -> None:
    waiting = {"type": "error", "message": "Reconnecting... waiting for network (Connection failed)"}

    def abort_reason(*events: dict[str, object]) -> AgentFailure | None:
        return CodexAgent().abort_reason("".join(json.dumps(event) + "\n" for event in events), "")

    found = abort_reason(STARTED, waiting, waiting, waiting)
    assert found and found.retryable and "Connection failed" in found.what
    assert abort_reason(STARTED, waiting, waiting) is None
    # it came through in between
    assert abort_reason(waiting, waiting, said("Hello"), waiting) is None

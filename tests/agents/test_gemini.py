"""Gemini CLI: settings of ours over those of the repository, and a status in the low byte of the exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.agents.base import AgentFailure, AgentSettings
from burnish.agents.confined_login import linked_home
from burnish.agents.gemini import GeminiAgent
from burnish.core.agent import AgentReply
from testing.agent_samples import request, spoken

SETTINGS = AgentSettings("gemini", "gemini")
USED = {"total_tokens": 1100, "output_tokens": 100, "cached": 400, "input": 600}


def said(text: str) -> dict[str, object]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def result(status: str = "success", **more: object) -> dict[str, object]:
    return {"type": "result", "status": status, "stats": {"models": {"gemini-2.5-pro": USED}}, **more}


def read(*events: dict[str, object], exit_code: int = 0, stderr: str = "") -> AgentReply | AgentFailure:
    stdout = "".join(json.dumps(event) + "\n" for event in events)
    return GeminiAgent().read(spoken("gemini", "implement", stdout=stdout, exit_code=exit_code, stderr=stderr))


def test_our_settings_lie_over_those_of_the_repository() -> None:
    call = GeminiAgent().call(request(read_only=True), SETTINGS)
    told = json.loads(call.files["gemini.json"])

    assert call.env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] == "/calls/1/gemini.json"
    assert told["hooksConfig"] == {"enabled": False} and told["general"]["maxAttempts"] == 2
    assert {"write_file", "replace", "run_shell_command"} < set(told["tools"]["exclude"])
    assert told["advanced"]["ignoreLocalEnv"] is True
    assert told["context"] == {"includeDirectoryTree": False, "fileName": ["GEMINI.md", "AGENTS.md"]}
    assert call.argv[call.argv.index("--approval-mode") + 1] == "default"


@pytest.mark.parametrize("users_settings", ['{"security": {"x": 1}} // mine', "", "broken"])
def test_without_a_sandbox_a_reviewer_has_our_settings_beside_the_users_other_files(
    tmp_path: Path, users_settings: str
) -> None:
    """It skips the settings of the system that burnish gives it, unless root owns their file."""
    home = tmp_path / "user"
    (home / ".gemini" / "tmp").mkdir(parents=True)
    for name in (".env", ".gemini/oauth_creds.json"):
        (home / name).write_text(name)
    if users_settings:
        (home / ".gemini" / "settings.json").write_text(users_settings)

    ours = GeminiAgent().home_settings(request(read_only=True))
    private_home = linked_home(tmp_path / "call", home, ours)

    assert (private_home / ".env").read_text() == ".env"
    assert (private_home / ".gemini" / "oauth_creds.json").resolve() == home / ".gemini" / "oauth_creds.json"
    text = (private_home / ".gemini" / "settings.json").read_text()
    if users_settings == "broken":  # gemini does not start with these
        assert text == users_settings
        return
    settings = json.loads(text)
    assert settings["context"]["includeDirectoryTree"] is False and "write_file" in settings["tools"]["exclude"]
    assert settings.get("security") == ({"x": 1} if users_settings else None)


def test_the_answer_is_what_was_said_after_the_last_tool() -> None:
    reply = read(said("I look."), {"type": "tool_use"}, {"type": "tool_result"}, said("All "), said("done."), result())

    assert isinstance(reply, AgentReply) and reply.text == "All done."
    assert reply.tokens == 1100 and reply.model == "gemini-2.5-pro"
    assert reply.cost_usd == pytest.approx((600 * 1.25 + 400 * 0.125 + 100 * 10) / 1e6)


@pytest.mark.parametrize(("code", "retryable"), [(144, False), (145, False), (173, True), (244, True), (247, True)])
def test_the_exit_code_tells_the_status(code: int, retryable: bool) -> None:
    answer = read(result("error", error={"message": "[API Error: no]"}), exit_code=code)

    assert isinstance(answer, AgentFailure) and answer.retryable is retryable


def test_an_error_with_exit_code_0_is_no_answer() -> None:
    broken = {"type": "error", "message": "Model stream ended without a finish reason."}
    answer = read(said("All d"), broken, result("error"))

    assert isinstance(answer, AgentFailure) and answer.retryable


def test_a_stop_with_exit_code_0_is_no_answer() -> None:
    assert isinstance(read(said("All done.")), AgentFailure)


def test_no_key_is_told_from_stderr() -> None:
    answer = read(exit_code=41, stderr="Please set an Auth method: GEMINI_API_KEY, …\n")

    assert isinstance(answer, AgentFailure) and not answer.retryable and "GEMINI_API_KEY" in answer.what


def log_of(*reasons: str, role: str = "main") -> str:
    """A record of its telemetry: one reason for each piece of the answer."""
    attributes = {"prompt_id": "1", "status_code": 200, "finish_reasons": list(reasons), "role": role}
    body = 'x\n    "finish_reasons": [\n "stop"], "role": "main"'
    return json.dumps({"attributes": attributes, "_body": body}, indent=2)


def reviewed(log: str, role: str = "review") -> AgentReply | AgentFailure:
    stdout = "".join(json.dumps(event) + "\n" for event in (said("Fine."), result()))
    call = replace(spoken("gemini", "implement", stdout=stdout, exit_code=0), role=role, files={"telemetry.log": log})
    return GeminiAgent().read(call)


@pytest.mark.parametrize("reason", ["length", "content_filter", "error"])
def test_a_review_counts_only_if_the_model_ended_its_answer_itself(reason: str) -> None:
    cut = log_of("stop") + "\n" + log_of("stop", reason) + "\n" + log_of("stop", role="utility_router") + "\n"
    whole = log_of(reason) + "\n" + log_of("stop", "stop") + "\n" + log_of(reason, role="utility_router") + "\n"
    refused = reviewed(cut)

    assert isinstance(refused, AgentFailure) and refused.retryable and reason in refused.what
    assert isinstance(reviewed(whole), AgentReply)
    assert isinstance(reviewed(cut, role="implement"), AgentReply)
    assert isinstance(reviewed(""), AgentReply)


def test_how_a_review_ended_is_written_to_the_folder_of_the_call_and_sent_to_no_server() -> None:
    review = GeminiAgent().call(request(read_only=True), SETTINGS)
    work = GeminiAgent().call(request(), SETTINGS)

    assert review.env["GEMINI_TELEMETRY_OUTFILE"] == "/calls/1/telemetry.log"
    assert review.env["GEMINI_TELEMETRY_TARGET"] == "local" and review.env["GEMINI_TELEMETRY_OTLP_ENDPOINT"] == ""
    assert review.env["GEMINI_TELEMETRY_LOG_PROMPTS"] == "false"
    assert not [name for name in work.env if "TELEMETRY" in name]

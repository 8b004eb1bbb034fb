"""A model's API directly: each maker's wire, by schema; what can pass is told from what cannot."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from burnish.agents import llm as adapter
from burnish.agents import llm_main
from burnish.agents.base import AgentFailure, AgentSettings, FinishedCall
from burnish.agents.llm import LlmAgent
from burnish.core.agent import AgentReply
from burnish.errors import PhaseFailed
from burnish.review import contract
from testing.extras import needs_extra
from testing.model_server import ModelServer
from testing.model_turns import Answer, Brain, Cut, Hang, Move, Refuse, Say

llm = needs_extra("llm", "pydantic_ai")
quiet = pytest.mark.filterwarnings("ignore")
MODELS = {
    "anthropic:claude-sonnet-4-5": "messages",
    # too old to be held to a schema: it gets a tool
    "anthropic:claude-3-5-haiku-latest": "messages",
    "openai:gpt-5": "chat",
    "google:gemini-2.5-pro": "gemini",
    "ollama:qwen3:8b": "chat",
    "some-model": "chat",
}
every = pytest.mark.parametrize("model", MODELS)
VERDICT = {"number": "abc123", "verdict": "approved", "summary": "Fine.", "inspected": ["a.py"], "findings": []}


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """What the adapter makes of what the program prints; the program runs here, as its imports take seconds."""
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps(contract.json_schema()))

    def ask(server: ModelServer, model: str, key: str = "k", seconds: str = "20") -> AgentReply | AgentFailure:
        for maker in ("ANTHROPIC", "OPENAI", "GEMINI", "OLLAMA"):
            monkeypatch.setenv(f"{maker}_API_KEY", key)
        for name, path in {"ANTHROPIC": "", "GOOGLE_GEMINI": "", "OPENAI": "/v1", "OLLAMA": "/v1"}.items():
            monkeypatch.setenv(f"{name}_BASE_URL", server.url + path)
        said = llm_main.answer([model, seconds, "", str(schema)], "Review it. Number abc123.")
        return LlmAgent().read(FinishedCall(int("error" in said), None, "exit", json.dumps(said), "", role="review"))

    return ask


def after(*moves: Move) -> Brain:
    left = list(moves)
    return lambda turn: left.pop(0) if len(left) > 1 else left[0]


@pytest.mark.slow
@llm
@quiet
@every
def test_each_maker_answers_by_schema(ask, model: str) -> None:
    with ModelServer(after(Answer(VERDICT))) as server:
        reply = ask(server, model)

    assert isinstance(reply, AgentReply) and json.loads(reply.text) == VERDICT
    ((turn, _),) = server.turns
    assert (turn.dialect, server.strangers) == (MODELS[model], [])
    assert "abc123" in turn.prompt and "rejection_reason" in json.dumps(turn.body)
    assert reply.tokens > 17


@pytest.mark.representatives(6)
@llm
@quiet
@every
@pytest.mark.parametrize(("status", "retryable"), [(429, True), (503, True), (401, False), (404, False)])
def test_what_may_pass_is_told_from_what_cannot(ask, model: str, status: int, retryable: bool) -> None:
    with ModelServer(after(Refuse(status, "the model says no"))) as server:
        failure = ask(server, model)

    assert isinstance(failure, AgentFailure) and failure.retryable is retryable
    assert f"{status}: the model says no" in failure.what
    assert len(server.turns) == 1
    assert status != 401 or "API_KEY" in failure.hint


@pytest.mark.representatives(2)
@llm
@quiet
@every
def test_a_server_that_knows_no_schemas_is_asked_in_words(ask, model: str) -> None:
    with ModelServer(after(Refuse(400, "no schemas here"), Say("In words."))) as server:
        reply = ask(server, model)

    assert isinstance(reply, AgentReply) and reply.text == "In words."
    assert "rejection_reason" not in json.dumps(server.turns[1][0].body)


@pytest.mark.slow
@llm
@quiet
@every
@pytest.mark.parametrize("move", [Cut(), Hang(30)])
def test_no_answer_is_worth_another_try(ask, model: str, move: Move) -> None:
    with ModelServer(after(move)) as server:
        failure = ask(server, model, seconds="0.5")

    assert isinstance(failure, AgentFailure) and failure.retryable


@llm
@quiet
def test_an_empty_answer_is_none(ask) -> None:
    with ModelServer(after(Say(" "))) as server:
        assert isinstance(ask(server, "some-model"), AgentFailure)


@llm
@quiet
def test_money_is_counted_where_the_price_is_known(ask) -> None:
    with ModelServer(after(Answer(VERDICT))) as server:
        known, unknown = ask(server, "anthropic:claude-sonnet-4-5"), ask(server, "some-model")

    assert known.cost_usd == pytest.approx(((known.tokens - 17) * 3 + 17 * 15) / 1_000_000)
    assert (known.model, known.provider, unknown.cost_usd) == ("claude-sonnet-4-5", "anthropic", None)


@llm
@quiet
def test_without_a_key_nobody_is_asked_and_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    said = llm_main.answer(["anthropic:claude-sonnet-4-5", "5", ""], "Hello.")

    failure = LlmAgent().read(FinishedCall(1, None, "exit", json.dumps(said), ""))
    assert isinstance(failure, AgentFailure) and not failure.retryable and "ANTHROPIC_API_KEY" in failure.hint


def test_names_of_models() -> None:
    own = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    assert llm_main.full_name("openai:gpt-5", {}) == "openai:gpt-5"
    assert llm_main.full_name("openai:gpt-5", own) == "openai-chat:gpt-5"
    assert llm_main.full_name("llama3:8b", own) == "openai-chat:llama3:8b"
    assert llm_main.full_name("gemini:gemini-2.5-pro", own) == "google:gemini-2.5-pro"
    with pytest.raises(llm_main.ModelFailure, match="OPENAI_BASE_URL"):
        llm_main.full_name("llama3:8b", {})


@pytest.mark.long
@llm
def test_the_whole_way_through_a_process(project, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(after(Refuse(503), Answer(VERDICT))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        runner = project.runner(AgentSettings("judge", "llm", model="some-model"))
        schema = json.dumps(contract.json_schema())
        request = project.request("judge", role="review", schema=schema, read_only=True, timeout_seconds=120.0)
        reply = runner.call(request)

    assert json.loads(reply.text) == VERDICT and reply.model == "some-model"
    assert "llm_main some-model" in reply.command
    assert len(server.turns) == 2


def test_it_writes_no_code_and_says_so(project) -> None:
    with pytest.raises(PhaseFailed, match="not implement") as caught:
        project.runner(AgentSettings("judge", "llm", model="some-model")).call(project.request("judge"))
    assert (caught.value.code, caught.value.retryable) == ("AGENT_FAILED", False)


def test_a_missing_model_and_a_missing_extra_say_what_to_do(project, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PhaseFailed, match="no model"):
        project.runner(AgentSettings("judge", "llm")).call(project.request("judge", role="review"))

    monkeypatch.setattr(adapter, "find_spec", lambda name: None)
    with pytest.raises(PhaseFailed) as caught:
        project.runner(AgentSettings("judge", "llm", model="m")).call(project.request("judge", role="review"))
    assert (caught.value.code, caught.value.hint) == ("AGENT_MISSING", "pip install 'burnish[llm]'")


@pytest.mark.slow
@llm
@quiet
def test_openai_itself_is_asked_by_its_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = llm_main.spelled_out(contract.json_schema())
    with ModelServer(after(Answer(VERDICT))) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        # the name as it is where no other server is named
        response = asyncio.run(
            llm_main.ask("openai:gpt-5", "Review it.", schema, llm_main.settings_for("openai:gpt-5", 20, "high"))
        )

    assert json.loads(llm_main.answer_of(response)["text"]) == VERDICT
    assert server.turns[0][0].body["reasoning"]["effort"] == "high"
    ((turn, _),) = server.turns
    assert turn.dialect == "responses" and "rejection_reason" in json.dumps(turn.body)


def _read_parts(*parts: Any) -> AgentReply | AgentFailure:
    from pydantic_ai.messages import ModelResponse

    printed = llm_main.result(ModelResponse(parts=list(parts)), priced=False)
    return LlmAgent().read(FinishedCall(int("error" in printed), None, "exit", json.dumps(printed), "", role="review"))


def _call(**changed: str) -> Any:
    from pydantic_ai.messages import ToolCallPart

    return ToolCallPart(llm_main.TOOL, json.dumps({**VERDICT, **changed}))


@llm
@pytest.mark.parametrize("verdicts", [("approved", "rejected"), ("rejected", "approved")])
def test_two_tool_calls_with_different_verdicts_are_a_failure(verdicts: tuple[str, str]) -> None:
    answer = _read_parts(*(_call(verdict=verdict) for verdict in verdicts))
    assert isinstance(answer, AgentFailure) and answer.retryable and "2 different answers" in answer.what


@llm
def test_the_same_tool_call_twice_is_one_answer() -> None:
    answer = _read_parts(_call(), _call())
    assert isinstance(answer, AgentReply) and json.loads(answer.text) == VERDICT


@llm
@pytest.mark.parametrize("before", [True, False])
def test_words_beside_a_tool_call_with_another_verdict_are_a_failure(before: bool) -> None:
    from pydantic_ai.messages import TextPart

    text = TextPart('Final: {"number": "abc123", "verdict": "rejected"}')
    answer = _read_parts(*((text, _call()) if before else (_call(), text)))
    assert isinstance(answer, AgentFailure) and "different verdicts" in answer.what


@llm
def test_plain_words_beside_a_tool_call_are_allowed() -> None:
    from pydantic_ai.messages import TextPart

    assert isinstance(_read_parts(TextPart("I have looked."), _call()), AgentReply)

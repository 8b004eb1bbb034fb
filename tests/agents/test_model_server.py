"""The model on loopback speaks what programs speak, whole and in pieces."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from testing.model_server import ModelServer
from testing.model_turns import Call, Cut, Move, Refuse, Say, Turn, Write, turn_of, use_of

TOOL = {"type": "object", "properties": {"path": {"type": "string"}, "file_text": {"type": "string"}, "n": {}}}
PROMPT = [{"role": "user", "content": "Do it."}]
ASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "messages": ("/v1/messages", {"messages": PROMPT, "tools": [{"name": "create", "input_schema": TOOL}]}),
    "chat": (
        "/v1/chat/completions",
        {"messages": PROMPT, "tools": [{"type": "function", "function": {"name": "create", "parameters": TOOL}}]},
    ),
    "responses": (
        "/v1/responses",
        {"input": "Do it.", "tools": [{"type": "function", "name": "create", "parameters": TOOL}]},
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": "Do it."}]}],
            "tools": [{"functionDeclarations": [{"name": "create", "parameters": TOOL}]}],
        },
    ),
}
every = pytest.mark.parametrize("dialect", ASKS)


def ask(server: ModelServer, dialect: str, *, stream: bool = False, key: str = "k") -> str:
    path, body = ASKS[dialect]
    if stream and dialect == "gemini":
        path = path.replace("generate", "streamGenerate")
    data = json.dumps({**body, "model": "m", "stream": stream}).encode()
    question = urllib.request.Request(server.url + path, data, {"x-api-key": key})
    with urllib.request.urlopen(question, timeout=10) as answer:
        return str(answer.read().decode())


@every
@pytest.mark.parametrize("stream", [False, True])
def test_words_and_tools_come_over_the_wire(dialect: str, stream: bool) -> None:
    moves: list[Move] = [Say("All done."), Write("/w/a.py", "x = 1\n")]
    with ModelServer(lambda turn: moves.pop()) as server:
        tool, words = ask(server, dialect, stream=stream), ask(server, dialect, stream=stream)

    assert "create" in tool and "/w/a.py" in tool and "x = 1" in tool
    assert "All done." in words
    assert [turn.prompt for turn, _ in server.turns] == ["Do it.", "Do it."]


@every
def test_refusals_and_wrong_keys_are_errors(dialect: str) -> None:
    with ModelServer(lambda turn: Refuse(429)) as server:
        for key, status in (("k", 429), ("a-bad-key", 401)):
            with pytest.raises(urllib.error.HTTPError) as error:
                ask(server, dialect, key=key)
            assert error.value.code == status
            error.value.close()


@every
def test_a_cut_stream_has_no_end(dialect: str) -> None:
    with ModelServer(lambda turn: Cut()) as server:
        said = ask(server, dialect, stream=True)

    assert "All done" not in said and not any(end in said for end in ("message_stop", "[DONE]", "completed", "STOP"))


def test_a_turn_counts_what_the_model_said_since_the_prompt() -> None:
    seen: list[Turn] = []

    def brain(turn: Turn) -> Move:
        seen.append(turn)
        return Say("ok")

    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "create", "input": {}}]}
    told = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}, {"type": "text", "text": "note"}]}
    before = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello."}]
    body = {"model": "m", "messages": [*before, *PROMPT, asked, told]}
    with ModelServer(brain) as server:
        question = urllib.request.Request(server.url + "/v1/messages", json.dumps(body).encode())
        urllib.request.urlopen(question, timeout=10).close()

    assert seen[0].number == 1


def test_a_tool_of_a_server_is_called_in_its_group_or_by_both_names() -> None:
    group = {"type": "namespace", "name": "mcp__shop", "tools": [{"type": "function", "name": "sell"}]}
    grouped = turn_of("/v1/responses", {"input": "Do it.", "tools": [group]}, "k")
    flat = turn_of("/v1/messages", {"messages": PROMPT, "tools": [{"name": "mcp__shop__sell"}]}, "k")
    assert grouped and flat
    calls = [use_of(Call("shop", "sell", {"n": 1}), turn) for turn in (grouped, flat)]
    assert [(call.name, call.namespace) for call in calls if call] == [("sell", "mcp__shop"), ("mcp__shop__sell", "")]

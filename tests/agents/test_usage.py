"""Promise 25: what an agent says it cost cannot lower the bill."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from burnish.agents.base import AgentSettings, FinishedCall
from burnish.agents.codex import CodexAgent, configured_model, session_model
from burnish.agents.monitor import Meter
from burnish.agents.question import AgentCall
from burnish.agents.registry import AGENTS
from burnish.agents.usage import MAX_TOKENS, MAX_USD, TokenCount, at_least, dollars, token_count
from burnish.core.agent import AgentReply, Use
from burnish.core.cost import CostSource, joint_source
from burnish.proc.shim_files import ExitRecord
from testing.agent_samples import request

ABSURD = [-1000, -0.01, math.nan, math.inf, -math.inf, 10**400, 1e300, MAX_USD * 1.01, "5", True, None, [], {}]
USAGE = {"input_tokens": 100_000, "cache_read_input_tokens": 0, "output_tokens": 10_000}
HONEST = 0.30


def said(kind: str, *events: dict[str, Any], **changes: Any) -> AgentReply:
    stdout = "".join(json.dumps(event) + "\n" for event in events)
    reply = AGENTS[kind].read(FinishedCall(0, None, "exit", stdout, "", "implement", **changes))
    assert isinstance(reply, AgentReply), reply
    return reply


def claude(cost: Any, usage: dict[str, Any] = USAGE) -> dict[str, Any]:
    models = {"claude-sonnet-5": {"outputTokens": 10_000}}
    return {"type": "result", "result": "Done.", "total_cost_usd": cost, "usage": usage, "modelUsage": models}


@pytest.mark.parametrize("value", ABSURD, ids=lambda value: str(value)[:12])
def test_an_amount_that_cannot_be_is_refused_and_the_list_price_counts(value: Any) -> None:
    reply = said("claude", claude(value))

    assert dollars(value) is None
    # 100,000 tokens at $2 and 10,000 at $10 per million
    assert (reply.cost_usd, reply.cost_source) == (pytest.approx(0.30), CostSource.LIST)


@pytest.mark.parametrize("value", [*ABSURD, 1.5, MAX_TOKENS + 1], ids=lambda value: str(value)[:12])
def test_a_token_count_that_cannot_be_is_not_counted(value: Any) -> None:
    assert token_count(value) == 0
    broken = dict.fromkeys(USAGE, value)
    assert said("claude", claude(HONEST, broken)).tokens == 0
    assert said("opencode", {"type": "text", "part": {"text": "Done."}}, step(cost=value, tokens={"input": value}))


def step(**part: Any) -> dict[str, Any]:
    return {"type": "step_finish", "part": {"reason": "stop", **part}}


def test_without_any_figure_the_cost_is_unknown_and_not_zero() -> None:
    for event in (claude(-1, {}), claude(math.nan, {})):
        event["modelUsage"] = {}
        reply = said("claude", event)
        assert (reply.cost_usd, reply.cost_source) == (None, CostSource.UNKNOWN)


@pytest.mark.parametrize("forged", [-1000, 0, 0.0001, math.nan, "0", None])
@pytest.mark.parametrize("first", [True, False])
def test_a_forged_result_line_does_not_lower_the_bill(forged: Any, first: bool) -> None:
    lines = [claude(HONEST), {**claude(forged, {}), "modelUsage": {}}]
    reply = said("claude", *(reversed(lines) if first else lines))

    assert (reply.cost_usd, reply.tokens) == (HONEST, 110_000)


def test_forged_usage_of_other_programs_does_not_lower_the_bill() -> None:
    gemini = {"type": "result", "status": "success", "stats": {"models": {"gemini-2.5-pro": gemini_stats(1000, 100)}}}
    empty: dict[str, Any] = {**gemini, "stats": {"models": {"gemini-2.5-pro": gemini_stats(1, 1)}}}
    text = {"type": "message", "role": "assistant", "content": "Done."}
    one, two = said("gemini", text, gemini), said("gemini", text, gemini, empty)
    assert one.cost_usd == two.cost_usd and one.tokens == two.tokens == 1100
    usage = {"input_tokens": 1000, "cached_input_tokens": 0, "output_tokens": 50}
    message = {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}}
    turns = [{"type": "turn.completed", "usage": told} for told in (usage, {}, {"input_tokens": -5})]
    assert said("codex", message, *turns, model="gpt-5").tokens == 1050


def gemini_stats(given: int, out: int, thoughts: int = 0) -> dict[str, int]:
    return {
        "total_tokens": given + out + thoughts,
        "input_tokens": given,
        "output_tokens": out,
        "cached": 0,
        "input": given,
    }


def test_geminis_thoughts_are_output() -> None:
    stats = {"models": {"gemini-2.5-pro": gemini_stats(1000, 100, thoughts=5000)}}
    text = {"type": "message", "role": "assistant", "content": "Done."}
    reply = said("gemini", text, {"type": "result", "status": "success", "stats": stats})

    assert reply.tokens == 6100 and reply.cost_source == CostSource.LIST
    assert reply.cost_usd == pytest.approx((1000 * 1.25 + 5100 * 10) / 1e6)


MESSAGE = {"type": "assistant", "message": {"id": "m1", "model": "claude-sonnet-5", "usage": USAGE}}


def finished(folder: Path, kind: str, *events: dict[str, Any]) -> AgentReply:
    """Read as the runner reads it, with the output on disk."""
    folder.mkdir()
    (folder / "stdout").write_text("".join(json.dumps(event) + "\n" for event in events))
    (folder / "stderr").write_text("")
    question = AgentCall(request(call_dir=folder.parent), AgentSettings(kind, kind), AGENTS[kind])
    done = ExitRecord(0, None, "exit", 1.0, folder / "stdout", folder / "stderr", 0, 0)
    reply = question.read(folder, done)
    assert isinstance(reply, AgentReply), reply
    return reply


def test_the_higher_of_meter_and_result_counts(tmp_path: Path) -> None:
    low = {**claude(0.0001, {"input_tokens": 1}), "modelUsage": {}}
    cheap = {"type": "assistant", "message": {"id": "m1", "model": "claude-haiku-5-5", "usage": {"input_tokens": 1}}}
    reply = finished(tmp_path / "try-1", "claude", MESSAGE, cheap, low)
    assert (reply.cost_usd, reply.tokens, reply.cost_source) == (pytest.approx(0.30), 110_000, CostSource.LIST)

    reply = finished(tmp_path / "try-2", "claude", MESSAGE, claude(0.50))
    assert (reply.cost_usd, reply.cost_source) == (0.50, CostSource.PROGRAM)


def test_a_later_line_on_the_same_call_only_raises_what_is_metered(tmp_path: Path) -> None:
    output = tmp_path / "stdout"
    bad = [{**USAGE, "input_tokens": value} for value in (-(10**9), 0, 10**400)]
    lines = [MESSAGE, *({"type": "assistant", "message": {"id": "m1", "model": "x", "usage": one}} for one in bad)]
    output.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert Meter(AGENTS["claude"], output).rest() == Use(pytest.approx(0.30), 110_000)


def test_a_cut_output_makes_the_cost_partial() -> None:
    reply = AgentReply("Done.", cost_usd=1.0, cost_source=CostSource.PROGRAM)

    assert at_least(reply, Use(), cut=True).cost_source == CostSource.PARTIAL


def codex(usage: dict[str, int], **changes: Any) -> AgentReply:
    message = {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}}
    started = {"type": "thread.started", "thread_id": "01a1e10c-7c25"}
    return said("codex", started, message, {"type": "turn.completed", "usage": usage}, model="gpt-6-sol", **changes)


def test_a_resumed_codex_session_is_billed_without_what_it_used_before() -> None:
    first = codex({"input_tokens": 13_510, "cached_input_tokens": 10_000, "output_tokens": 17})
    second = codex(
        {"input_tokens": 27_095, "cached_input_tokens": 22_000, "output_tokens": 34},
        resumed=first.session,
        session_usage=first.session_usage,
    )

    assert (first.tokens, second.tokens) == (13_527, 13_602)
    assert second.cost_usd == pytest.approx((1585 * 2 + 12_000 * 0.2 + 17 * 10) / 1e6)
    assert second.session_usage == {"new": 5095, "cached": 22_000, "out": 34}


def test_nothing_is_subtracted_from_another_session_or_from_a_count_that_began_again() -> None:
    usage = {"input_tokens": 1000, "cached_input_tokens": 0, "output_tokens": 50}
    earlier = {"new": 5000, "cached": 0, "out": 10}
    assert codex(usage, resumed="another", session_usage={"new": 10, "cached": 0, "out": 1}).tokens == 1050
    assert codex(usage, resumed="01a1e10c-7c25", session_usage=earlier).tokens == 1050
    assert TokenCount(10, 0, 5).since(None) == TokenCount(10, 0, 5)
    assert TokenCount(10, 0, 5).since({"new": -7, "cached": "x", "out": math.nan}) == TokenCount(10, 0, 5)  # type: ignore[dict-item]


def test_a_resumed_qwen_session_is_billed_without_what_it_used_before() -> None:
    def result(given: int, out: int) -> dict[str, Any]:
        return {
            "type": "result",
            "result": "Done.",
            "session_id": "s",
            "usage": {"input_tokens": given, "output_tokens": out},
        }

    first = said("qwen", result(32_855, 34))
    second = said("qwen", result(65_974, 68), resumed="s", session_usage=first.session_usage)
    assert (first.tokens, second.tokens) == (32_889, 33_153)


@pytest.mark.parametrize(
    ("files", "model"),
    [
        ({"config.toml": 'model = "gpt-6-sol"\n'}, "gpt-6-sol"),
        ({"config.toml": 'model = "gpt-5"\nprofile = "deep"\n[profiles.deep]\nmodel = "gpt-6-sol"\n'}, "gpt-6-sol"),
        ({"config.toml": 'profile = "deep"\n', "deep.config.toml": 'model = "gpt-6-sol"\n'}, "gpt-6-sol"),
        ({"config.toml": 'model = "gpt-5"\nprofile = "deep"\n[profiles.deep]\nx = 1\n'}, "gpt-5"),
        ({"config.toml": 'profile = "../x"\nmodel = "gpt-5"\n'}, "gpt-5"),
        ({"config.toml": "model = 7\n"}, None),
        ({"config.toml": "not toml ["}, None),
        ({}, None),
    ],
)
def test_codexs_model_is_found_where_the_user_set_it(
    files: dict[str, str], model: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.agents.codex.SYSTEM_CONFIG", tmp_path / "none")
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    assert configured_model(tmp_path) == model
    assert CodexAgent().configured_model({"CODEX_HOME": str(tmp_path), "HOME": "/nowhere"}) == model


def test_codexs_model_is_else_found_in_its_session_file(tmp_path: Path) -> None:
    place = tmp_path / "sessions" / "2026" / "11" / "16"
    place.mkdir(parents=True)
    turns = [{"type": "turn_context", "payload": {"model": name}} for name in ("gpt-5", "gpt-6-sol")]
    text = "".join(json.dumps(turn) + "\n" for turn in turns)
    (place / "rollout-2026-11-16T05-18-25-01a1e2ca-d2c3.jsonl").write_text("{broken turn_context\n" + text)

    assert session_model(tmp_path, "01a1e2ca-d2c3") == "gpt-6-sol"
    assert session_model(tmp_path, "01a1e2ca-ffff") is None and session_model(tmp_path, "*") is None


@pytest.mark.timeout(20)
def test_a_pipe_or_a_link_in_the_place_of_a_file_of_codex_is_not_read(tmp_path: Path) -> None:
    """Without a sandbox an author can write there; a pipe would be waited for without end."""
    place = tmp_path / "sessions" / "2026" / "11" / "16"
    place.mkdir(parents=True)
    (tmp_path / "elsewhere").write_text('{"type": "turn_context", "payload": {"model": "gpt-6-sol"}}\n')
    os.mkfifo(place / "rollout-2026-11-16T05-18-25-01a1e2ca-d2c3.jsonl")
    (place / "rollout-2026-11-16T05-18-26-01a1e2ca-d2c3.jsonl").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "config.toml")

    assert session_model(tmp_path, "01a1e2ca-d2c3") is None
    assert configured_model(tmp_path) is None


def test_the_source_of_several_costs_is_the_weakest_of_theirs() -> None:
    assert joint_source([]) is None and joint_source([None, ""]) is None
    assert joint_source(["program", "program"]) == CostSource.PROGRAM
    assert joint_source(["program", "list"]) == CostSource.MIXED
    assert joint_source(["program", "unknown"]) == joint_source(["list", "partial"]) == CostSource.PARTIAL
    assert joint_source(["unknown"]) == CostSource.UNKNOWN


def test_tokens_from_the_cache_are_metered_once(tmp_path: Path) -> None:
    """Claude counts them beside the input, qwen as a part of it."""
    output = tmp_path / "stdout"
    usage = {"input_tokens": 1000, "cache_read_input_tokens": 400, "output_tokens": 10}
    output.write_text(json.dumps({"type": "assistant", "message": {"id": "m", "model": "x", "usage": usage}}) + "\n")

    assert (Meter(AGENTS["claude"], output).rest().tokens, Meter(AGENTS["qwen"], output).rest().tokens) == (1410, 1010)


def test_a_resumed_copilot_session_is_billed_without_what_it_used_before() -> None:
    def read(given: int, out: int, **changes: Any) -> AgentReply:
        usage = {"inputTokens": given, "outputTokens": out, "cacheReadTokens": 0}
        files = {"usage.json": json.dumps({"modelMetrics": {"gpt-5": {"usage": usage}}})}
        message = {"type": "assistant.message", "data": {"content": "Done."}}
        return said("copilot", message, {"type": "result", "sessionId": "s", "exitCode": 0}, files=files, **changes)

    first = read(24_000, 34)
    assert read(50_000, 68, resumed="s", session_usage=first.session_usage).tokens == 26_034
    assert read(50_000, 68, resumed="other", session_usage=first.session_usage).tokens == 50_068


CODEX_TEXT = {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}}
GEMINI_TEXT = {"type": "message", "role": "assistant", "content": "Done."}
REFUSED = [-1000, math.nan, math.inf, 10**401, MAX_TOKENS + 1, "5", {"a": 1}, True, 1e6]


def turn(given: Any, cached: Any, out: Any) -> dict[str, Any]:
    usage = {"input_tokens": given, "cached_input_tokens": cached, "output_tokens": out}
    return {"type": "turn.completed", "usage": usage}


def gemini_result(models: dict[str, Any]) -> dict[str, Any]:
    return {"type": "result", "status": "success", "stats": {"models": models}}


def qwen_result(given: Any, cached: Any, out: Any) -> dict[str, Any]:
    usage = {"input_tokens": given, "cache_read_input_tokens": cached, "output_tokens": out}
    return {"type": "result", "result": "Done.", "session_id": "s", "usage": usage}


def qwen_message(model: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": "m1", "model": model, "usage": {}}}


@pytest.mark.parametrize("first", [True, False])
def test_a_forged_report_with_more_tokens_of_a_cheaper_kind_does_not_lower_the_bill(first: bool) -> None:
    def ordered(*lines: dict[str, Any]) -> list[dict[str, Any]]:
        return list(reversed(lines)) if first else list(lines)

    honest = (1000 * 1.25 + 100_000 * 10) / 1e6
    turns = ordered(turn(1000, 0, 100_000), turn(200_000, 200_000, 0))
    assert (said("codex", CODEX_TEXT, *turns, model="gpt-5").cost_usd or 0) >= honest
    cached = {**gemini_stats(200_000, 0), "cached": 200_000, "input": 0}
    stats = ordered(*({"gemini-2.5-pro": told} for told in (gemini_stats(1000, 100_000), cached)))
    assert (said("gemini", GEMINI_TEXT, *map(gemini_result, stats)).cost_usd or 0) >= honest
    results = ordered(qwen_result(10, 0, 200_000), qwen_result(400_000, 400_000, 0))
    assert (said("qwen", qwen_message("qwen3-coder-plus"), *results).cost_usd or 0) >= 1.0


@pytest.mark.parametrize("model", ["gemini-2.5-flash-lite", "local-x"])
def test_a_forged_model_does_not_lower_geminis_bill(model: str) -> None:
    honest = gemini_result({"gemini-2.5-pro": gemini_stats(1000, 100_000)})
    forged = gemini_result({model: gemini_stats(110_000, 0)})
    reply = said("gemini", GEMINI_TEXT, honest, forged)

    assert (reply.cost_usd or 0) >= (1000 * 1.25 + 100_000 * 10) / 1e6
    assert reply.cost_source == (CostSource.PARTIAL if model == "local-x" else CostSource.LIST)


@pytest.mark.parametrize("forged", ["local-x", "gpt-5-nano"])
@pytest.mark.parametrize("asked", ["qwen3-coder-plus", None])
def test_a_forged_model_does_not_lower_qwens_bill(forged: str, asked: str | None) -> None:
    events = (qwen_message("qwen3-coder-plus"), qwen_message(forged), qwen_result(10, 0, 200_000))

    assert said("qwen", *events, model=asked).cost_usd == pytest.approx((10 * 1 + 200_000 * 5) / 1e6)


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: str(value)[:12])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_refused_count_makes_the_cost_unknown(value: Any, place: int) -> None:
    counts: list[Any] = [1000, 0, 10]
    counts[place] = value
    given, cached, out = counts
    stats = {"total_tokens": 1010, "input_tokens": given, "output_tokens": out, "cached": cached}
    usage = {"input_tokens": given, "cache_read_input_tokens": cached, "output_tokens": out}
    replies = [
        said("codex", CODEX_TEXT, turn(*counts), model="gpt-5"),
        said("qwen", qwen_result(*counts), model="qwen3-coder-plus"),
        said("gemini", GEMINI_TEXT, gemini_result({"gemini-2.5-pro": stats})),
        said("claude", claude(None, usage)),
    ]
    assert [(reply.cost_usd, reply.cost_source) for reply in replies] == [(None, CostSource.UNKNOWN)] * 4


@pytest.mark.parametrize("usage", [None, "x", {}, {"input_tokens": 5}, {"input_tokens": 0, "output_tokens": 0}])
def test_missing_counts_make_the_cost_unknown_and_not_zero(usage: Any) -> None:
    replies = [
        said("codex", CODEX_TEXT, {"type": "turn.completed", "usage": usage}, model="gpt-5"),
        said("qwen", {**qwen_result(1, 0, 1), "usage": usage}, model="qwen3-coder-plus"),
        said("gemini", GEMINI_TEXT, gemini_result({"gemini-2.5-pro": usage})),
        said("claude", claude(None, usage)),
        said("claude", claude(0, usage)),
    ]
    assert [(reply.cost_usd, reply.cost_source) for reply in replies] == [(None, CostSource.UNKNOWN)] * 5


def test_a_refused_report_next_to_a_complete_one_makes_the_cost_partial() -> None:
    reply = said("codex", CODEX_TEXT, turn(1000, 0, 100_000), turn(-5, 0, 5), model="gpt-5")

    assert (reply.cost_usd, reply.cost_source) == (pytest.approx(1.00125), CostSource.PARTIAL)


def test_cached_input_claimed_earlier_does_not_pay_for_new_input_of_a_resumed_session() -> None:
    earlier = {"new": 1000, "cached": 200_000, "out": 10}

    assert TokenCount(201_000, 0, 10).since(earlier) == TokenCount(201_000, 0, 10)


def test_what_was_metered_counts_as_partial_where_the_report_gives_no_price(tmp_path: Path) -> None:
    reply = finished(tmp_path / "try-1", "claude", MESSAGE, claude(None, {"input_tokens": -1}))

    assert (reply.cost_usd, reply.cost_source) == (pytest.approx(0.30), CostSource.PARTIAL)

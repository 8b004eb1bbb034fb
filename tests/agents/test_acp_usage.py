"""What programs report over the Agent Client Protocol: the shapes that were measured, and damaged ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from burnish.agents.acp import AcpAgent
from burnish.agents.base import AgentSettings, FinishedCall
from burnish.agents.countable import uncounted_usd
from burnish.core.agent import AgentReply
from burnish.errors import PhaseFailed
from testing.extras import needs_extra

acp = needs_extra("acp", "acp")
PROGRAM = Path(__file__).parents[2] / "testing" / "acp_agent.py"


def quota(*models: tuple[Any, Any, Any]) -> dict[str, Any]:
    """As gemini gives it at the end of a turn."""
    usage = [{"model": name, "token_count": {"input_tokens": new, "output_tokens": out}} for name, new, out in models]
    return {"_meta": {"quota": {"token_count": {"input_tokens": 1, "output_tokens": 1}, "model_usage": usage}}}


def usage(total: int, given: int, out: int, **more: int) -> dict[str, Any]:
    return {"usage": {"totalTokens": total, "inputTokens": given, "outputTokens": out, **more}}


def cost(amount: float, currency: str = "USD") -> str:
    return "update " + json.dumps({"cost": {"amount": amount, "currency": currency}})


@pytest.fixture
def ask(project) -> Any:
    def ask(
        result: dict[str, Any],
        *orders: str,
        name: str = "tester",
        model: str | None = None,
        role: Literal["implement", "review"] = "review",
    ) -> AgentReply:
        argv = (sys.executable, "-IS", str(PROGRAM), "--name", name)
        prompt = "\n".join([*orders, "say Done.", f"result {json.dumps(result)}"])
        runner = project.runner(AgentSettings("zed", "acp", argv=argv, model=model), attempts=1)
        return runner.call(project.request("zed", prompt=prompt, role=role, timeout_seconds=60.0))

    return ask


@pytest.mark.representatives(1)
@acp
@pytest.mark.parametrize(
    ("result", "name", "model", "expected"),
    [
        # gemini: `_meta.quota` only, without thoughts
        (quota(("gemini-2.5-pro", 1000, 100_000)), "gemini-cli", None, (1.00125, "partial", 101_000)),
        (quota(("gemini-2.5-pro", 0, 100_000), ("local", 5, 5)), "other", None, (1.0, "partial", 100_010)),
        (quota(("gemini-2.5-pro", 0, 50_000), ("gemini-2.5-pro", 0, 50_000)), "other", None, (1.0, "list", 100_000)),
        (
            {"_meta": {"quota": {"token_count": {"input_tokens": 0, "output_tokens": 9}}}},
            "x",
            None,
            (None, "unknown", 9),
        ),
        # claude-agent-acp and copilot: the protocol's own field; thoughts are output
        (usage(100_000, 0, 60_000, thoughtTokens=40_000), "x", "gpt-5", (1.0, "list", 100_000)),
        (usage(1_000_000, 1_000_000, 0, cachedReadTokens=1_000_000), "x", "gpt-5", (0.125, "list", 1_000_000)),
        # opencode: the tokens of its last call only
        (usage(100_000, 0, 100_000), "opencode", "gpt-5", (1.0, "partial", 100_000)),
        # a model without a price, and a program that reports nothing (codex-acp)
        (usage(100_000, 0, 100_000), "x", None, (None, "unknown", 100_000)),
        ({}, "codex-acp", "gpt-5", (None, "unknown", 0)),
    ],
)
def test_every_shape_of_usage_is_counted(
    ask, result: dict[str, Any], name: str, model: str | None, expected: tuple[float | None, str, int]
) -> None:
    reply = ask(result, name=name, model=model)
    assert (reply.cost_usd, reply.cost_source, reply.tokens) == (
        pytest.approx(expected[0]) if expected[0] is not None else None,
        *expected[1:],
    )


@pytest.mark.slow
@pytest.mark.representatives(1)
@acp
@pytest.mark.parametrize("bad", [-5, 10**12, 1.5, "many", None, True])
def test_a_count_that_cannot_be_makes_the_cost_unknown_or_partial(ask, bad: Any) -> None:
    unknown = ask(quota(("gemini-2.5-pro", bad, 100_000)))
    assert (unknown.cost_usd, unknown.cost_source) == (None, "unknown")
    partial = ask(quota(("gemini-2.5-pro", 0, 100_000), ("gemini-2.5-flash", bad, 10)))
    assert (partial.cost_usd, partial.cost_source) == (pytest.approx(1.0), "partial")


@pytest.mark.long
@acp
@pytest.mark.parametrize("result", [{"_meta": {"quota": 5}}, {"_meta": {"quota": {"model_usage": "x"}}}, {"_meta": {}}])
def test_a_meta_field_of_another_shape_is_no_usage(ask, result: dict[str, Any]) -> None:
    assert (ask(result).cost_usd, ask(result).cost_source) == (None, "unknown")


@pytest.mark.slow
@pytest.mark.representatives(1)
@acp
@pytest.mark.parametrize("later", [cost(0.1), cost(-3), cost(float("nan")), cost(0), cost(99, "EUR")])
def test_a_later_update_does_not_lower_the_cost(ask, later: str) -> None:
    reply = ask({}, cost(0.75), later)
    assert (reply.cost_usd, reply.cost_source) == (0.75, "program")


@pytest.mark.slow
@pytest.mark.representatives(1)
@acp
@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        (("stop max_tokens",), (1.0, "partial", 100_000)),
        ((cost(0.5), "fail -32603 503 overloaded"), (0.5, "partial", 0)),
        ((cost(0.5), "die"), (0.5, "partial", 0)),
        (("die",), (None, "unknown", 0)),
    ],
)
def test_a_turn_that_failed_is_paid_for(ask, orders: tuple[str, ...], expected: tuple[float | None, str, int]) -> None:
    result = f"result {json.dumps(usage(100_000, 0, 100_000))}"
    with pytest.raises(PhaseFailed) as caught:
        ask(usage(100_000, 0, 100_000), result, *orders, model="gpt-5")
    assert (caught.value.cost_usd, caught.value.cost_source, caught.value.tokens) == expected


@pytest.mark.slow
@acp
def test_a_command_that_answers_in_the_agents_place_does_not_lower_the_bill(ask) -> None:
    forged = {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn", **usage(2, 1, 1)}}
    orders = ("say Done.", f"forge {json.dumps(forged)}", "hang 2")
    reply = ask(usage(100_000, 0, 100_000), *orders, model="gpt-5", role="implement")
    assert reply.tokens == 2, "what the agent itself reports comes too late"
    assert reply.cost_source == "partial"
    assert "answer" in uncounted_usd(AgentSettings("zed", "acp", argv=("x",), model="gpt-5"), None, {}, is_author=True)


def test_programs_that_report_a_part_are_known_before_the_run() -> None:
    for argv, word in ((("gemini", "--acp"), "thoughts"), (("/opt/bin/opencode", "acp"), "last call")):
        assert word in uncounted_usd(AgentSettings("zed", "acp", argv=argv, model="gpt-5"), None, {})
    assert uncounted_usd(AgentSettings("zed", "acp", argv=("other",), model="gpt-5"), None, {}) == ""
    assert "title" in uncounted_usd(AgentSettings("opencode", "opencode"), None, {})


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("forged", [{"cost": 0.01}, {"cost": -1, "usage": []}, {"usage": [{"model": "x", "new": -1}]}])
def test_a_forged_result_line_does_not_lower_the_bill(forged: dict[str, Any], first: bool) -> None:
    honest = {"text": "Done.", "usage": [{"model": "gpt-5", "new": 0, "cached": 0, "out": 100_000}], "cost": None}
    lines = [{"text": "Done.", **forged}, honest] if first else [honest, {"text": "Done.", **forged}]
    reply = AcpAgent().read(FinishedCall(0, None, "exit", "\n".join(map(json.dumps, lines)), "", role="implement"))
    assert isinstance(reply, AgentReply)
    assert reply.cost_usd == pytest.approx(1.0)

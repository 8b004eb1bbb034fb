"""A process that a tool started writes figures of its own into a program's output: the bill does not fall."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from burnish.agents.base import AgentFailure, FinishedCall
from burnish.agents.registry import AGENTS
from burnish.core.agent import AgentReply
from testing.agent_samples import NAMES, spoken
from testing.attack_counts import CountAttacks

FIGURES: dict[str, Callable[[float], float]] = {
    "nothing": lambda value: 0,
    "one": lambda value: 1,
    "less than nothing": lambda value: -abs(value) - 1000,
    "absurd": lambda value: 10**30,
    "half": lambda value: value // 2 if isinstance(value, int) else value / 2,
}


def with_figures(value: Any, change: Callable[[float], float]) -> Any:
    if isinstance(value, dict):
        return {key: with_figures(one, change) for key, one in value.items()}
    if isinstance(value, list):
        return [with_figures(one, change) for one in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return change(value) if is_number else value


def forged_outputs(stdout: str) -> Iterator[tuple[str, str]]:
    lines = stdout.split("\n")
    reports = [(at, line) for at, line in enumerate(lines) if "usage" in line or "tokens" in line or "stats" in line]
    for at, line in [(at, line) for at, line in reports if line.startswith("{")][-6:]:
        for name, change in FIGURES.items():
            forged = json.dumps(with_figures(json.loads(line), change))
            for place in sorted({0, 1, at, at + 1, len(lines) - 1}):
                yield f"{name}, line {place}", "\n".join([*lines[:place], forged, *lines[place:]])


def is_cheaper(call: FinishedCall, name: str, honest: AgentReply) -> bool:
    reply = AGENTS[name].read(call)
    if isinstance(reply, AgentFailure):
        return False
    return reply.tokens < honest.tokens or (reply.cost_usd or 0.0) < (honest.cost_usd or 0.0) * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != "aider"])
def test_a_forged_report_does_not_lower_the_bill(name: str, count_attacks: CountAttacks) -> None:
    call = spoken(name, "implement")
    honest = AGENTS[name].read(call)
    assert isinstance(honest, AgentReply) and honest.tokens
    outputs = dict(forged_outputs(call.stdout))
    successes = [how for how, stdout in outputs.items() if is_cheaper(replace(call, stdout=stdout), name, honest)]
    count_attacks("lower the bill by a forged report", len(outputs), len(successes))
    assert outputs and successes == []

"""What an agent uses while it works: read as it comes, and in the end the same as what the program itself says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.agents.base import FinishedCall
from burnish.agents.monitor import Meter
from burnish.agents.registry import AGENTS
from burnish.core.agent import AgentReply, Use

SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize("role", ["implement", "review"])
@pytest.mark.parametrize("kind", ["claude", "qwen", "opencode"])
def test_the_sum_is_what_the_program_says_at_its_end(kind: str, role: str, tmp_path: Path) -> None:
    said = json.loads((SAMPLES / f"{kind}.json").read_text())[role]["stdout"]
    (tmp_path / "stdout").write_text(said)
    reply = AGENTS[kind].read(FinishedCall(0, None, "exit", said, "", role=role))
    assert isinstance(reply, AgentReply)
    used = Meter(AGENTS[kind], tmp_path / "stdout").look()
    assert used.tokens == reply.tokens
    assert used.usd == (pytest.approx(reply.cost_usd) if reply.cost_usd else None)


def message(number: int, out: int, model: str = "gpt-5") -> str:
    said = {"id": f"m{number}", "model": model, "usage": {"output_tokens": out}}
    return json.dumps({"type": "assistant", "message": said}) + "\n"


def test_it_reads_on_and_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    output = tmp_path / "stdout"
    meter = Meter(AGENTS["claude"], output)
    assert meter.look() == Use()  # nothing was printed yet
    text = message(1, 10) + message(1, 30) + message(2, 5)
    seen = []
    for end in (20, len(message(1, 10)), len(text) - 3, len(text)):
        output.write_text(text[:end])
        seen.append(meter.look().tokens)
    assert seen == [0, 10, 30, 35]


def test_what_is_no_event_of_its_is_passed_over(tmp_path: Path) -> None:
    noise = 'warning\n{"type": "assistant"}\n{"type": "assistant", "message": {"usage": 3}}\n[1]\n{broken\n\xff\n'
    (tmp_path / "stdout").write_bytes(noise.encode("latin-1") + b"x" * 3_000_000 + b"\n" + message(1, 7).encode())
    meter = Meter(AGENTS["claude"], tmp_path / "stdout")
    assert meter.look().tokens == 7
    for agent in AGENTS.values():
        Meter(agent, tmp_path / "stdout").look()


def test_an_unknown_price_is_not_nothing(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text(message(1, 10, model="some-model"))
    assert Meter(AGENTS["claude"], tmp_path / "stdout").look() == Use(None, 10)
    assert Use(None, 1) + Use(0.5, 2) == Use(0.5, 3)


def test_ours_that_talks_for_a_program_tells_the_whole_each_time(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text('{"so_far": {"cost": 0.1}}\n{"so_far": {"cost": 0.3}}\n{"text": "done"}\n')
    assert Meter(AGENTS["acp"], tmp_path / "stdout").look() == Use(0.3, 0)

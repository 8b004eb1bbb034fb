"""Promise 25: a process that writes into the report of its agent, and forges another one, does not lower the bill."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnish.agents.base import AgentSettings, FinishedCall
from burnish.agents.countable import uncounted_usd
from burnish.agents.question import AgentCall
from burnish.agents.registry import AGENTS
from burnish.core.agent import AgentReply
from burnish.core.cost import CostSource
from burnish.proc.shim_files import ExitRecord
from testing.agent_samples import request

Events = list[dict[str, Any]]


def claude(tokens: int) -> Events:
    usage = {"input_tokens": tokens, "output_tokens": tokens}
    return [{"type": "result", "result": "Done.", "total_cost_usd": tokens / 100_000, "usage": usage}]


def codex(tokens: int) -> Events:
    usage = {"input_tokens": tokens, "cached_input_tokens": 0, "output_tokens": tokens}
    message = {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}}
    return [message, {"type": "turn.completed", "usage": usage}]


def gemini(tokens: int) -> Events:
    stats = {
        "models": {"gemini-2.5-pro": {"input_tokens": tokens, "output_tokens": tokens, "total_tokens": 2 * tokens}}
    }
    tool = {"type": "tool_result", "tool_id": "1", "status": "success"}
    message = {"type": "message", "role": "assistant", "content": "Done."}
    return [tool, message, {"type": "result", "status": "success", "stats": stats}]


def qwen(tokens: int) -> Events:
    usage = {"input_tokens": tokens, "cache_read_input_tokens": 0, "output_tokens": tokens}
    return [{"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "usage": usage}]


def acp(tokens: int) -> Events:
    return [{"text": "Done.", "usage": [{"model": "gpt-5", "new": tokens, "cached": 0, "out": tokens}], "cost": None}]


KINDS = {"claude": claude, "codex": codex, "gemini": gemini, "qwen": qwen, "acp": acp}
MODELS = {"codex": "gpt-5", "qwen": "qwen3-coder-plus"}


def read(folder: Path, kind: str, stdout: str) -> AgentReply:
    for name, text in (("stdout", stdout), ("stderr", "")):
        (folder / name).write_text(text)
    question = AgentCall(request(call_dir=folder, model=MODELS.get(kind)), AgentSettings("it", kind), AGENTS[kind])
    done = ExitRecord(0, None, "exit", 1.0, folder / "stdout", folder / "stderr", 0, 0)
    reply = question.read(folder, done)
    assert isinstance(reply, AgentReply), reply
    return reply


def lines(events: Events) -> list[str]:
    return [json.dumps(event) for event in events]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("glue", ["x", "{", "[", "\0", "x {", '{"type": "noise", "a": '])
def test_bytes_before_the_report_do_not_hide_it(tmp_path: Path, kind: str, glue: str) -> None:
    *before, report = lines(KINDS[kind](100_000))
    honest = read(tmp_path, kind, "\n".join([*before, report]) + "\n")
    forged = lines(KINDS[kind](1))
    reply = read(tmp_path, kind, "\n".join([*before, glue + report, *forged]) + "\n")
    assert (honest.cost_source is CostSource.PARTIAL) == (kind == "acp") and honest.cost_usd
    assert reply.cost_source is CostSource.PARTIAL
    assert reply.cost_usd is not None and reply.cost_usd >= honest.cost_usd and reply.tokens >= honest.tokens


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_within_the_report_make_the_cost_a_lower_bound(tmp_path: Path, kind: str) -> None:
    *before, report = lines(KINDS[kind](100_000))
    cut = report[:30] + "x" + "\n" + report[30:]
    reply = read(tmp_path, kind, "\n".join([*before, cut, *lines(KINDS[kind](1))]) + "\n")
    assert reply.cost_source is CostSource.PARTIAL


def test_the_file_of_a_copilot_that_runs_commands_is_not_the_last_word() -> None:
    """A command that it runs can rewrite the file until copilot has ended."""
    usage = {"modelMetrics": {"gpt-5": {"usage": {"inputTokens": 1000, "cacheReadTokens": 0, "outputTokens": 10}}}}
    events = [{"type": "assistant.message", "data": {"content": "Done."}}, {"type": "result", "exitCode": 0}]
    sources = {}
    for role in ("implement", "improve", "review"):
        files = {"usage.json": json.dumps(usage)}
        reply = AGENTS["copilot"].read(FinishedCall(0, None, "exit", "\n".join(lines(events)), "", role, files=files))
        assert isinstance(reply, AgentReply)
        sources[role] = reply.cost_source
    partial = CostSource.PARTIAL
    assert sources == {"implement": partial, "improve": partial, "review": CostSource.LIST}
    entry = AgentSettings("copilot", "copilot", model="gpt-5")
    assert "commands it runs" in uncounted_usd(entry, None, {}, is_author=True)
    assert uncounted_usd(entry, None, {}) == ""


@pytest.mark.parametrize(("role", "source"), [("implement", CostSource.PARTIAL), ("review", CostSource.LIST)])
def test_a_session_file_that_commands_of_codex_can_write_is_not_the_last_word_on_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: Any, source: CostSource
) -> None:
    home, call_dir = tmp_path / "codex", tmp_path / "call"
    sessions = home / "sessions" / "2026" / "11" / "16"
    sessions.mkdir(parents=True)
    call_dir.mkdir()
    monkeypatch.setenv("CODEX_HOME", str(home))
    monkeypatch.setattr("burnish.agents.codex.SYSTEM_CONFIG", home / "none.toml")
    asked = replace(request(call_dir=call_dir), role=role)
    question = AgentCall(asked, AgentSettings("it", "codex"), AGENTS["codex"])
    folder = question.new_folder()
    question.describe(folder)
    # written while it runs
    (home / "config.toml").write_text('model = "gpt-5-nano"\n')
    turn = {"type": "turn_context", "payload": {"model": "gpt-5"}}
    (sessions / "rollout-2026-11-16T05-18-25-01a1e2ca-d2c3.jsonl").write_text(json.dumps(turn) + "\n")
    events = [{"type": "thread.started", "thread_id": "01a1e2ca-d2c3"}, *codex(100_000)]
    (folder / "stdout").write_text("".join(json.dumps(event) + "\n" for event in events))
    (folder / "stderr").write_text("")
    reply = question.read(folder, ExitRecord(0, None, "exit", 1.0, folder / "stdout", folder / "stderr", 0, 0))
    assert isinstance(reply, AgentReply)
    assert (reply.cost_usd, reply.cost_source) == (pytest.approx(1.125), source)


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_that_gives_a_count_twice_is_billed_by_the_higher_one(tmp_path: Path, kind: str) -> None:
    *before, report = lines(KINDS[kind](100_000))
    honest = read(tmp_path, kind, "\n".join([*before, report]) + "\n")
    # written around each of the report's own counts
    numbers = re.compile(r'"(\w+)": (?:[1-9]\d*(?:\.\d+)?)')
    for forged in (r'"\1": 1, \g<0>', r'\g<0>, "\1": 1'):
        damaged = numbers.sub(forged, report)
        for name, text in (("stdout", "\n".join([*before, damaged]) + "\n"), ("stderr", "")):
            (tmp_path / name).write_text(text)
        question = AgentCall(
            request(call_dir=tmp_path, model=MODELS.get(kind)), AgentSettings("it", kind), AGENTS[kind]
        )
        use = question.failed_use(tmp_path)

        assert use is not None and use.usd is not None and use.tokens >= honest.tokens
        assert honest.cost_usd is not None and use.usd >= honest.cost_usd * (1 - 1e-9)

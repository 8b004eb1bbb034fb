"""A call that a used-up plan refuses: free where the program reports so; and what codex tells in its session file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnish.agents.base import AgentSettings
from burnish.agents.codex import session_record
from burnish.agents.runner import AgentRunner, RetryPolicy
from burnish.core.agent import AgentReply
from burnish.errors import PhaseFailed
from burnish.proc.sandbox import Sandbox
from testing.bubblewrap import needs_bubblewrap

RESET = 1_999_956_230
LIMIT = "You've hit your usage limit. Try again in 2 hours."
NO_USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}
REFUSED = {"type": "result", "is_error": True, "result": LIMIT, "total_cost_usd": 0, "usage": NO_USAGE}
ANSWERED = {"type": "assistant", "message": {"id": "m", "model": "claude-opus-4-5", "usage": {"output_tokens": 40_000}}}
STARTED = {"type": "thread.started", "thread_id": "01a1eb83-93ff"}
FAILED = {"type": "turn.failed", "error": {"message": LIMIT}}
RAN = {"type": "item.completed", "item": {"id": "i", "type": "command_execution", "command": "true", "exit_code": 0}}
SAID = {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}}
DONE = {"type": "turn.completed", "usage": {"input_tokens": 1000, "cached_input_tokens": 0, "output_tokens": 0}}
FIVE_HOURS = {"used_percent": 42.5, "window_minutes": 300, "resets_at": RESET}
WEEK = {"used_percent": 61, "window_minutes": 10080, "resets_at": RESET + 9}


def token_count(tokens: int | None, **windows: Any) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "cached_input_tokens": 0, "output_tokens": 0}
    info = None if tokens is None else {"total_token_usage": usage}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info, "rate_limits": windows}}


def write_session(sessions: Path, *events: Any) -> None:
    folder = sessions / "2026" / "11" / "17"
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{event if isinstance(event, str) else json.dumps(event)}\n" for event in events)
    (folder / "rollout-2026-11-17T21-57-11-01a1eb83-93ff.jsonl").write_text(text)


Ask = Callable[..., AgentReply]


@pytest.fixture
def ask(project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Call a stand-in that prints these events and, as codex does, writes those of a session below its home."""

    def ask(
        name: str, *events: Any, session: tuple[Any, ...] = (), code: int = 0, confined: bool = False
    ) -> AgentReply:
        program, home = tmp_path / "bin" / name, tmp_path / "home"
        program.parent.mkdir(exist_ok=True)
        (home / ".codex").mkdir(parents=True, exist_ok=True)
        (home / ".codex" / "config.toml").write_text('model = "gpt-5"\n')
        write_session(tmp_path / "template", *session)
        texts = {
            str(path.relative_to(tmp_path / "template")): path.read_text()
            for path in (tmp_path / "template").rglob("roll*")
        }
        program.write_text(
            f"#!{sys.executable} -IS\nimport os, pathlib, sys\nfor name, text in {texts!r}.items():\n"
            "    file = pathlib.Path(os.environ['HOME'], '.codex/sessions', name)\n"
            "    file.parent.mkdir(parents=True, exist_ok=True)\n    file.write_text(text)\n"
            f"print({chr(10).join(map(json.dumps, events))!r})\nsys.exit({code})\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("HOME", str(home))
        runner = AgentRunner(
            {name: AgentSettings(name, name)},
            checkout=project.root / "checkout",
            lock_dir=project.root / "locks",
            retry=RetryPolicy(attempts=1),
            sandbox=Sandbox(home, project.root / "checkout", home / "burnish") if confined else None,
        )
        return runner.call(project.request(name))

    return ask


def cost_of_failure(ask: Ask, *args: Any, **values: Any) -> tuple[float | None, str | None, int]:
    with pytest.raises(PhaseFailed) as caught:
        ask(*args, code=1, **values)
    return caught.value.cost_usd, caught.value.cost_source, caught.value.tokens


def test_a_refused_call_that_claude_reports_as_free_costs_nothing(ask: Ask) -> None:
    assert cost_of_failure(ask, "claude", REFUSED) == (None, None, 0)


@pytest.mark.parametrize(
    "events",
    [
        # another error than a used-up plan
        [{**REFUSED, "result": "API Error: 529 Overloaded"}],
        # no report, or not a whole one
        [{"type": "result", "is_error": True, "result": LIMIT}],
        [{**REFUSED, "usage": {"input_tokens": 0}}],
        [{**REFUSED, "total_cost_usd": None}],
    ],
)
def test_any_other_failure_without_a_cost_is_unknown_and_not_free(ask: Ask, events: list[Any]) -> None:
    assert cost_of_failure(ask, "claude", *events) == (None, "unknown", 0)


def test_what_was_used_before_the_plan_refused_is_a_lower_bound(ask: Ask) -> None:
    assert cost_of_failure(ask, "claude", ANSWERED, REFUSED) == (1.0, "partial", 40_000)


def test_a_refused_call_is_free_if_the_session_of_codex_counts_no_tokens(ask: Ask) -> None:
    refused = (token_count(None, primary=FIVE_HOURS),)
    assert cost_of_failure(ask, "codex", STARTED, FAILED, session=refused) == (None, None, 0)
    # a command could have changed the file
    assert cost_of_failure(ask, "codex", STARTED, RAN, FAILED, session=refused) == (None, "unknown", 0)
    assert cost_of_failure(ask, "codex", STARTED, FAILED, session=()) == (None, "unknown", 0)


def test_a_failed_turn_of_codex_is_billed_by_its_session_file(ask: Ask) -> None:
    session = (token_count(100_000), token_count(200_000), token_count(None))
    found = cost_of_failure(ask, "codex", STARTED, RAN, FAILED, session=session)
    assert found == (pytest.approx(0.25), "partial", 200_000)


@pytest.mark.parametrize("confined", [False, True])
def test_the_used_share_of_a_plan_is_read_from_the_session_of_codex(ask: Ask, confined: bool) -> None:
    if confined:
        needs_bubblewrap()
    session = (token_count(1000, primary=FIVE_HOURS, secondary=WEEK),)
    reply = ask("codex", STARTED, SAID, DONE, session=session, confined=confined)
    assert [(one.name, one.share) for one in reply.windows] == [("seven_day", 0.61), ("five_hour", 0.425)]


def test_no_line_of_a_session_file_lowers_the_share_and_damaged_ones_are_skipped(tmp_path: Path) -> None:
    write_session(
        tmp_path,
        token_count(5, primary=FIVE_HOURS),
        '{"token_count" damaged',
        token_count(1, primary={**FIVE_HOURS, "used_percent": 1}),
        token_count(1, primary={"used_percent": "90", "resets_at": RESET}, secondary=7),
        token_count(1, primary={**WEEK, "used_percent": 10**400}, secondary={**WEEK, "used_percent": True}),
        {"type": "event_msg", "payload": {"type": "agent_message", "message": '"token_count"'}},
    )
    record = session_record(tmp_path, "01a1eb83-93ff")
    assert record["usage"]["input_tokens"] == 5 and record["is_unused"] is False
    assert ["five_hour", 0.425, RESET] in record["windows"]
    assert ["seven_day", 10.0, WEEK["resets_at"]] in record["windows"], "too large for a float"
    assert session_record(tmp_path, "*") == session_record(tmp_path, None) == {"is_unused": False}

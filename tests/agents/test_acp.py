"""Any program that speaks ACP: leave is given by role, the last turn is the reply, nothing is left behind."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from burnish.agents import acp as adapter
from burnish.agents import acp_main
from burnish.agents.acp import AcpAgent
from burnish.agents.base import AgentFailure, AgentSettings, FinishedCall
from burnish.agents.runner import AgentRunner
from burnish.core.agent import AgentReply, Use
from burnish.errors import OverBudget, PhaseFailed
from burnish.proc.sandbox import Sandbox, available
from testing.extras import needs_extra

acp = needs_extra("acp", "acp")
PROGRAM = Path(__file__).parents[2] / "testing" / "acp_agent.py"
LOOK = {"role": "review", "read_only": True}


@pytest.fixture
def ask(project) -> Any:
    def ask(*orders: str, options: tuple[str, ...] = (), env: tuple[str, ...] = (), **changes: Any) -> AgentReply:
        settings = AgentSettings("zed", "acp", argv=(sys.executable, "-IS", str(PROGRAM), *options), env=env)
        request = {"prompt": "\n".join(orders), "timeout_seconds": 60.0, **changes}
        said: list[str] = []
        reply = project.runner(settings, attempts=1).call(project.request("zed", **request), on_output=said.append)
        assert not any('"text"' in line for line in said)
        return reply

    return ask


@acp
def test_it_works_in_the_workspace_and_the_last_turn_is_the_reply(project, ask) -> None:
    reply = ask("say I begin.", "write a.py x = 1", "say It is done.", "cost 0.25", "offered")

    assert (project.root / "workspace" / "a.py").read_text() == "x = 1"
    begin, rest = reply.text.split("\n\n")
    assert (begin, rest[:11]) == ("I begin.", "It is done.")
    offered = json.loads(rest[11:])
    assert not any(offered.get("fs", {}).values()) and not offered.get("terminal")
    assert (reply.tokens, reply.cost_usd, reply.provider) == (12, 0.25, "tester")
    assert "edit: Write a.py\nallowed: Write a.py\n" in Path(reply.transcript).with_name("stderr").read_text()


@acp
def test_a_reviewer_may_read_and_not_write(project, ask) -> None:
    (project.root / "workspace" / "b.txt").write_text("what is there")
    reply = ask("write a.py x = 1", "read b.txt", **LOOK)

    assert reply.text == "what is there"
    assert not (project.root / "workspace" / "a.py").exists()
    assert "refused: Write a.py" in Path(reply.transcript).with_name("stderr").read_text()


@pytest.mark.slow
@pytest.mark.representatives(1)
@acp
@pytest.mark.parametrize("tool", ["tool t1 pending", "tool t1 completed", "tool t1 pending\ntool t1 completed"])
def test_the_answer_of_a_reviewer_is_what_it_says_after_its_last_tool(ask, tool: str) -> None:
    reply = ask("say A draft.", tool, "helper Of another session.", "say The answer.", **LOOK)
    assert (reply.text, reply.other_messages) == ("The answer.", ("A draft.",))
    between = ask("tool t1 pending", "say A draft.", "tool t1 failed", "say The answer.", **LOOK)
    assert (between.text, between.other_messages) == ("The answer.", ("A draft.",))

    with pytest.raises(PhaseFailed, match="empty"):
        ask("say A draft.", tool, **LOOK)
    assert ask("say A draft.", tool).text == "A draft."


UPDATE = '{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": %s}}'


@pytest.mark.slow
@pytest.mark.representatives(1)
@acp
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (UPDATE[:40], "damaged"),
        (UPDATE[40:], "damaged"),
        ("{}" + UPDATE, "damaged"),
        (UPDATE % '{"sessionUpdate": "agent_message_chunk", "content": {"type": "resource_link"}}', "unknown form"),
        (UPDATE % '{"sessionUpdate": "agent_message_chunk", "content": "Rejected."}', "unknown form"),
        (UPDATE % '{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": 1}}', "unknown form"),
        (UPDATE % '{"sessionUpdate": "agent_message", "text": "Rejected."}', "unknown form"),
    ],
)
def test_a_review_from_which_a_message_is_missing_does_not_count(ask, line: str, words: str) -> None:
    with pytest.raises(PhaseFailed, match=words) as caught:
        ask("say It is", f"raw {line}", "say  well.", **LOOK)
    assert caught.value.retryable
    assert ask("say It is", f"raw {line}", "say  well.").text == "It is well."


@pytest.mark.long
@acp
def test_other_updates_and_plain_lines_do_no_harm(ask) -> None:
    thought = UPDATE % '{"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "Hm."}}'
    unknown = UPDATE % '{"sessionUpdate": "weather_update", "degrees": 20}'
    noise = ["raw Loaded cached credentials.", f"raw {thought}", f"raw {unknown}", "raw { code: 1 }"]
    assert ask(*noise, "say It is well.", *noise, **LOOK).text == "It is well."


@acp
def test_it_sees_the_variables_that_the_settings_name_and_no_others(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZED_KEY", "k1")
    monkeypatch.setenv("OTHER_KEY", "k2")
    reply = ask("env ZED_KEY", "env OTHER_KEY", "env BURNISH_TASK", env=("ZED_KEY",))
    assert reply.text == "k1unset29"


@pytest.mark.long
@acp
def test_a_very_long_message_comes_whole(ask) -> None:
    assert len(ask("big 1000000").text) == 1_000_000


@pytest.mark.slow
@pytest.mark.representatives(3)
@acp
@pytest.mark.parametrize(
    ("order", "retryable", "words"),
    [
        ("fail -32000 Authentication required", False, "Authentication required"),
        ("fail 401 no", False, "no"),
        ("fail -32603 429 Too Many Requests", True, "Too Many Requests"),
        ("fail -32603 authentication_failed", False, "more of it"),
        ("stop refusal", False, "refusal"),
        ("stop max_tokens", False, "max_tokens"),
        ("die", True, "ended before"),
        ("say API Error: 503 Service Unavailable", True, "503"),
        ("say Error: Authentication failed with provider (HTTP 401).", False, "Authentication failed"),
        ("say Info: Request failed. Retrying...Error: Last error: 429 slow down", True, "Last error: 429"),
        ("cost 1", True, "empty"),
    ],
)
def test_what_may_pass_is_told_from_what_cannot(ask, order: str, retryable: bool, words: str) -> None:
    with pytest.raises(PhaseFailed, match=words) as caught:
        ask(order, **LOOK)
    assert (caught.value.code, caught.value.retryable) == ("AGENT_FAILED", retryable)


@pytest.fixture
def short_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program that talks to the agent is a process of its own: it gets a copy with a shorter time."""
    text = (
        Path(acp_main.__file__).read_text("utf-8").replace("AUTHENTICATE_SECONDS = 20.0", "AUTHENTICATE_SECONDS = 1.0")
    )
    (tmp_path / "short_acp.py").write_text(text, "utf-8")
    monkeypatch.setattr(adapter, "own_program", lambda module: (sys.executable, str(tmp_path / "short_acp.py")))


@acp
def test_one_that_waits_for_a_person_to_log_in_names_its_logins_and_what_to_do(ask, short_login: None) -> None:
    words = r"not logged in\. It offers: Log in with a browser, Use an API key\. Tried Log in with a browser: no answer"
    with pytest.raises(PhaseFailed, match=words) as caught:
        ask("say hello", options=("--login",))
    assert not caught.value.retryable
    assert "a person has to log in" in caught.value.what
    assert "Run the program once by hand and log in" in caught.value.hint


@acp
def test_a_stored_login_is_used_by_authenticate(ask) -> None:
    reply = ask("methods", options=("--stored",))
    assert reply.text == "log-in-with-a-browser use-an-api-key"


@acp
def test_a_method_whose_variable_is_set_comes_first_and_a_terminal_is_not_asked_for(
    ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZED_KEY", "k1")
    assert ask("methods", options=("--key",), env=("ZED_KEY",)).text == "key"
    with pytest.raises(PhaseFailed, match="no login of this kind is stored"):
        ask("methods", options=("--key",))


@acp
def test_a_program_whose_login_authenticate_would_replace_is_not_asked(ask) -> None:
    with pytest.raises(PhaseFailed, match=r"not logged in\. It offers: [^.]*\.$"):
        ask("methods", options=("--stored", "gemini-cli"))


@acp
def test_a_program_that_does_not_know_the_protocol_is_not_tried_again(ask) -> None:
    with pytest.raises(PhaseFailed, match="unknown option --acp") as caught:
        ask("say hello", options=("--die",))
    assert not caught.value.retryable


@pytest.mark.slow
@pytest.mark.representatives(1)
@acp
@pytest.mark.parametrize(("orders", "options"), [(("hang 60",), ()), (("say hello",), ("--deaf",))])
def test_one_that_hangs_is_ended_in_time(ask, orders: tuple[str, ...], options: tuple[str, ...]) -> None:
    with pytest.raises(PhaseFailed) as caught:
        ask(*orders, options=options, timeout_seconds=5.0)
    assert caught.value.code == "TIMEOUT"


@pytest.mark.slow
@acp
def test_what_it_leaves_behind_is_ended(ask, tmp_path: Path) -> None:
    note = tmp_path / "left"
    assert ask("say done", options=("--leave", str(note))).text == "done"

    end = time.monotonic() + 10
    while psutil.pid_exists(int(note.read_text())) and time.monotonic() < end:
        time.sleep(0.05)
    assert not psutil.pid_exists(int(note.read_text()))


@acp
@pytest.mark.skipif(available() is not None, reason=f"no confinement: {available()}")
def test_confined_it_finds_the_login_of_the_program_it_is(project, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name, text in {".codex/auth": "logged in", ".ssh/id": "secret"}.items():
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text)
    program = project.root / "checkout" / "codex-acp"
    # burnish's own checkout may lie below /tmp, which the sandbox covers
    shutil.copy(PROGRAM, program.with_name("acp_agent.py"))
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{program.with_name("acp_agent.py")}"\n')
    program.chmod(0o755)
    box = Sandbox(home, project.root / "checkout", tmp_path / "burnish")
    entry = AgentSettings("zed", "acp", argv=("./codex-acp",))
    runner = AgentRunner({"zed": entry}, checkout=box.checkout, lock_dir=tmp_path / "locks", sandbox=box)

    seen = project.request("zed", prompt=f"read {home}/.codex/auth\nexists {home}/.ssh/id", timeout_seconds=60.0)
    assert runner.call(seen).text == "logged inFalse"


def test_silence_is_fine_from_an_author_who_used_tools() -> None:
    said = json.dumps({"text": "", "tools": 2, "tokens": 0})
    author, judge = (
        AcpAgent().read(FinishedCall(0, None, "exit", said, "", role=role)) for role in ("improve", "review")
    )
    assert isinstance(author, AgentReply) and isinstance(judge, AgentFailure)


def test_a_missing_program_and_a_missing_extra_say_what_to_do(project, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PhaseFailed, match="no program called no-such-agent") as caught:
        project.runner(AgentSettings("zed", "acp", argv=("no-such-agent", "--acp"))).call(project.request("zed"))
    assert caught.value.code == "AGENT_MISSING"

    monkeypatch.setattr(adapter, "find_spec", lambda name: None)
    with pytest.raises(PhaseFailed) as caught:
        project.runner(AgentSettings("zed", "acp", argv=(sys.executable,))).call(project.request("zed"))
    assert (caught.value.code, caught.value.hint) == ("AGENT_MISSING", "pip install 'burnish[acp]'")


@pytest.mark.slow
@acp
def test_it_tells_its_cost_while_it_works_and_is_ended_when_that_is_too_much(
    project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.proc.run._LOOK_EVERY", 0.1)
    settings = AgentSettings("zed", "acp", argv=(sys.executable, "-IS", str(PROGRAM)))
    orders = "say I begin.\ncost 0.25\nhang 0.5\ncost 0.75\nhang 50"
    heard: list[tuple[str, float | None]] = []

    def beyond(agent: str, use: Use) -> str | None:
        heard.append((agent, use.usd))
        return "too dear" if (use.usd or 0) > 0.5 else None

    with pytest.raises(OverBudget, match="too dear"):
        project.runner(settings).call(project.request("zed", prompt=orders, timeout_seconds=60.0), beyond=beyond)
    assert heard[0] == ("zed", 0.25) and heard[-1] == ("zed", 0.75)

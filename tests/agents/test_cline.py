"""cline: the answer is in `run_result`; tools are limited by a settings file, and code of a repository is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from burnish.agents.base import AgentFailure, AgentSettings, FinishedCall
from burnish.agents.cline import ClineAgent
from burnish.agents.jsonlines import other_messages
from burnish.agents.program import own_program
from burnish.agents.steps import Problem, Said, ToolEnded, ToolStarted
from burnish.core.agent import AgentReply, Use
from burnish.core.cost import CostSource
from burnish.errors import BadInput
from testing.agent_samples import request

SETTINGS = AgentSettings("cline", "cline")
TIME = "2026-11-17T18:35:42.013Z"
USAGE = {"inputTokens": 1000, "outputTokens": 20, "cacheReadTokens": 400, "cacheWriteTokens": 0, "totalCost": 0.25}


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"ts": TIME, "type": "agent_event", "event": {"type": kind, **more}}


def result(text: str, reason: str = "completed", **more: Any) -> list[dict[str, Any]]:
    model = {"id": "sonnet", "provider": "anthropic"}
    last = {"ts": TIME, "type": "run_result", "finishReason": reason, "usage": USAGE, "text": text, "model": model}
    return [event("done", reason=reason, text=text), {**last, **more}]


def read(*events: dict[str, Any], code: int = 0, log: str = "") -> AgentReply | AgentFailure:
    stdout = "".join(json.dumps(one) + "\n" for one in events)
    return ClineAgent().read(FinishedCall(code, None, "exit", stdout, "", "review", files={"cline.log": log}))


def test_its_result_is_the_answer_with_its_own_price() -> None:
    reply = read(event("content_end", contentType="text", text="It is well."), *result("It is well."))
    assert isinstance(reply, AgentReply)
    assert (reply.text, reply.model, reply.provider) == ("It is well.", "sonnet", "anthropic")
    assert (reply.tokens, reply.cost_usd, reply.cost_source) == (1020, 0.25, CostSource.PROGRAM)


def test_agents_that_it_started_are_billed_as_well() -> None:
    both = {**USAGE, "inputTokens": 3000, "totalCost": 0.75}
    reply = read(*result("Done.", aggregateUsage=both))
    assert isinstance(reply, AgentReply) and (reply.tokens, reply.cost_usd) == (3020, 0.75)


def test_a_model_without_a_price_of_its_own_has_the_list_price() -> None:
    free, gpt = {**USAGE, "totalCost": 0}, {"id": "gpt-5", "provider": "openai-compatible"}
    reply = read(*result("Done.", usage=free, model=gpt))
    assert isinstance(reply, AgentReply) and reply.cost_source is CostSource.LIST
    assert reply.cost_usd == pytest.approx((600 * 1.25 + 400 * 0.125 + 20 * 10) / 1e6)


def test_its_usage_is_known_while_it_works() -> None:
    sums = {"totalInputTokens": 900, "totalOutputTokens": 30, "totalCost": 0.5}
    live = event("usage", inputTokens=300, outputTokens=10, **sums)
    assert ClineAgent().call_usage(live) == ("run", Use(0.5, 930))
    assert ClineAgent().call_usage(event("iteration_start")) is None
    stdout = json.dumps(live) + "\n"
    bill = ClineAgent().bill(FinishedCall(None, 9, "timeout", stdout, ""))
    assert bill and (bill.tokens, bill.cost_usd) == (930, 0.5)


@pytest.mark.parametrize(
    ("events", "code", "log", "words", "retryable"),
    [
        (result("I approve.", "aborted"), 1, "", "broke off (aborted)", True),
        (result("", "completed"), 0, "", "broke off", True),
        (result("I approve.", "max_tokens"), 0, "", "broke off (max_tokens)", True),
        ([event("error", error={"message": "no"}, errorClass="auth"), *result("no", "error")], 1, "", "no", False),
        (result("the model says no", "error"), 1, "", "the model says no", False),
        (result("slow", "error"), 1, '{"err":{"message":"Failed after 6 attempts. Last error: slow"}}', "slow", True),
        (result("Response stream ended without a finish reason.", "error"), 1, "", "finish reason", True),
        ([event("done", text="I reject."), result("I approve.")[1]], 0, "", "different results", True),
        ([event("iteration_start")], 1, "", "exit code 1", False),
    ],
)
def test_what_is_not_an_answer(events: list[dict[str, Any]], code: int, log: str, words: str, retryable: bool) -> None:
    answer = read(*events, code=code, log=log)
    assert isinstance(answer, AgentFailure) and words in answer.what and answer.retryable is retryable


def test_earlier_messages_are_known() -> None:
    said = [event("content_end", contentType="text", text=text) for text in ("I reject it.", "I approve.")]
    tool = event("content_start", contentType="tool", toolCallId="c", toolName="read_files", input={})
    stdout = "".join(json.dumps(one) + "\n" for one in (said[0], tool, said[1]))
    assert other_messages(stdout, "I approve.") == ("I reject it.",)


def test_its_steps() -> None:
    agent = ClineAgent()
    assert agent.steps(event("content_end", contentType="text", text="Look.")) == (Said("Look."),)
    thought = event("content_end", contentType="reasoning", reasoning="Hm.")
    assert agent.steps(thought) == (Said("Hm.", is_thought=True),)
    started = {"contentType": "tool", "toolCallId": "c"}
    commands = event("content_start", **started, toolName="run_commands", input={"commands": ["ls", "pwd"]})
    assert agent.steps(commands) == (ToolStarted("c", "run_command", {"command": "ls; pwd"}),)
    files = event(
        "content_start", **started, toolName="read_files", input={"files": [{"path": "/w/a"}, {"path": "/w/b"}]}
    )
    assert agent.steps(files) == (ToolStarted("c", "read_file", {"path": "/w/a, /w/b"}),)
    failed = [{"query": "ls", "result": "[Command exited with code 3]\nhi\n", "error": "…", "success": False}]
    end = event("content_end", **started, toolName="run_commands", output=failed)
    assert agent.steps(end) == (ToolEnded("c", "hi", 3, has_failed=True),)
    edited = event("content_end", **started, toolName="editor", output={"result": "created", "success": True})
    assert agent.steps(edited) == (ToolEnded("c", "created"),)
    assert agent.steps(event("error", error={"message": "no"})) == (Problem("no"),)


def test_a_reviewer_has_only_tools_that_read() -> None:
    author, reviewer = (ClineAgent().call(request(read_only=one), SETTINGS) for one in (False, True))
    disabled = [set(json.loads(call.files["cline-settings.json"])["disabledTools"]) for call in (author, reviewer)]
    assert disabled[1] - disabled[0] >= {"run_commands", "editor", "apply_patch", "fetch_web_content"}
    assert not disabled[1] & {"read_files", "search_codebase"}
    assert disabled[0] >= {"ask_question", "spawn_agent", "team_spawn_teammate"}
    assert "--plan" in reviewer.argv and "--plan" not in author.argv
    # a daemon would have the settings of another call, and stay
    assert author.env["CLINE_SESSION_BACKEND_MODE"] == reviewer.env["CLINE_SESSION_BACKEND_MODE"] == "local"
    assert json.loads(reviewer.files[Path(reviewer.env["CLINE_MCP_SETTINGS_PATH"]).name]) == {"mcpServers": {}}


def test_a_file_that_a_change_mentions_is_not_attached() -> None:
    prompt = "+see @docs/note.md"
    assert "@docs" not in (ClineAgent().call(request(prompt=prompt, read_only=True), SETTINGS).stdin or "").replace(
        "\\@", ""
    )
    assert ClineAgent().call(request(prompt=prompt), SETTINGS).stdin == prompt


@pytest.mark.parametrize(
    "path", [".cline/hooks/TaskStart", ".clinerules/hooks/PreToolUse.sh", ".cline/plugins/x/index.ts"]
)
@pytest.mark.parametrize("read_only", [False, True])
def test_it_is_not_started_where_it_would_run_code_of_the_repository(
    tmp_path: Path, path: str, read_only: bool
) -> None:
    (tmp_path / ".git").mkdir()
    inside = tmp_path / "src" / "deep"
    inside.mkdir(parents=True)
    (tmp_path / ".clinerules").mkdir()
    (tmp_path / ".clinerules" / "style.md").write_text("Plain text is not code.\n")
    assert ClineAgent().call(request(cwd=inside, read_only=read_only), SETTINGS)
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("touch x\n")
    with pytest.raises(BadInput, match="would run code of the repository"):
        ClineAgent().call(request(cwd=inside, read_only=read_only), SETTINGS)


def test_its_prompt_comes_through_a_pipe_and_repeated_messages_are_left_out(tmp_path: Path) -> None:
    call = ClineAgent().call(request(), SETTINGS)
    assert call.stdin_by_pipe
    script = tmp_path / "program.py"
    script.write_text(
        "import os, stat, sys\n"
        "assert stat.S_ISFIFO(os.fstat(0).st_mode)\n"
        f"""print('{{"ts":"{TIME}","type":"agent_event","event":{{"type":"content_start","contentType":"text","text":"a"}}}}')\n"""
        f"""print('{{"ts":"{TIME}","type":"agent_event","event":{{"type":"content_start","contentType":"tool"}}}}')\n"""
        "print(len(sys.stdin.read()))\n"
    )
    argv = [*own_program("line_filter"), "--pipe-stdin", *call.without_lines, "--", sys.executable, str(script)]
    prompt = tmp_path / "prompt"
    prompt.write_text("x" * 300_000)
    with prompt.open() as stdin:
        done = subprocess.run(argv, stdin=stdin, capture_output=True, text=True, check=True, timeout=60)
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and '"contentType":"tool"' in lines[0] and lines[1] == "300000"

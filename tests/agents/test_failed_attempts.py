"""Every attempt is paid for: one that gave no answer counts with what it has used, or as unknown, never as zero."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnish.adapters.budget import BudgetTracker
from burnish.agents.base import AgentSettings
from burnish.agents.question import mark_recorded
from burnish.agents.runner import AgentRunner
from burnish.core.agent import AgentReply, Use
from burnish.errors import OverBudget, PhaseFailed
from burnish.proc.run import StopToken
from burnish.proc.sandbox import Sandbox, available

# 40,000 tokens of output of claude-opus-4-5: $1.00
METERED = {"id": "m1", "model": "claude-opus-4-5", "content": [], "usage": {"input_tokens": 0, "output_tokens": 40_000}}
CLAUDE = [{"type": "assistant", "message": METERED}]
CLAUDE_END = {
    "type": "result",
    "result": "Done.",
    "total_cost_usd": 0.25,
    "usage": {"input_tokens": 90, "output_tokens": 10},
}
START = {"type": "thread.started", "thread_id": "t1"}
CODEX = [START, {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}}]
# $1.00 of gpt-5
CODEX_END = {"type": "turn.completed", "usage": {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 100_000}}
GEMINI = [{"type": "init", "session_id": "s"}, {"type": "message", "role": "assistant", "content": "Done."}]
GEMINI_END = {
    "type": "result",
    "status": "success",
    "stats": {"models": {"gemini-2.5-pro": {"input_tokens": 0, "output_tokens": 100_000, "total_tokens": 100_000}}},
}
QWEN_END = {"type": "result", "result": "Done.", "usage": {"input_tokens": 0, "output_tokens": 200_000}}
OPENCODE = [
    {"type": "text", "part": {"text": "Done."}},
    {"type": "step_finish", "part": {"id": "p1", "reason": "stop", "tokens": {"output": 100_000}, "cost": 1.0}},
]
DAMAGED = '{"type": "ass'


def lines(*events: Any) -> str:
    return "".join(f"{event if isinstance(event, str) else json.dumps(event)}\n" for event in events)


@pytest.fixture
def program(project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A stand-in on PATH that prints one text after the other, one for each call, then runs a statement."""

    def program(name: str, *texts: str, then: str = "") -> None:
        place = project.root / "bin"
        place.mkdir(exist_ok=True)
        code = f"""#!{sys.executable} -IS
import pathlib, sys, time
count = pathlib.Path({str(project.root)!r}, "count-{name}")
number = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (number + 1))
texts = {list(texts)!r}
sys.stdout.write(texts[min(number, len(texts) - 1)])
sys.stdout.flush()
{then}
"""
        (place / name).write_text(code)
        (place / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")

    return program


MODELS = {"codex": "gpt-5", "qwen": "qwen3-coder-plus"}


def ask(project, name: str, **changes: Any) -> AgentReply:
    entry = AgentSettings(name, name, model=MODELS.get(name))
    values = {"attempts": 2, "stop": None, "beyond": None, **changes}
    runner = project.runner(entry, attempts=values.pop("attempts"), stop=values.pop("stop"))
    beyond = values.pop("beyond")
    return runner.call(project.request(name, **values), beyond=beyond)


def cost(error: PhaseFailed) -> tuple[float | None, str | None, int]:
    return error.cost_usd, error.cost_source, error.tokens


@pytest.mark.parametrize(
    ("name", "failed", "good", "usd"),
    [
        ("claude", lines(*CLAUDE, CLAUDE_END, DAMAGED), lines(CLAUDE_END), 1.25),
        ("claude", lines(*CLAUDE, {**CLAUDE_END, "total_cost_usd": 3.0, "is_error": True, "result": "529"}), "", 3.25),
        ("codex", lines(*CODEX, DAMAGED, CODEX_END), lines(*CODEX, CODEX_END), 2.0),
        ("gemini", lines(GEMINI[0], DAMAGED, GEMINI[1], GEMINI_END), lines(*GEMINI, GEMINI_END), 2.0),
        ("qwen", lines(QWEN_END, DAMAGED), lines(QWEN_END), 2.0),
        ("opencode", lines(*OPENCODE, DAMAGED), lines(*OPENCODE), 2.0),
    ],
)
def test_an_answer_that_a_damaged_line_made_unreadable_is_still_paid_for(
    project, program, name: str, failed: str, good: str, usd: float
) -> None:
    program(name, failed, good or lines(CLAUDE_END))
    reply = ask(project, name)

    assert reply.text == "Done."
    assert reply.cost_usd == pytest.approx(usd)
    # it is not known whether the last report of the failed attempt was complete
    assert reply.cost_source == "partial"
    assert [one.agent for one in reply.failed_attempts] == [name]
    assert reply.tokens > reply.failed_attempts[0].use.tokens > 0


def test_what_copilot_wrote_to_its_file_counts_though_its_answer_cannot_be_read(project, program) -> None:
    usage = {"modelMetrics": {"gpt-5": {"usage": {"inputTokens": 0, "cacheReadTokens": 0, "outputTokens": 100_000}}}}
    write = "pathlib.Path(sys.argv[sys.argv.index('--usage-output-file') + 1]).write_text(" + repr(json.dumps(usage))
    program("copilot", lines({"type": "result", "exitCode": 0}, DAMAGED), then=f"{write})")
    with pytest.raises(PhaseFailed) as caught:
        ask(project, "copilot", attempts=1)
    assert cost(caught.value) == (1.0, "partial", 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("then", ["sys.exit(3)", "import os; os.kill(os.getpid(), 9)", "time.sleep(30)"])
def test_a_crash_and_a_timeout_bill_what_was_metered(project, program, then: str) -> None:
    program("claude", lines(*CLAUDE), then=then)
    with pytest.raises(PhaseFailed) as caught:
        ask(project, "claude", attempts=1, timeout_seconds=6.0 if "sleep" in then else 60.0)
    assert cost(caught.value) == (1.0, "partial", 40_000)


@pytest.mark.parametrize("name", ["codex", "gemini", "copilot"])
def test_a_program_that_reports_at_its_end_only_and_fails_has_an_unknown_cost(project, program, name: str) -> None:
    program(name, lines(START), then="sys.exit(3)")
    with pytest.raises(PhaseFailed) as caught:
        ask(project, name, attempts=1)
    assert cost(caught.value) == (None, "unknown", 0)


@pytest.mark.slow
def test_a_cancelled_call_bills_what_was_metered(project, program) -> None:
    program("claude", lines(*CLAUDE), then="time.sleep(30)")
    stop = StopToken()

    def cancel(agent: str, use: Use) -> str | None:
        stop.request(now=True)
        return None

    with pytest.raises(PhaseFailed) as caught:
        ask(project, "claude", stop=stop, beyond=cancel)
    assert caught.value.code == "INTERRUPTED"
    assert cost(caught.value) == (1.0, "partial", 40_000)


def test_a_program_that_is_missing_has_cost_nothing(project) -> None:
    entry = AgentSettings("mine", "command", argv=("burnish-no-such-program",))
    with pytest.raises(PhaseFailed) as caught:
        project.runner(entry).call(project.request("mine"))
    assert cost(caught.value) == (None, None, 0)


def test_a_budget_counts_earlier_attempts_and_ends_the_retries(project, program) -> None:
    program("claude", lines(*CLAUDE, CLAUDE_END, DAMAGED))
    seen: list[float | None] = []

    def beyond(agent: str, use: Use) -> str | None:
        seen.append(use.usd)
        return "over" if (use.usd or 0) >= 2 else None

    with pytest.raises(OverBudget) as caught:
        ask(project, "claude", attempts=4, beyond=beyond)
    assert (project.root / "count-claude").read_text() == "xx"
    assert seen[-1] == pytest.approx(2.0) == caught.value.cost_usd


def test_attempts_before_a_fallback_are_billed_to_the_agent_that_made_them(project, program) -> None:
    program("claude", lines(*CLAUDE), then="sys.exit(3)")
    program("codex", lines(*CODEX, CODEX_END))
    first = AgentSettings("claude", "claude", fallback="codex", budget_usd=10)
    second = AgentSettings("codex", "codex", model="gpt-5", budget_usd=10)
    request = project.request("claude")
    budget_tracker = BudgetTracker({"claude": first, "codex": second}, lambda: (0.0, 0))

    def beyond(agent: str, use: Use) -> str | None:
        budget_tracker.using(request.task, str(request.call_dir), agent, use)
        return None

    reply = project.runner(first, second, attempts=1).call(request, beyond=beyond)
    budget_tracker.paid(request, reply)

    assert (reply.agent, reply.cost_usd, reply.cost_source) == ("codex", pytest.approx(2.0), "partial")
    assert [limit.spent for limit in budget_tracker.limits(["claude", "codex"])] == [1.0, 1.0]
    assert budget_tracker.unrecorded(request.task, include_answered=True).usd == pytest.approx(2.0)
    assert budget_tracker.unrecorded(request.task, include_answered=False) == Use()


def test_an_attempt_in_which_burnish_was_killed_is_billed_by_the_next_one_and_only_once(project, program) -> None:
    program("claude", lines(*CLAUDE), then="sys.exit(3)")
    entry, request = AgentSettings("claude", "claude"), project.request("claude")
    with pytest.raises(PhaseFailed):
        project.runner(entry, attempts=1).call(request)
    # as a kill leaves it: output, and no outcome
    (request.call_dir / "try-1-outcome.json").unlink()
    (project.root / "count-claude").unlink()
    program("claude", lines(CLAUDE_END))

    assert project.runner(entry).call(request).cost_usd == pytest.approx(1.25)
    mark_recorded(request.call_dir)
    again = project.runner(entry).call(request)
    assert (again.cost_usd, again.tokens, again.cost_source) == (0.0, 0, "program"), "all of it is on record"


@pytest.mark.slow
def test_the_count_stays_where_another_process_empties_the_output(project, program, tmp_path: Path) -> None:
    cut = f"""time.sleep(3)
for output in pathlib.Path({str(tmp_path)!r}).rglob("try-1/stdout"): output.write_text("")
print({json.dumps(CLAUDE_END)!r}, flush=True)
"""
    program("claude", lines(*CLAUDE), then=cut)
    with pytest.raises(PhaseFailed) as caught:
        ask(project, "claude", attempts=1, beyond=lambda agent, use: None)
    assert cost(caught.value) == (1.0, "partial", 40_000)


@pytest.mark.skipif(available() is not None, reason=f"no sandbox: {available()}")
@pytest.mark.parametrize(
    "attack", ["open(path, 'w')", "os.truncate(path, 0)", "os.unlink(path)", "os.rename(path, 'x')"]
)
def test_in_the_sandbox_an_agent_cannot_rewrite_what_it_has_printed(project, tmp_path: Path, attack: str) -> None:
    code = f"""import json, os, sys
print({json.dumps(CLAUDE_END)!r}, flush=True)
path = os.path.join(os.path.dirname(sys.argv[1]), "stdout")
try:
    {attack}
except OSError as problem:
    print(problem.strerror, file=sys.stderr)
"""
    program = project.root / "checkout" / "robot.py"
    program.write_text(code)
    entry = AgentSettings("robot", "command", argv=(sys.executable, "-IS", str(program), "{prompt_file}"))
    box = Sandbox(tmp_path / "home", project.root / "checkout", tmp_path / "burnish")
    runner = AgentRunner({"robot": entry}, checkout=box.checkout, lock_dir=tmp_path / "locks", sandbox=box)
    request = project.request()
    runner.call(request)

    assert "Done." in (request.call_dir / "try-1" / "stdout").read_text()
    assert (request.call_dir / "try-1" / "stderr").read_text().strip()

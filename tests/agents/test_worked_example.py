"""The agent in CONTRIBUTING.md is complete: taken from the page, it works."""

from __future__ import annotations

import os
import re
import sys
import types
from pathlib import Path

import pytest

from burnish.agents.base import Agent, AgentSettings, ReportsProgress
from burnish.agents.registry import AGENTS
from burnish.agents.runner import AgentRunner, RetryPolicy
from burnish.errors import PhaseFailed

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
PROGRAM = """
import json, os, sys
prompt = sys.stdin.read()
assert os.environ["PARROT_API_KEY"] == "k" and "SECRET" not in os.environ
result = {"type": "result", "text": f"heard {prompt} {' '.join(sys.argv[1:])}", "model": "gpt-5"}
result["usage"] = {"in": 1000, "out": 100}
if "broken" in prompt:
    result = {"type": "result", "error": "429 slow down" if "busy" in prompt else "401 wrong key"}
print("a warning")
print(json.dumps(result))
"""


@pytest.fixture
def parrot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    program = tmp_path / "bin" / "parrot"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{PROGRAM}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PARROT_API_KEY", "k")
    monkeypatch.setenv("SECRET", "s")
    return load()


def code() -> str:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return next(block for block in blocks if "class ParrotAgent" in block)


def load() -> Agent:
    module = types.ModuleType("parrot")
    sys.modules["parrot"] = module  # dataclasses look there for the types
    exec(compile(code(), "parrot.py", "exec"), module.__dict__)
    agent: Agent = module.ParrotAgent()
    return agent


def runner(project, parrot: Agent) -> AgentRunner:
    settings = {"parrot": AgentSettings("parrot", "parrot")}
    places = {"checkout": project.root / "checkout", "lock_dir": project.root / "locks"}
    return AgentRunner(settings, **places, agents={**AGENTS, "parrot": parrot}, retry=RetryPolicy(attempts=1))


def test_it_is_one_short_file() -> None:
    assert len(code().splitlines()) < 100


def test_it_works_and_reviews(project, parrot: Agent) -> None:
    work = runner(project, parrot).call(project.request("parrot", model="m"))
    look = runner(project, parrot).call(project.request("parrot", role="review", read_only=True))

    assert work.text.startswith("heard Do it. run") and "--yes --model m" in work.text
    assert "--read-only" in look.text and "--yes" not in look.text
    assert work.tokens == 1100 and work.cost_usd == pytest.approx((1000 * 1.25 + 100 * 10) / 1e6)
    assert isinstance(parrot, ReportsProgress)


def test_its_failures_are_told_apart(project, parrot: Agent) -> None:
    for prompt, retryable in (("broken", False), ("broken, busy", True)):
        with pytest.raises(PhaseFailed) as failure:
            runner(project, parrot).call(project.request("parrot", prompt=prompt))
        assert failure.value.retryable is retryable
        assert retryable or "PARROT_API_KEY" in failure.value.hint

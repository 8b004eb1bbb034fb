"""A plan that is used up: the task waits for the reset and goes on, or another agent takes over."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from burnish.core.agent import UsageLimit
from burnish.store.store import Store
from testing.lab import Lab
from testing.program import PROGRAM, put_on_path

# each starts runs that wait
pytestmark = pytest.mark.slow
# The first call of the author reports a limit that ends in a few seconds.
LIMITED = """
import json, os, pathlib, sys, time
seen = pathlib.Path(os.path.dirname(os.environ["HOME"])) / "limited"
if os.environ["BURNISH_PHASE"] == "implement" and not seen.exists():
    seen.write_text("")
    until = int(time.time()) + SECONDS
    print(json.dumps({"type": "result", "is_error": True, "result": f"Claude AI usage limit reached|{until}"}))
    sys.exit(1)
"""


def limited(tmp_path: Path, seconds: int, settings: str = "agent: claude\nreview: {agents: [claude]}") -> Lab:
    lab = Lab.make(tmp_path)
    put_on_path(lab, settings, LIMITED.replace("SECONDS", str(seconds)) + PROGRAM)
    lab.add("Add division")
    return lab


def limits(lab: Lab) -> list[UsageLimit]:
    with Store.open(Path(lab.env["BURNISH_HOME"])) as store:
        return store.usage_limits()


def test_a_task_waits_for_the_reset_and_goes_on(tmp_path: Path) -> None:
    lab = limited(tmp_path, 1)
    began = time.monotonic()
    result = lab.burnish("run", "1")
    assert "claude's limit resets at" in result.err and "Waiting." in result.err
    assert (lab.task()["status"], time.monotonic() - began > 4) == ("verified", True)
    progress = [event["data"] for event in lab.events(task=1) if event["type"] == "phase.progress"]
    assert [(one["agent"], bool(one["until"])) for one in progress] == [("claude", True)]
    assert limits(lab) == []


def test_a_stop_ends_the_wait_and_the_limit_is_known_to_the_next_run(tmp_path: Path) -> None:
    lab = limited(tmp_path, 3600)
    run = lab.start("run", "1")
    lab.until(lambda: bool(limits(lab)))
    run.terminate()
    run.communicate(timeout=30)
    assert run.returncode == 130
    assert not (lab.root / "program.jsonl").exists() and lab.task()["status"] == "in_progress"
    shown = lab.burnish("limits", "--json").json["limits"]
    assert [(one["login"], one["is_known"]) for one in shown] == [("claude", True)]
    assert "claude's limit resets at" in lab.burnish("status").out
    lab.burnish("limits", "--clear", "claude")
    assert "no usage limit" in lab.burnish("limits", "--clear", "claude", code=2).err.lower()
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"


def test_the_fallback_takes_over_while_the_login_waits(tmp_path: Path) -> None:
    lab = limited(tmp_path, 3600)
    program = f"{{kind: command, argv: ['{sys.executable}', -I, -S, '{lab.root}/%s.py']}}"
    agents = f"{{claude: {{fallback: robot}}, robot: {program % 'robot'}, judge: {program % 'judge'}}}"
    lab.commit_settings(f"agent: claude\nagents: {agents}\nreview: {{agents: [judge]}}\nchecks: {{test: null}}\n")
    lab.add("A second task")
    lab.burnish("run", "--all", code=None)
    first = [event["data"] for event in lab.events(task=1) if event["type"] == "phase.progress"]
    assert {one["fallback"] for one in first} == {"robot"}
    assert [lab.task(number)["status"] for number in (1, 2)] == ["verified", "verified"]
    assert len(limits(lab)) == 1


def test_tasks_of_other_agents_go_on_meanwhile_and_those_of_the_same_wait_in_the_backlog(tmp_path: Path) -> None:
    lab = limited(tmp_path, 6)
    program = f"{{kind: command, argv: ['{sys.executable}', -I, -S, '{lab.root}/%s.py']}}"
    agents = f"{{robot: {program % 'robot'}, judge: {program % 'judge'}}}"
    lab.commit_settings(f"agent: claude\nagents: {agents}\nreview: {{agents: [judge]}}\nchecks: {{test: null}}\n")
    lab.add("Also claude's")
    lab.add("The robot's", "--agent", "robot")
    lab.burnish("run", "--all", code=None)
    assert [lab.task(number)["status"] for number in (1, 2, 3)] == ["verified"] * 3
    ends = [event["task"] for event in lab.events() if event["type"] == "run.finished"]
    assert ends[0] == "3" and lab.burnish("limits").out == "No usage limit is known.\n"
    # the second one did not ask before the reset
    waits = [event["task"] for event in lab.events() if event["type"] == "phase.progress"]
    assert waits == ["1"]


def test_a_limit_of_one_login_does_not_hold_up_another_one(tmp_path: Path) -> None:
    lab = limited(tmp_path, 3600)
    work = lab.root / "home" / ".claude-work"
    with lab.start("run", "1", CLAUDE_CONFIG_DIR=str(work)) as run:
        lab.until(lambda: bool(limits(lab)))
        run.terminate()
        run.communicate(timeout=30)
    assert [one.login for one in limits(lab)] == ["claude (~/.claude-work)"]
    assert "the limit of claude (~/.claude-work) resets at" in lab.burnish("limits").out
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified" and len(limits(lab)) == 1, "the plan of the other login is still used up"
    lab.burnish("limits", "--clear", "claude")
    assert limits(lab) == []

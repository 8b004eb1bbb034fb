"""A plan that is used up: the task waits for the reset and goes on, or another agent takes over."""

from __future__ import annotations

import re
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from burnish.core.agent import UsageLimit
from burnish.features.server.registry import ProjectRegistry
from burnish.store.store import Store
from burnish.views.board import cards_of
from burnish.views.task_page.page import head_of
from burnish.views.task_page.story import story
from testing.at_hand import at_hand
from testing.lab import Lab
from testing.program import PROGRAM, put_on_path
from testing.screens import Screen, on_screen

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
        return store.limits.usage_limits()


def test_a_task_waits_for_the_reset_and_goes_on(tmp_path: Path) -> None:
    lab = limited(tmp_path, 1)
    began = time.monotonic()
    result = lab.burnish("run", "1")
    assert "claude's limit resets at" in result.err and "Waiting." in result.err
    assert (lab.task()["status"], time.monotonic() - began > 4) == ("verified", True)
    progress = [event["data"] for event in lab.events(task=1) if event["type"] == "phase.progress"]
    assert [(one["agent"], bool(one["until"])) for one in progress] == [("claude", True)]
    assert limits(lab) == []
    # the story tells it afterwards, too, and no screen shows the events of the program
    assert "  note: claude's limit resets at" in lab.burnish("show", "1").out
    log = lab.burnish("log", "1").out
    assert "! claude failed: Claude AI usage limit reached.\n" in log and "{" not in log, log
    assert "Verdict approved: s\n" in log


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


def test_every_screen_tells_that_a_task_waits_for_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = limited(tmp_path, 3600)
    lab.add("Also claude's")
    lab.add("After that", "--depends-on", "2")
    lab.add("The static reviewer's", "--agent", "static")
    lab.add("Paused")
    lab.burnish("pause", "5")
    waits = r"waits for claude until \d\d:\d\d"
    with lab.start("run", "1") as run:
        lab.until(lambda: bool(lab.events("phase.progress", task=1)))
        lines = lab.burnish("status").out.splitlines()
        assert re.search(rf"in_progress \(cycle 1/3, implementing: {waits}\)", lines[0]), lines
        assert re.search(rf"backlog +{waits}$", lines[1]), lines
        assert [line.split("backlog")[1].strip() for line in lines[2:5]] == ["waits for 2", "ready", "paused"]
        for number in (1, 2):
            page = lab.burnish("show", str(number)).out
            assert re.search(rf"  {waits}: Claude AI usage limit reached", page), page
            assert "burnish limits --clear claude   (use it again at once)" in page
        assert "waits for claude" not in lab.burnish("show", "5").out
        rows = lab.burnish("status", "--json").json["tasks"]
        assert [row["usage_limit"] and row["usage_limit"]["login"] for row in rows[:4]] == [*["claude"] * 3, None]
        assert lab.burnish("show", "1", "--json").json["usage_limit"]["is_known"] is True
        for name, value in lab.env.items():
            monkeypatch.setenv(name, value)
        with closing(ProjectRegistry.here()) as registry:
            key, holders = registry.projects()[0].key, registry.holders()
            cards = cards_of(registry.store.tasks(key, brief=True), holders)
            assert [bool(re.fullmatch(waits, card.limit)) for card in cards] == [True, True, False, False, False]
            head = head_of(registry.store, key, 1, holders)
            assert re.fullmatch(rf"It {waits}, because of its usage limit. Then it continues.", head.next)
            (run_story,) = story(registry.store, key, 1, running=True).runs
            assert ("Usage limit", "claude") in [(one.title, one.who) for one in run_story.cycles[0].moments]
        run.terminate()
        run.communicate(timeout=30)
    lab.burnish("limits", "--clear", "claude")
    assert "waits for claude" not in lab.burnish("status").out
    assert lab.burnish("status", "--json").json["tasks"][1]["usage_limit"] is None


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


# Reports as Claude Code does that so much of the window of five hours is used, until SECONDS from now.
WINDOW = """
import json, time
window = {"five_hour": {"utilization": 0.85, "resetsAt": int(time.time()) + SECONDS, "status": "allowed"}}
print(json.dumps({"type": "rate_limit_event", "rate_limit_info": {"status": "allowed", "unifiedWindows": window}}))
"""
CLAUDE = "agent: claude\nreview: {agents: [claude]}"


def with_window(tmp_path: Path, seconds: int, percent: int) -> Lab:
    lab = Lab.make(tmp_path)
    put_on_path(lab, CLAUDE, WINDOW.replace("SECONDS", str(seconds)) + PROGRAM)
    lab.user_settings(f"limits: {{window_percent: {percent}}}\n")
    lab.add("Add division")
    return lab


async def sees_the_limit(screen: Screen) -> None:
    await screen.until("because of its usage limit. Then it continues.")
    assert re.search(r"T1 .* claude until \d\d:\d\d ", screen.text), screen.text
    await screen.press("3")
    await screen.until("waits for claude until")


def test_a_login_that_has_used_its_share_of_the_plan_starts_no_further_phase(tmp_path: Path) -> None:
    lab = with_window(tmp_path, 3600, 80)
    with lab.start("run", "1") as run:
        lab.until(lambda: bool(limits(lab)))
        words = "85% of 5 hours are used (limits.window_percent: 80)"
        assert f": {words}; its tasks wait" in lab.burnish("status").out
        assert f": {words}\n" in lab.burnish("limits").out
        assert "claude has used 85% of 5 hours." in lab.burnish("limits").out
        lab.until(lambda: "claude has used 85% of 5 hours." in lab.burnish("cost").out)
        assert [(one["login"], one["share"]) for one in lab.burnish("cost", "--json").json["windows"]] == [
            ("claude", 0.85)
        ]
        lab.until(lambda: lab.events("phase.progress", task=1))
        assert re.search(
            r"code_review \(cycle 1/3, reviewing: waits for claude until \d\d:\d\d\)", lab.burnish("status").out
        )
        assert "waits for claude until" in lab.burnish("list").out
        on_screen(lab, sees_the_limit, size=(140, 40))
        with at_hand(lab) as server:
            board = server.client.get(f"/p/{server.project}", headers=server.browser()[1]).text
            assert re.search(r'doing warn"[^>]*>waits for claude until \d\d:\d\d', board)
        run.terminate()
        _, err = run.communicate(timeout=30)
    assert "Waiting." in err
    assert len((lab.root / "program.jsonl").read_text().splitlines()) == 1, "the review was not started"
    assert "interrupted" in lab.burnish("status").out and "waits for claude" not in lab.burnish("status").out
    # a higher share lets it go on, after the limit is cleared
    lab.user_settings("limits: {window_percent: 90}\n")
    lab.burnish("limits", "--clear", "claude")
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified" and limits(lab) == []


def test_a_login_continues_when_its_window_is_reset(tmp_path: Path) -> None:
    lab = with_window(tmp_path, 1, 80)
    began = time.monotonic()
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified" and time.monotonic() - began > 5


def test_a_share_that_cannot_be_counted_is_announced(tmp_path: Path) -> None:
    lab = limited(tmp_path, 0)
    lab.user_settings("limits: {window_percent: 80}\n")
    (lab.root / "limited").touch()
    err = lab.burnish("run", "1").err
    assert "claude did not report how much of its plan is used: limits.window_percent does not stop it." in err
    lab.settle("")
    lab.add("Another")
    line = "limits.window_percent cannot be counted for robot: command agents do not report how much of a plan is used."
    assert line in lab.burnish("run", "2", code=None).err
    lab.user_settings("limits: {window_percent: 80}\nbudget: {uncounted: refuse}\n")
    lab.add("A third")
    assert "cannot be counted" in lab.burnish("run", "3", code=4).err
    lab.user_settings("limits: {window_percent: 120}\n")
    assert "limits.window_percent" in lab.burnish("run", "3", code=2).err

"""A whole night in minutes: many tasks in two projects, limits, a crash, a suspend, and a person who answers twice."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from testing.lab import Lab
from testing.night_clock import NightClock
from testing.userrepo import UserRepo

# Prints as Claude Code does. What happens to a task is in its title. Each paid call is on the list of the "server".
PROGRAM = """
import fcntl, json, os, pathlib, re, sys, time
prompt, argv, phase = sys.stdin.read(), sys.argv[1:], os.environ["BURNISH_PHASE"]
root = pathlib.Path(os.path.dirname(os.environ["HOME"]))
fate = (re.search(r"Fate: ([a-z]+) ([0-9]+)", prompt) or ["", "plain", "0"])
fate, number = fate[1], fate[2]
def say(**result):
    print(json.dumps({"type": "system", "subtype": "init"}))
    print(json.dumps({"type": "result", "session_id": "one", **result}), flush=True)
def bill():
    with open(root / "bill.jsonl", "a") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        log.write(json.dumps({"phase": phase, "fate": fate, "usd": usd}) + "\\n")
with open(root / "calls", "a+") as log:
    fcntl.flock(log, fcntl.LOCK_EX)
    log.write("x")
    log.flush()
    count = log.tell()
if count in LIMITS:
    in_an_hour = int(time.time() + float((root / "clock").read_text())) + 3600
    epoch = f"Claude AI usage limit reached|{in_an_hour}"
    free = dict.fromkeys(("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"), 0)
    words = "You've hit your session limit · resets 3am" if count == LIMITS[0] else epoch
    say(is_error=True, result=words, total_cost_usd=0, usage=free)
    sys.exit(1)
time.sleep(0.2)
if fate == "overloaded":
    with open(root / f"overloaded-{number}", "a+") as log:
        log.write("x")
        log.flush()
        if log.tell() <= 4:
            say(is_error=True, api_error_status=529, result="API Error: 529 Overloaded")
            sys.exit(1)
if fate == "crash":
    print("the program failed", file=sys.stderr)
    sys.exit(3)
usd = 5.0 if fate == "budget" else 0.25
paid = {"is_error": False, "total_cost_usd": usd, "usage": {"input_tokens": 90, "output_tokens": 10}}
mine = pathlib.Path("work.txt" if fate == "conflict" else f"file_{fate}_{number}.py")
if "--json-schema" in argv:
    text = mine.read_text() if mine.exists() else ""
    bad, discuss = "BUG" in text, fate == "discuss" and "settled" not in text
    flaw = {"category": "code", "severity": "error", "title": "Zero", "description": "b may be 0", "file": str(mine)}
    ids = sorted(set(re.findall(r"\\bF[0-9]+\\b", prompt)))
    sign = re.search(r"burnish-verdict ([0-9a-f]{12,})", prompt)
    verdict = "needs_discussion" if discuss else "changes_requested" if bad else "approved"
    names = [str(path) for path in pathlib.Path(".").rglob("*") if path.is_file() and ".git" not in path.parts]
    paid["structured_output"] = {
        "number": sign[1], "verdict": verdict, "summary": "s", "inspected": names, "compliance": [],
        "findings": [flaw] if bad or discuss else [],
        "prior": [{"id": id, "state": "open" if bad or discuss else "resolved"} for id in ids]}
elif fate == "silent":
    pass
elif fate == "conflict":
    lines = [line for line in mine.read_text().split("\\n") if line and line[:7] not in ("<" * 7, "=" * 7, ">" * 7)]
    new = lines if "<<<<<<<" in mine.read_text() else ["one", f"line of {number}", "three"]
    mine.write_text("\\n".join(dict.fromkeys(new)) + "\\n")
elif fate == "secret":
    mine.write_text("key = 'ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8' + '\\n")
elif fate == "stubborn" or phase == "implement":
    mine.write_text(f"def div(a, b):\\n    return a / b  # {'BUG' if fate != 'discuss' else ''} {time.time()}\\n")
else:
    settled = "settled" if "Agreed: return None" in prompt else ""
    mine.write_text(f"def div(a, b):\\n    return a / b if b else None  # {settled}\\n")
bill()
say(result="Done.", **paid)
"""
LIMITS = (9, 61)
# fate: how many, and where a task with it is in the morning
FATES = {
    "plain": (22, "verified", None),
    "stubborn": (3, "blocked", "max_cycles"),
    "silent": (2, "blocked", "no_changes"),
    "secret": (1, "blocked", "secret"),
    "discuss": (2, "verified", None),
    # tried again after 5, 15 and 45 minutes; the third equal failure is for a person
    "crash": (2, "blocked", "stalled"),
    "missing": (1, "failed", "AGENT_MISSING"),
    "conflict": (4, "verified", None),
    "budget": (1, "blocked", "budget"),
}
# added while the runs stand
LATE = {"overloaded": (2, "verified", None)}
SETTINGS = """
agent: claude
agents: {absent: {kind: command, argv: [burnish-has-no-such-program]}}
review: {agents: [claude], max_cycles: 3}
checks: {test: null, lint: null}
budget: {task_usd: 4}
"""


def project(lab: Lab, name: str) -> Lab:
    """A second repository of the same person."""
    other = replace(lab, repo=UserRepo.make(lab.root / name))
    other.repo.commit({"work.txt": "one\ntwo\nthree\n"})
    other.commit_settings(SETTINGS)
    return other


def two_projects(root: Path) -> list[Lab]:
    lab = Lab.make(root)
    program = root / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\nLIMITS = {LIMITS}\n{PROGRAM}")
    program.chmod(0o755)
    lab.env["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return [project(lab, "first"), project(lab, "second")]


def add_tasks(labs: list[Lab]) -> None:
    names = [f"{fate} {number}" for fate, (count, *_) in FATES.items() for number in range(count)]
    # one of each kind here, one there; what conflicts comes in pairs
    for at, name in enumerate(sorted(names, key=lambda name: (name.split()[1], name))):
        lab = labs[int(name.split()[1]) // 2 % 2] if name.startswith("conflict") else labs[at % 2]
        options = ["--agent", "absent"] if name.startswith("missing") else []
        lab.add(f"Fate: {name}", *options)


def fate_of(task: dict[str, str]) -> str:
    return task["title"].split()[1]


def tasks(lab: Lab) -> list[dict[str, str]]:
    return list(lab.burnish("status", "--json").json["tasks"])


def send(number: signal.Signals, runs: list[psutil.Process]) -> None:
    """To every process of the night at once, also to the agents."""
    for process in [one for run in runs for one in (run, *run.children(recursive=True))]:
        with suppress(psutil.Error):
            process.send_signal(number)


def check_stories(labs: list[Lab]) -> None:
    """What `status`, `show` and `log` tell of the night, line by line."""
    notes = ""
    for lab in labs:
        found = tasks(lab)
        lines = lab.burnish("status").out.splitlines()
        assert len([line for line in lines if " Fate: " in line]) == len(found)
        assert not [line for line in lines if "ready" in line or "waits for" in line or "running" in line], lines
        assert f"{len(found)} tasks: " in lines[-1] and "Next: burnish show" in lines[-1], lines[-1]
        entries = {one["id"]: one for one in lab.burnish("inbox", "--json").json["inbox"]}
        for task in found:
            check_story(lab, task, entries.get(task["id"]))
            notes += lab.burnish("show", task["id"]).out
    # the two limits, the crash of the machine, and what was tried again
    assert "note: claude's limit resets at 03:00. Waiting." in notes
    assert "note: claude's limit is reached; it is asked again at 06:00. Waiting." in notes
    assert "note: a run died; another one continued" in notes
    assert notes.count("AGENT_FAILED") >= 2 * 3 + 2
    # the suspend was longer than the time limit of a review
    assert "TIMEOUT" not in notes


def check_story(lab: Lab, task: dict[str, str], entry: dict[str, str] | None) -> None:
    page, log = lab.burnish("show", task["id"]).out, lab.burnish("log", task["id"], code=None).out
    title, status = page.splitlines()[:2]
    assert task["title"] in title and task["status"] in status
    if entry:
        # the page offers what the inbox offers
        assert entry["command"].partition(" …")[0] in page, (entry, page)
    # no events of the program, no verdict as JSON
    assert '{"' not in page + log and "Traceback" not in page + log, (page, log)
    words = {
        "crash": "the program failed",
        "overloaded": "! claude failed: API Error: 529 Overloaded",
        "missing": "",
        "stubborn": "Verdict changes_requested: s",
        "discuss": "Verdict needs_discussion: s",
        "plain": "Verdict approved: s",
    }
    assert words.get(fate_of(task), "Done.") in log, log


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_night_of_forty_tasks_ends_with_an_inbox_and_a_bill_that_are_right(tmp_path: Path) -> None:
    labs = two_projects(tmp_path)
    clock = NightClock(tmp_path / "clock", "22:30")
    clock.of(*labs)
    labs[0].user_settings('limits: {quiet_hours: "04:00-06:00"}\n')
    add_tasks(labs)
    fates = {**FATES, **LATE}

    def bill() -> list[dict[str, str]]:
        file = tmp_path / "bill.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    logs: list[Path] = []

    def start() -> list[psutil.Process]:
        outputs = [lab.burnish("run", "--watch", "-j", "2", "--until", "07:00", "--detach").out for lab in labs]
        logs[:] = [Path(text.split("Output: ")[1].strip()) for text in outputs]
        return [psutil.Process(int(re.search(r"pid (\d+)", text)[1])) for text in outputs]  # type: ignore[index]

    def open_questions() -> list[tuple[Lab, str]]:
        return [(lab, task["id"]) for lab in labs for task in tasks(lab) if task["reason"] == "needs_discussion"]

    def limit() -> str:
        found = labs[1].burnish("limits", "--json").json["limits"]
        return str(found[0]["message"]) if found else ""

    runs = start()
    # the plan is used up until 3 o'clock, for both projects
    labs[0].until(lambda: "resets 3am" in limit(), 120)
    for lab in labs:
        assert "claude's limit resets at 03:00; its tasks wait" in lab.burnish("status").out
    labs[0].until(lambda: any("waits for claude until 03:00" in lab.burnish("status").out for lab in labs))
    paid_before = len(bill())
    clock.jump_to("02:59:00")
    time.sleep(7)
    assert len(bill()) - paid_before <= 4, "what was under way may end; nothing else is started"
    clock.jump_to("03:00:10")
    labs[0].until(lambda: len(bill()) >= 30, 300)
    send(signal.SIGKILL, runs)  # the machine stops
    psutil.wait_procs(runs, timeout=20)
    runs = start()
    labs[0].until(lambda: len(bill()) >= 45, 300)
    send(signal.SIGSTOP, runs)  # the machine sleeps
    clock.advance(20 * 60)
    time.sleep(3)
    send(signal.SIGCONT, runs)
    # the second limit ends in the quiet hours: the plan is left to the person until their end
    labs[0].until(lambda: "limit reached|" in limit(), 300)
    assert "claude's limit is reached; it is asked again at 06:00" in labs[0].burnish("limits").out
    clock.jump_to("05:59:00")
    time.sleep(7)
    assert limit()
    clock.jump_to("06:00:10")

    # a person wakes up, adds two tasks and answers two questions
    for number, lab in enumerate(labs):
        lab.add(f"Fate: overloaded {number}")
    labs[0].until(lambda: len(open_questions()) == 2, 300)
    for lab, number in open_questions():
        lab.burnish("comment", number, "Agreed: return None")
        lab.burnish("retry", number, "--later")

    def undone() -> list[tuple[str, str]]:
        # the retries of the overloaded tasks wait for seconds, then for five minutes
        if clock.now.hour == 6 and clock.now.minute < 50:
            clock.advance(10)
        found = [(task["title"], task["status"]) for lab in labs for task in tasks(lab)]
        return [(title, status) for title, status in found if status != fates[title.split()[1]][1]]

    end = time.monotonic() + 300
    while (left_over := undone()) or limit():
        assert time.monotonic() < end, (f"{clock.now:%H:%M}", left_over)
    clock.jump_to("07:00:01")
    _, alive = psutil.wait_procs(runs, timeout=60)
    assert not alive
    for log in logs:
        *_, stopped, counted, needs_you = log.read_text().splitlines()
        assert stopped.startswith("Stopped at the time of --until.")
        assert re.fullmatch(r"\d+ tasks were run, \$[\d.]+\+?: \d+ verified, \d+ blocked\.", counted), counted
        assert re.fullmatch(r"\d+ of them needs? you: burnish inbox", needs_you), needs_you
    assert "Trying task" in "".join(log.read_text() for log in logs)

    for lab in labs:
        found = tasks(lab)
        for task in found:
            _, status, why = fates[fate_of(task)]
            assert (task["status"], task["reason"] or task["error"]) == (status, why), task
        # the inbox has a line for each task, with its reason and a command
        lines = {one["id"]: one for one in lab.burnish("inbox", "--json").json["inbox"]}
        assert lines.keys() == {task["id"] for task in found}
        for task in found:
            _, status, why = fates[fate_of(task)]
            line = lines[task["id"]]
            assert (line["kind"], line["reason"] if status == "blocked" else None) == (
                "ready" if status == "verified" else status,
                why if status == "blocked" else None,
            ), line
            assert status == "verified" or str(why) in line["why"], line
            assert fate_of(task) != "budget" or line["command"] == f"burnish retry {task['id']} --budget …"
            # the same program fails again whatever its author is told
            assert fate_of(task) != "crash" or line["command"] == f"burnish retry {task['id']}"
            assert line["command"].startswith("burnish ") and f" {task['id']}" in line["command"], line
    assert sum(len(tasks(lab)) for lab in labs) == 40
    # nothing was paid that is not on the bill, and nothing twice; the limits cost nothing
    billed = round(sum(entry["usd"] for entry in bill()), 2)
    assert round(sum(task["cost_usd"] or 0 for lab in labs for task in tasks(lab)), 2) == billed
    assert round(sum(lab.burnish("cost", "--json").json["total"]["cost_usd"] for lab in labs), 2) == billed
    # only what the crash of the machine cut off, or a program that failed, has a cost that is not known
    inexact = {fate_of(task) for lab in labs for task in tasks(lab) if task["cost_source"] in ("partial", "unknown")}
    assert not inexact & {"silent", "secret", "missing"}, inexact

    check_stories(labs)

    # what conflicts is resolved by its author, and everything that was approved is merged
    for lab in labs:
        lab.burnish("merge", "--all-verified", code=None)
        left = [task for task in tasks(lab) if task["status"] == "verified"]
        assert [fate_of(task) for task in left] == ["conflict"], left
        assert "conflicts with main in work.txt" in lab.burnish("inbox").out
        lab.burnish("merge", left[0]["id"], "--resolve")
        assert not [task for task in tasks(lab) if task["status"] == "verified"]
        assert len(lab.repo.git("show", "main:work.txt").splitlines()) == 4
    assert sum(fate_of(task) == "conflict" for lab in labs for task in tasks(lab)) == 4

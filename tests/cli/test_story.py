"""From `add` to `done`, as a person types it."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Person

KEYS = [
    *("id", "project", "title", "type", "status", "reason", "error", "final_verdict", "cycle", "max_cycles"),
    *("review_status", "open_findings", "branch", "base", "commit", "agent", "model", "auto_review", "priority"),
    *(
        "cost_usd",
        "cost_source",
        "tokens",
        "depends_on",
        "overrides",
        "waits_for",
        "usage_limit",
        "paused",
        "tags",
        "needs",
        "archived",
        "issues_fixed",
        "created_at",
        "updated_at",
    ),
]


@pytest.mark.slow
def test_a_task_goes_from_words_to_a_verified_branch(person: Person) -> None:
    before = person.repo.fingerprint()
    assert "Added task 1: Add division" in person.types("add", "Add division")

    assert person.types("run") == "✓ Task 1 verified (APPROVED after 2 cycles; no tests were run)\n"
    assert "  [1/3] Review: CHANGES_REQUESTED - one error\n  [2/3] Improving…\n" in person.err
    assert "✓ 1 Add division   verified   APPROVED (2 cycles)  review: passed" in person.types("status")

    page = person.types("show", "T1")
    assert "F1  resolved  error  app.py:3  Zero is not handled" in page
    assert "burnish show review-cycle://1/review-cycle-2.md" in page
    assert person.types("show", "review-cycle://1/review-cycle-2.md").startswith("---\n")

    assert "+# implement 1\n+# improve 1\n" in person.types("diff", "1")
    assert "+# implement" not in person.types("diff", "1", "--since-review")
    assert Path(person.types("path", "1").strip(), "app.py").is_file()

    log = person.types("log", "1", "--phase", "implement")
    assert "working on it" in log and "\x1b" not in log and "owned" not in log and "Acceptance" not in log
    assert "Acceptance Criteria" in person.types("-v", "log", "1", "--phase", "implement")
    assert {entry["phase"] for entry in person.asks("log", "1")["logs"]} >= {"implement", "improve", "review"}

    assert person.repo.fingerprint() == before
    assert person.types("done", "1") == "Closed task 1: Add division (completed)\n"


def test_json_has_the_promised_keys_everywhere(person: Person) -> None:
    added = person.asks("add", "Add division", "--accept", "no crash", "--item", "docs", "--priority", "3", "-A")
    assert list(added) == KEYS
    assert (added["id"], added["priority"], added["auto_review"]) == ("1", 3, False)
    assert person.asks("status") == {"tasks": [added]} == person.asks("list", "--ready")
    shown = person.asks("show", "1")
    assert shown["criteria"] == ["no crash"] and set(KEYS) | {"cycles", "findings", "events"} <= set(shown)
    events = person.asks("events")["events"]
    assert [event["type"] for event in events] == ["trust.granted", "task.created"]
    assert set(events[0]) == {"id", "ts", "project", "task", "run", "cycle", "type", "data"}
    assert person.asks("events", "--since", str(events[-1]["id"])) == {"events": []}


def test_the_description_comes_from_words_a_file_or_stdin(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wish.md").write_text("from a file")
    typed = io.TextIOWrapper(io.BytesIO("from stdin ✓".encode()))
    monkeypatch.setattr("sys.stdin", typed)
    for number, source in enumerate((["-d", "from words"], ["--file", "../wish.md"], ["-"]), 1):
        person.types("add", "Wish", *source)
        wanted = ("from words", "from a file", "from stdin ✓")[number - 1]
        assert person.asks("show", str(number))["description"] == wanted


def test_an_empty_project_says_what_to_do(person: Person) -> None:
    assert person.types("status") == 'No tasks yet. Add one: burnish add "TITLE"\n'
    assert person.asks("status") == person.asks("list") == {"tasks": []}
    assert [event["type"] for event in person.asks("events")["events"]] == ["trust.granted"]
    person.types("show", "1", code=2)
    assert person.err.count("\n") == 2


def test_a_directory_that_is_no_repository_is_a_usage_error(person: Person, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    person.types("-C", str(tmp_path / "plain"), "status", code=2)
    assert "not inside a git repository" in person.err


def test_edit_changes_what_was_named_and_nothing_else(person: Person) -> None:
    person.types("add", "Old", "-d", "keep me", "--accept", "a", "--item", "one", "--item", "two", "--agent", "robot")
    person.types("edit", "1", "--title", "New", "--tick", "2", "--max-cycles", "5", "--agent", "default")
    shown = person.asks("show", "1")
    assert (shown["title"], shown["description"], shown["criteria"]) == ("New", "keep me", ["a"])
    assert [item["done"] for item in shown["checklist"]] == [False, True]
    assert (shown["max_cycles"], shown["agent"]) == (5, None)
    person.types("edit", "1", "--untick", "2", "--accept", "b", "--accept", "c")
    shown = person.asks("show", "1")
    assert shown["criteria"] == ["b", "c"] and not any(item["done"] for item in shown["checklist"])
    person.types("edit", "1", "--tick", "3", code=2)
    person.types("edit", "1", code=2)
    assert "No change given" in person.err


def test_dependencies_wait_and_circles_are_refused_by_name(person: Person) -> None:
    person.types("add", "First")
    person.types("add", "Second", "--depends-on", "T1")
    person.types("edit", "1", "--depends-on", "2", code=2)
    assert "1" in person.err and "2" in person.err
    assert "waits for 1" in person.types("status")
    person.types("run", "2", code=1)
    person.types("edit", "2", "--depends-on", "none")
    assert person.task(2)["depends_on"] == []


def test_cancelled_tasks_come_back_and_removed_ones_keep_their_story(person: Person) -> None:
    person.types("add", "Task")
    person.types("cancel", "1")
    person.types("cancel", "1", code=4)
    assert "cancelled" in person.err and person.task()["status"] == "cancelled"
    person.types("edit", "1", "--status", "backlog")
    assert person.task()["status"] == "backlog"
    person.types("rm", "1")
    assert person.asks("status") == {"tasks": []}
    assert [event["type"] for event in person.asks("events", "1")["events"]][-1] == "task.removed"


@pytest.mark.slow
def test_a_failing_agent_is_3_and_retry_goes_on(person: Person) -> None:
    person.agent("robot", "import sys\nprint('no luck')\nsys.exit(7)\n")
    person.types("add", "Task")
    assert person.types("run", "--exit-zero", code=3).startswith("✗ Task 1 failed (AGENT_FAILED")
    assert "burnish retry 1" in person.err and "Next: burnish retry 1" in person.types("status")
    good = "import pathlib, sys\nsys.stdin.read()\nopen('app.py', 'a').write('# more\\n')\nprint('ok')\n"
    person.agent("robot", good)
    person.agent("judge", (person.folder / "judge.py").read_text().replace('== "1"', '== "0"'))
    assert person.types("retry", "1") == "✓ Task 1 verified (APPROVED after 1 cycle; no tests were run)\n"


def test_out_of_cycles_is_1_and_a_person_may_override(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    person.types("add", "Task", "--max-cycles", "1")
    out = person.asks("run", code=1)
    assert [(t["status"], t["final_verdict"]) for t in out["tasks"]] == [("blocked", "MAX_CYCLES_REACHED")]
    assert person.types("run", "1", "--exit-zero").startswith("! Task 1 blocked")

    override = ("edit", "1", "--verdict", "APPROVED", "--reason", "zero cannot happen")
    monkeypatch.setenv("BURNISH_TASK", "1")
    person.types(*override, code=4)
    person.types("done", "1", "--reason", "x", code=4)
    assert person.task()["status"] == "blocked"
    monkeypatch.delenv("BURNISH_TASK")
    person.types(*override)
    task = person.task()
    assert (task["status"], task["overrides"]) == ("verified", 1)
    assert "1 override" in person.types("status")


def test_a_dry_run_runs_nothing(person: Person) -> None:
    person.types("add", "First")
    person.types("add", "Second")
    assert person.types("run", "--all", "--dry-run").startswith("Would run task 1: First\nWould run task 2: Second\n")
    assert {task["status"] for task in person.asks("status")["tasks"]} == {"backlog"}


def test_quiet_prints_the_result_alone(person: Person) -> None:
    person.types("add", "Task")
    assert person.types("run", "-q") == "✓ Task 1 verified (APPROVED after 2 cycles; no tests were run)\n"
    assert person.err == ""


def test_whoever_follows_the_events_sees_the_next_one(person: Person) -> None:
    person.types("add", "First")
    argv = [sys.executable, "-m", "burnish.cli", "-C", str(person.repo.path), "events", "-f", "--json"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout
        assert json.loads(watching.stdout.readline())["type"] == "trust.granted"
        assert json.loads(watching.stdout.readline())["task"] == "1"
        person.types("add", "Second")
        assert json.loads(watching.stdout.readline())["task"] == "2"
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 130


def test_text_that_a_terminal_would_obey_is_shown_without_its_power(person: Person) -> None:
    person.types("add", "Evil \x1b]0;x\x07title \u202egpj", "-d", "\x1b[2Jgone", "--accept", "\x9b31mred")
    shown = person.types("status") + person.types("show", "1") + person.types("list") + person.types("run", "--dry-run")
    shown += person.types("events")
    assert "Evil title gpj" in shown
    assert not set("\x1b\x07\x9b\u202e") & set(shown)
    assert person.task()["title"].startswith("Evil \x1b")


@pytest.mark.slow
def test_improve_of_a_task_that_a_comment_reopened_names_the_command_that_continues_it(person: Person) -> None:
    person.types("add", "Add division")
    person.types("run")
    person.types("comment", "1", "Rename it")
    person.types("improve", "1", "--review", code=4)
    assert "Task 1 is already in progress" in person.err and "burnish run 1" in person.err

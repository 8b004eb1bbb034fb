"""`burnish show`, from the values that `--json` prints."""

from __future__ import annotations

from typing import Any

import pytest

from burnish.cli.output import width
from burnish.cli.show_page import page
from burnish.core.finding import Category, Finding, FindingState, Remark, Severity, Waiver
from burnish.core.status import Status
from burnish.core.task import Item, Spec, Task
from burnish.views.status import task_json
from burnish.views.task import finding_json


def story(status: Status = Status.BLOCKED, **more: Any) -> dict[str, Any]:
    task = Task("p", 30, Spec("Add feature Y", depends_on=(29,)), status, cycle=2, cost_usd=0.5, tokens=12345)
    zero = Remark(Category.CODE, Severity.ERROR, "Division by\x1b[2J zero", file="src/app.py", line=5)
    style = Remark(Category.CODE, Severity.INFO, "Odd name")
    cycle = {
        "number": 1,
        "verdict": "changes_requested",
        "review_status": "failed",
        "commit": "a" * 40,
        "phases": [
            {"phase": "implement", "attempt": 2, "state": "finished", "cost_usd": 0.25, "error": None},
            {"phase": "review", "attempt": 1, "state": "failed", "cost_usd": None, "error": "TIMEOUT"},
        ],
        "checks": [{"name": "test", "status": "failed", "counts": {"passed": 3, "failed": 1}, "new": ["t::x"]}],
        "summary": "One error.\u202e And more words " * 30,
        "artifact": "/home/u/burnish/tasks/30-y/artifacts/review-cycle-1.md",
    }
    return {
        **task_json(task),
        "description": "Do it well.",
        "scope": "",
        "criteria": ["rejects zero"],
        "checklist": [{"text": "docs", "done": True}, {"text": "tests", "done": False}],
        "note": "one finding is left",
        "cycles": [cycle],
        "findings": [
            finding_json(Finding("F1", zero)),
            finding_json(Finding("F2", style, FindingState.WAIVED, waiver=Waiver("ada", "fine by me", "now"))),
        ],
        **more,
    }


def test_the_page_tells_everything_once() -> None:
    text = "\n".join(page(story(), room=100, colour=False))
    for words in (
        "! T30 Add feature Y",
        "cycle 2/3",
        "one finding is left",
        "$0.50, 12,345 tokens",
        "must: rejects zero",
        "[x] docs",
        "[ ] tests",
        "Cycle 1  CHANGES_REQUESTED  review: failed  aaaaaaaaaaaa",
        "implement finished  attempt 2  $0.25",
        "review    failed  TIMEOUT",
        "check test: failed (3 passed, 1 failed: 1 new)",
        "burnish show review-cycle://30/review-cycle-1.md",
        "2 findings, 1 open",
        "F1  open    error  src/app.py:5  Division by zero",
        "waived by ada: fine by me",
        "Next: burnish retry 30",
    ):
        assert text.count(words) == 1, words


@pytest.mark.parametrize("room", [60, 80, 200])
def test_the_page_fits_and_obeys_nobody(room: int) -> None:
    for line in page(story(title="日本" * 60, description="長い説明。" * 40), room=room, colour=False):
        assert width(line) <= room
        assert "\x1b" not in line and "\u202e" not in line


@pytest.mark.parametrize("status", Status)
def test_every_status_has_its_page_and_what_follows(status: Status) -> None:
    lines = page(story(status), room=100, colour=True)
    assert any(line.startswith("Next: burnish") for line in lines) == (status is not Status.COMPLETED)


def test_a_task_that_has_not_begun_has_a_short_page() -> None:
    bare = {**task_json(Task("p", 1, Spec("New", checklist=(Item("x"),)))), "cycles": [], "findings": []}
    lines = page(bare, room=80, colour=False)
    assert lines[0] == "· T1 New" and lines[-1] == "Next: burnish run 1"
    assert "not started" in lines[1]


def test_what_was_verified_is_merged_by_burnish() -> None:
    lines = page(story(Status.VERIFIED, branch="burnish/30-y"), room=100, colour=False)
    assert "      burnish merge 30" in lines and not any("git merge" in line for line in lines)

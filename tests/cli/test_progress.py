"""Progress in words."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest

from burnish.cli import progress as story
from burnish.cli.live import _cut_action
from burnish.cli.progress import PlainProgress, QuietProgress, watcher
from burnish.cli.run import exit_code
from burnish.core.event import RecordedEvent
from burnish.core.status import ErrorCode, FinalVerdict, Reason, Status
from burnish.core.task import Spec, Task

Capture = pytest.CaptureFixture[str]
TASK = Task("p", 29, Spec("Add user authentication"), Status.IN_PROGRESS, cycle=1)
DONE = replace(TASK, status=Status.VERIFIED, final_verdict=FinalVerdict.APPROVED, cycle=2)


def event(kind: str, cycle: int = 1, **data: Any) -> RecordedEvent:
    return RecordedEvent(1, "2026-01-29T12:00:00+00:00", "p", 29, 1, cycle, kind, data)


STORY = [
    event("run.started", 0),
    event("task.status", 0),
    event("phase.started", phase="implement"),
    event("phase.finished", phase="implement"),
    event("phase.started", phase="check"),
    event("check.finished", name="test", status="failed", counts={"passed": 11, "failed": 1, "skipped": 2}),
    event("phase.finished", phase="check"),
    event("phase.started", phase="review"),
    event("review.completed", verdict="changes_requested", summary="one\x1b[2J error"),
    event("phase.started", 2, phase="improve"),
    event("phase.started", 2, phase="review"),
    event("review.completed", 2, verdict="approved", summary="good"),
]


def test_a_run_reads_as_promised(capsys: Capture) -> None:
    watch = PlainProgress(several=False, verbose=False)
    for fact in STORY:
        watch.event(TASK, fact)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "Running task 29: Add user authentication",
        "  [1/3] Implementing…",
        "  [1/3] Implementation complete",
        "  [1/3] Running checks…",
        "  [1/3] Check test: failed, 11 passed, 1 failed, 2 skipped",
        "  [1/3] Running review…",
        "  [1/3] Review: CHANGES_REQUESTED - one error",
        "  [2/3] Improving…",
        "  [2/3] Running review…",
        "  [2/3] Review: APPROVED",
    ]


def test_a_run_that_goes_on_is_introduced_as_well(capsys: Capture) -> None:
    PlainProgress(several=False, verbose=False).event(TASK, STORY[7])
    assert capsys.readouterr().err.splitlines()[0] == "Running task 29: Add user authentication"


def test_with_several_each_line_says_whose_it_is_and_each_end_is_told_once(capsys: Capture) -> None:
    watch = PlainProgress(several=True, verbose=False)
    watch.event(TASK, STORY[2])
    watch.event(DONE, event("task.status", 2))
    watch.event(DONE, event("run.finished", 2))
    assert capsys.readouterr().err.splitlines()[1:] == [
        "T29 [1/3] Implementing…",
        "✓ Task 29 verified (APPROVED after 2 cycles)",
    ]


def test_output_of_agents_is_shown_only_when_asked_for_and_never_obeyed(capsys: Capture) -> None:
    PlainProgress(several=False, verbose=False).output(29, "hello")
    assert capsys.readouterr().err == ""
    PlainProgress(several=False, verbose=True).output(29, "he\x1b]0;x\x07llo\n")
    assert capsys.readouterr().err == "    │ hello\n"


def test_quiet_is_quiet(capsys: Capture) -> None:
    watch = watcher(several=False, quiet=True, verbose=True)
    assert isinstance(watch, QuietProgress)
    watch.event(TASK, STORY[2])
    watch.output(29, "x")
    watch.note("y")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (DONE, "✓ Task 29 verified (APPROVED after 2 cycles)"),
        (
            replace(
                TASK,
                status=Status.BLOCKED,
                reason=Reason.MAX_CYCLES,
                final_verdict=FinalVerdict.MAX_CYCLES_REACHED,
                cycle=3,
                note="one finding is left",
            ),
            "! Task 29 blocked (MAX_CYCLES_REACHED after 3 cycles): one finding is left",
        ),
        (
            replace(TASK, status=Status.FAILED, error=ErrorCode.AGENT_FAILED, note="exit code 3"),
            "✗ Task 29 failed (AGENT_FAILED after 1 cycle): exit code 3",
        ),
        (replace(TASK, status=Status.COMPLETED, cycle=0), "✓ Task 29 completed"),
        (
            replace(TASK, status=Status.WAITING_APPROVAL, note="a person decides next"),
            "! Task 29 waits for approval (after 1 cycle): a person decides next",
        ),
    ],
)
def test_how_it_ended_is_one_line(task: Task, words: str) -> None:
    assert story.result(task) == words


@pytest.mark.parametrize(
    ("states", "more", "code"),
    [
        ([], {}, 0),
        (["verified", "completed"], {}, 0),
        (["verified", "blocked"], {}, 1),
        (["waiting_approval"], {}, 1),
        (["code_review"], {}, 1),
        (["verified"], {"waiting": True}, 1),
        (["blocked", "failed", "verified"], {}, 3),
        (["blocked"], {"exit_zero": True}, 0),
        (["failed"], {"exit_zero": True}, 3),
        (["verified"], {"interrupted": True, "exit_zero": True}, 130),
    ],
)
def test_the_exit_code_is_the_worst_of_all(states: list[str], more: dict[str, bool], code: int) -> None:
    tasks = [replace(TASK, status=Status(state)) for state in states]
    asked = {"waiting": False, "interrupted": False, "exit_zero": False} | more
    assert exit_code(tasks, **asked) == code


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_running_phase_is_a_live_line(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    watch = watcher(several=True, quiet=False, verbose=False)
    try:
        watch.event(TASK, STORY[2])
        watch.output(29, "thinking \x1b]0;x\x07hard")
        watch.screen.refresh()  # type: ignore[attr-defined]
        watch.event(DONE, event("task.status", 2))
    finally:
        watch.close()
    shown = screen.getvalue()
    assert "[1/3] Implementing…" in shown and "thinking hard" in shown
    assert "✓ Task 29 verified" in shown and "\x1b]0;" not in shown


def test_a_long_command_is_cut_before_its_exit_code() -> None:
    action = "ran python3 -c 'print(1); print(2); print(3)' (exit code 3)"
    assert _cut_action(action, 40) == "ran python3 -c 'print(1);… (exit code 3)"
    assert _cut_action(action, 100) == action and len(_cut_action(action, 20)) <= 20


def test_before_the_first_action_the_live_line_shows_the_time_and_the_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    watch = watcher(several=True, quiet=False, verbose=False)
    try:
        watch.event(replace(TASK, spec=Spec("A long title " * 10)), STORY[2])
        watch.screen.refresh()  # type: ignore[attr-defined]
    finally:
        watch.close()
    assert re.search(r"Implementing…  0s", screen.getvalue())

"""What `run -v` prints of an agent's actions."""

from __future__ import annotations

import threading
import time

import pytest

from burnish.cli.progress import ActionLines


def printed(lines: list[str], seconds: float = 60.0) -> list[str]:
    output: list[str] = []
    actions = ActionLines(output.append, threading.Lock())
    actions.SECONDS = seconds
    for line in lines:
        actions.add(line)
    with actions._lock:
        actions.flush()
    return output


def test_an_action_that_ends_at_once_has_one_line() -> None:
    assert printed(["running ls", "ran ls", "editing a.py", "edited a.py"]) == ["ran ls", "edited a.py"]
    assert printed(["running pytest -q", "ran pytest -q (exit code 1)"]) == ["ran pytest -q (exit code 1)"]


def test_an_action_that_another_line_follows_is_shown() -> None:
    assert printed(["running ls", "I look.", "ran ls"]) == ["running ls", "I look.", "ran ls"]
    assert printed(["running a", "running b", "ran b", "ran a"]) == ["running a", "ran b", "ran a"]
    assert printed(["running ls"]) == ["running ls"]


def test_a_message_that_only_looks_like_an_action_is_shown() -> None:
    assert printed(["running late", "Done."]) == ["running late", "Done."]


def test_a_long_action_is_shown_when_it_begins_and_when_it_ends() -> None:
    output: list[str] = []
    actions = ActionLines(output.append, threading.Lock())
    actions.SECONDS = 0.05
    actions.add("running make test")
    until = time.monotonic() + 20
    while not output and time.monotonic() < until:
        time.sleep(0.01)
    assert output == ["running make test"]
    actions.add("ran make test (exit code 2)")
    assert output == ["running make test", "ran make test (exit code 2)"]


@pytest.mark.parametrize("line", ["", "running", "ran ls", "Verdict approved: good"])
def test_other_lines_are_printed_at_once(line: str) -> None:
    output: list[str] = []
    ActionLines(output.append, threading.Lock()).add(line)
    assert output == [line]

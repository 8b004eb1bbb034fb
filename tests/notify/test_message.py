"""What a person is told of, in which words, and when not."""

from __future__ import annotations

from datetime import time
from typing import Any

import pytest

from burnish.core.event import RecordedEvent
from burnish.core.quiet_hours import is_quiet
from burnish.core.task import Spec, Task
from burnish.notify.notifier import message_for

ALL = ("blocked", "approved", "waiting_approval", "failed")
TASK = Task("p", 29, Spec("Add login"))


def event(to: str, kind: str = "task.status", **data: Any) -> RecordedEvent:
    return RecordedEvent(1, "", "p", 29, 1, 3, kind, {"from": "code_review", "to": to, **data})


@pytest.mark.parametrize(
    ("to", "data", "title", "body"),
    [
        ("blocked", {"reason": "max_cycles"}, "Review Failed", "Task needs human review after 3 attempts"),
        ("blocked", {"reason": "stalled"}, "Review Failed", "Task needs a person"),
        ("blocked", {"reason": "rejected", "note": "no"}, "Review Rejected", "Blocking issue found: no"),
        ("blocked", {"reason": "human_rejected"}, "Review Rejected", "Blocking issue found"),
        ("blocked", {"reason": "budget", "note": "$5"}, "Task Blocked", "Task needs a person: $5"),
        ("failed", {"error": "TIMEOUT", "note": "late"}, "Task Failed", "TIMEOUT: late"),
        ("waiting_approval", {"note": "look"}, "Approval Needed", "look"),
        ("verified", {}, "Review Approved", "Approved after 3 cycles"),
    ],
)
def test_each_rest_has_its_title_and_the_next_command(to: str, data: dict[str, Any], title: str, body: str) -> None:
    message = message_for(TASK, event(to, **data), ALL)
    assert message and message.title == f"{title}: Add login"
    assert message.body == f"{body}\nburnish show 29"


def test_only_what_the_settings_name_is_told() -> None:
    assert message_for(TASK, event("verified"), ("blocked", "failed")) is None
    assert message_for(TASK, event("in_progress"), ALL) is None
    assert message_for(TASK, event("blocked", "decision.made"), ALL) is None


def test_orders_to_a_terminal_do_not_get_through() -> None:
    message = message_for(TASK, event("failed", note="a\x1b]0;x\x07\nb\u202ec" + "d" * 999), ALL)
    assert message and message.body.count("\n") == 1 and not {"\x1b", "\x07", "\u202e"} & set(message.body)
    assert len(message.body) < 400


@pytest.mark.parametrize(
    ("now", "hours", "quiet"),
    [
        ("23:00", "22:00-07:00", True),
        ("06:59", "22:00-07:00", True),
        ("07:00", "22:00-07:00", False),
        ("12:00", "22:00-07:00", False),
        ("12:30", "12:00-13:00", True),
        ("13:00", "12:00-13:00", False),
        ("05:00", "05:00-05:00", True),
        ("05:00", None, False),
    ],
)
def test_quiet_hours_may_reach_over_midnight(now: str, hours: str | None, quiet: bool) -> None:
    assert is_quiet(time.fromisoformat(now), hours) is quiet

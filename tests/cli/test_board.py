"""The lines of `status` and `list`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.cli.output import short_title, width
from burnish.cli.status import board
from burnish.core.status import ErrorCode, FinalVerdict, Reason, ReviewStatus, Status
from burnish.core.task import Spec, Task
from burnish.views.status import status_view

NOW = datetime(2026, 1, 29, 12, 1, 12, tzinfo=UTC)


def task(number: int, title: str, status: Status = Status.BACKLOG, *, after: tuple[int, ...] = (), **more: Any) -> Task:
    return Task("p", number, Spec(title, depends_on=after), status, **more)


def drawn(tasks: list[Task], *, room: int = 100, colour: bool = False) -> list[str]:
    return board(status_view(tasks, NOW).lines, room=room, colour=colour)


X = task(
    29,
    "Add feature X",
    Status.VERIFIED,
    final_verdict=FinalVerdict.APPROVED,
    cycle=3,
    review_status=ReviewStatus.PASSED,
    cost_usd=0.42,
)
Y = task(
    30,
    "Add feature Y",
    Status.BLOCKED,
    reason=Reason.MAX_CYCLES,
    final_verdict=FinalVerdict.MAX_CYCLES_REACHED,
    cycle=3,
    open_findings=2,
)
Z = task(
    31,
    "Add feature Z",
    Status.IN_PROGRESS,
    cycle=2,
    phase="improve",
    phase_started="2026-01-29T12:00:00+00:00",
    runner="here",
)


def test_three_tasks_look_as_promised() -> None:
    assert drawn([X, Y, Z]) == [
        "  ✓ 29 Add feature X   verified   APPROVED (3 cycles)  review: passed   $0.42",
        "  ! 30 Add feature Y   blocked    MAX_CYCLES_REACHED (3 cycles)  2 open",
        "  → 31 Add feature Z   in_progress (cycle 2/3, improving 1m12s)",
    ]


def test_colour_changes_nothing_but_the_colour() -> None:
    import re

    plain = drawn([X, Y, Z])
    painted = drawn([X, Y, Z], colour=True)
    assert painted != plain
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in painted] == plain
    assert "\x1b[32m✓" in painted[0] and "\x1b[33m!" in painted[1]


TITLES = st.text(min_size=1, max_size=120)


@given(st.lists(st.tuples(TITLES, st.sampled_from(Status)), min_size=1, max_size=5), st.integers(60, 200))
def test_every_line_fits_the_terminal(rows: list[tuple[str, Status]], room: int) -> None:
    tasks = [
        task(
            n,
            title,
            status,
            cycle=2,
            open_findings=3,
            final_verdict=FinalVerdict.MAX_CYCLES_REACHED,
            overrides=1,
        )
        for n, (title, status) in enumerate(rows, 1)
    ]
    for line in drawn(tasks, room=room):
        assert width(line) <= room
        assert "\n" not in line and "\x1b" not in line


def test_wide_titles_stay_aligned() -> None:
    lines = drawn([task(1, "日本語の題名"), task(2, "short")])
    assert width(lines[0].partition("backlog")[0]) == width(lines[1].partition("backlog")[0])


def test_a_long_title_gives_way_to_what_happened() -> None:
    (line,) = drawn([replace(X, spec=Spec("word " * 40))], room=80)
    assert "…" in line and line.endswith("review: passed   $0.42")


def test_one_long_line_does_not_shorten_the_titles_of_all_others() -> None:
    long = replace(X, spec=Spec("Validate the field email"), overrides=1, open_findings=12, reason=Reason.MAX_CYCLES)
    short = replace(X, spec=Spec("Validate the field street"), final_verdict=None, cost_usd=0.0)
    lines = drawn([long, short, short], room=80)
    assert "Validate the field email" in lines[0] and "Validate the field stre…" in lines[1]
    assert all(width(line) <= 80 for line in lines)


def test_a_title_keeps_a_part_of_the_line_however_much_happened() -> None:
    spec = Spec("Round the totals of all orders")
    (line,) = drawn([replace(X, spec=spec, overrides=1, open_findings=12, reason=Reason.MAX_CYCLES)], room=80)
    assert "Round the total…" in line and width(line) <= 80


def test_a_waiting_task_names_what_it_waits_for() -> None:
    lines = drawn([X, task(2, "second", after=(29,)), task(3, "third", after=(2, 29))])
    assert lines[1].endswith("ready") and lines[2].endswith("waits for 2")


@pytest.mark.parametrize(
    ("tasks", "end"),
    [
        ([X, Y, Z], "3 tasks: 1 in progress, 1 verified, 1 blocked; $0.42. Next: burnish show 30"),
        ([X], "1 task: 1 verified; $0.42. Next: burnish diff 29"),
        ([task(1, "a"), task(2, "b", after=(1,))], "2 tasks: 2 backlog. Next: burnish run --all"),
        ([task(5, "a", Status.FAILED, error=ErrorCode.TIMEOUT)], "1 task: 1 failed. Next: burnish retry 5"),
        ([task(5, "a", Status.COMPLETED)], "1 task: 1 completed."),
    ],
)
def test_the_closing_line_says_what_to_type_next(tasks: list[Task], end: str) -> None:
    assert status_view(tasks, NOW).summary.words == end


def test_a_page_pasted_as_a_title_does_not_push_everything_aside() -> None:
    (line,) = drawn([task(1, "long " * 2000)], room=200)
    assert width(line) < 120 and line.endswith("ready")
    assert len(short_title("long " * 2000)) <= 80

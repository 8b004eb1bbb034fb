"""Some of the tasks: the filters of `list`, and what a task waits for."""

from __future__ import annotations

from typing import Any

import pytest

from burnish.core.status import Status
from burnish.core.task import Spec, Task
from burnish.errors import BadInput
from burnish.views.filters import pick

X, Y, Z = (
    Task("p", 29, Spec("X"), Status.VERIFIED),
    Task("p", 30, Spec("Y"), Status.BLOCKED),
    Task("p", 31, Spec("Z"), Status.IN_PROGRESS),
)


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, [29, 30, 31, 40, 41]),
        ({"statuses": ["blocked", "verified"]}, [29, 30]),
        ({"ready": True}, [40]),
        ({"only_blocked": True}, [30]),
        ({"agent": "robot"}, [41]),
        ({"agent": "nobody"}, []),
    ],
)
def test_filters_pick_what_fits_all_of_them(filters: dict[str, Any], ids: list[int]) -> None:
    mine = Task("p", 41, Spec("mine", agent="robot", depends_on=(30,)))
    tasks = [X, Y, Z, Task("p", 40, Spec("next")), mine]
    wanted = {"statuses": [], "ready": False, "only_blocked": False, "agent": None} | filters
    assert [t.id for t in pick(tasks, **wanted)] == ids


def test_a_status_that_does_not_exist_is_refused_with_the_list() -> None:
    with pytest.raises(BadInput) as refusal:
        pick([], statuses=["finished"], ready=False, only_blocked=False, agent=None)
    assert "waiting_approval" in refusal.value.hint

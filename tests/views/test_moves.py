"""What the page and the card of a task offer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from burnish.core.status import Status
from burnish.core.task import Spec, Task
from burnish.views.moves import ACTS, others
from burnish.views.task_page import _buttons

WAITS = Task("p", 1, Spec("x"), Status.CODE_REVIEW, base="b", commit="c")


@pytest.mark.parametrize(
    ("waits_for", "offered", "first"),
    [("review", "ask", "ask"), ("outside", "ask", "ask"), ("improve", "review", "improve")],
)
def test_a_task_that_waits_for_its_review_offers_it_instead_of_going_on(
    waits_for: str, offered: str, first: str
) -> None:
    """`burnish run` leaves such a task alone, so that "Go on" would do nothing."""
    task = replace(WAITS, waits_for=waits_for)
    assert offered in others(task, standing="") and "goon" not in others(task, standing="")
    assert ACTS[offered].path == "/review"
    assert next(button.name for button in _buttons(task, "", ()) if button.first) == first


def test_a_task_between_two_phases_goes_on() -> None:
    assert "goon" in others(WAITS, standing="")

"""What the page and the card of a task offer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from burnish.core.status import Reason, Status
from burnish.core.task import Spec, Task
from burnish.errors import Refused
from burnish.views.board_moves import ACTS, moves, others, refuse_move
from burnish.views.inbox import ANSWERS
from burnish.views.status import AT_REST, WAITING
from burnish.views.task_page.page import _buttons

WAITS = Task("p", 1, Spec("x"), Status.CODE_REVIEW, base="b", commit="c")


@pytest.mark.parametrize(
    ("waits_for", "offered", "first"),
    [("review", "ask", "ask"), ("outside", "ask", "ask"), ("improve", "review", "improve")],
)
def test_a_task_that_waits_for_its_review_offers_it_instead_of_going_on(
    waits_for: str, offered: str, first: str
) -> None:
    """`burnish run` leaves such a task alone, so that "Continue" would do nothing."""
    task = replace(WAITS, waits_for=waits_for)
    assert offered in others(task, standing="") and "goon" not in others(task, standing="")
    assert ACTS[offered].path == "/review"
    assert next(button.name for button in _buttons(task, "", ()) if button.first) == first


def test_a_task_between_two_phases_goes_on() -> None:
    assert "goon" in others(WAITS, standing="")


def test_every_reason_to_stop_has_an_answer_and_every_wait_a_command() -> None:
    assert set(ANSWERS) == set(Reason)
    assert set(WAITING) == set(AT_REST) == {"review", "improve", "outside"}


def test_what_changed_nothing_offers_neither_a_review_nor_an_override() -> None:
    idle = Task("p", 1, Spec("x"), Status.BLOCKED, reason=Reason.NO_CHANGES, base="b", commit="b")
    names = {button.name for button in _buttons(idle, "", ())}
    assert "retry" in names and not names & {"override", "review", "improve"}


def test_a_task_whose_budget_is_used_up_offers_a_new_limit_and_nothing_that_would_be_blocked_again() -> None:
    note = "the task has cost $1.00 of $1.00 (budget.task_usd)"
    spent = Task("p", 1, Spec("x"), Status.BLOCKED, reason=Reason.BUDGET, note=note, base="b", commit="c")
    names = {button.name for button in _buttons(spent, "", ())}
    assert {"retry", "override"} <= names and not names & {"improve", "review"}
    possible = moves(spent, unmet=(), standing="")
    assert possible[Status.IN_PROGRESS] == "raise" and ACTS["raise"].ask == "page#answer"
    assert Status.CODE_REVIEW not in possible
    with pytest.raises(Refused) as refused:
        refuse_move(spent, Status.CODE_REVIEW, unmet=(), standing="")
    assert refused.value.hint == "Raise its limit on its page."
    # the next run has a new budget of its own
    of_run = replace(spent, note="the run has cost $1.00 of $1.00 (budget.run_usd)")
    assert moves(of_run, unmet=(), standing="")[Status.IN_PROGRESS] == "retry"


def test_a_task_without_its_branch_offers_neither_a_review_nor_an_override() -> None:
    lost = Task("p", 1, Spec("x"), Status.BLOCKED, reason=Reason.BRANCH_GONE, base="b", commit="c")
    names = {button.name for button in _buttons(lost, "", ())}
    assert "retry" in names and not names & {"override", "review", "improve"}


def test_a_refused_move_names_statuses_as_the_board_shows_them() -> None:
    task = Task("p", 3, Spec("Title"), status=Status.VERIFIED)
    with pytest.raises(Refused) as refusal:
        refuse_move(task, Status.WAITING_APPROVAL, unmet=[], standing="")
    assert "_" not in f"{refusal.value.what} {refusal.value.hint}" and "code review" in str(refusal.value.hint)

"""The one table of legal moves, and its copy in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from burnish.core.status import MOVES, Status, check_move
from burnish.errors import Refused

PAGE = Path(__file__).parents[2] / "docs" / "tasks.md"


def moves_on_the_page() -> set[tuple[str, str]]:
    rows = re.findall(r"^\| (\w+) \| (\w+) \| .+ \|$", PAGE.read_text(), re.M)
    return {row for row in rows if row != ("from", "to")}


def test_the_page_and_the_code_hold_the_same_moves() -> None:
    in_code = {(old.value, new.value) for old, news in MOVES.items() for new in news}
    assert moves_on_the_page() == in_code


def test_every_status_has_its_row_and_only_completed_is_final() -> None:
    assert set(MOVES) == set(Status)
    assert [status for status in Status if not MOVES[status]] == [Status.COMPLETED]


@pytest.mark.parametrize("old", Status)
@pytest.mark.parametrize("new", Status)
def test_a_move_is_refused_exactly_where_the_page_has_none(old: Status, new: Status) -> None:
    if (old.value, new.value) in moves_on_the_page():
        check_move("T29", old, new)
        return
    with pytest.raises(Refused) as refusal:
        check_move("T29", old, new)
    assert refusal.value.exit_code == 4
    assert "T29" in refusal.value.what and old.value in refusal.value.hint
    assert refusal.value.what.startswith("Task T29 is already ") is (old is new)


def test_nothing_becomes_approved_out_of_the_backlog_or_the_work() -> None:
    for status in (Status.BACKLOG, Status.IN_PROGRESS, Status.FAILED, Status.CANCELLED):
        assert not MOVES[status] & {Status.VERIFIED, Status.COMPLETED}

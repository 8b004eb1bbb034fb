"""The board as a view: columns, cards, and the moves that a person can make."""

from __future__ import annotations

from typing import Any

import pytest

from burnish.core.status import MOVES, Reason, Status
from burnish.core.task import Spec, Task
from burnish.errors import Refused
from burnish.store import Store
from burnish.views.board import ORDER, Holders, TaskCard, board, cards_of, head_of, near
from burnish.views.board_moves import ACTS, BY_HAND, moves, others, refuse_move
from burnish.views.projects import project_lines
from burnish.views.task_page.page import TaskHead
from testing import boards

NOBODY = Holders(lambda runner: False)


def task(status: Status, id: int = 7, *, depends_on: tuple[int, ...] = (), paused: bool = False, **more: Any) -> Task:
    return Task("p", id, Spec("Add feature X", depends_on=depends_on, paused=paused), status=status, **more)


def card(one: Task, *others: Task, holders: Holders = NOBODY) -> TaskCard:
    return cards_of([one, *others], holders, [one.id])[0]


def test_what_a_person_can_move_is_a_part_of_the_one_table() -> None:
    assert set(BY_HAND) == set(MOVES) == set(ORDER)
    for status, ways in BY_HAND.items():
        assert set(ways) <= MOVES[status], status
        assert set(ways.values()) <= set(ACTS), status


def test_a_task_that_a_person_rejected_is_done_and_needs_nobody() -> None:
    old = task(Status.COMPLETED, 8, updated_at="2026-05-01T12:00:00+00:00")
    rejected = task(Status.BLOCKED, reason=Reason.HUMAN_REJECTED, updated_at="2026-05-02T12:00:00+00:00")
    assert card(rejected).group == "done" and card(rejected).rank < card(old).rank
    assert card(rejected).chip == "rejected"
    assert card(task(Status.BLOCKED, reason=Reason.REJECTED)).group == "needs"


def test_a_rejection_without_a_note_is_told_once() -> None:
    def note(text: str) -> str:
        rejected = task(Status.BLOCKED, reason=Reason.HUMAN_REJECTED, note=text)
        return TaskHead(rejected, "", "", "A person rejected it. Say what to do instead.", (), (), (), "", False).note

    assert note("rejected by a person") == ""
    assert note("Not like this.") == "Not like this."


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("to", Status)
def test_a_move_is_either_offered_or_refused_with_a_reason_and_a_way_out(status: Status, to: Status) -> None:
    one = task(status, base="b" * 40)
    if to in moves(one, unmet=(), standing=""):
        refuse_move(one, to, unmet=(), standing="")
        return
    with pytest.raises(Refused) as refused:
        refuse_move(one, to, unmet=(), standing="")
    assert refused.value.what and refused.value.hint


def test_an_approved_task_in_conflict_is_offered_the_way_out_first() -> None:
    one = task(Status.VERIFIED, base="b" * 40, commit="c" * 40)
    assert next(iter(moves(one, unmet=(), standing=""))) is Status.COMPLETED
    shown = cards_of([one], Holders(lambda runner: False), waiting={("p", one.id)})[0]
    assert next(iter(shown.moves.items())) == (Status.IN_PROGRESS, "rebase") and shown.group == "needs"
    # among the others that need a person by its number, not by its time
    assert shown.rank == one.id


def test_a_task_that_waits_for_another_cannot_be_started_and_says_for_which() -> None:
    one = task(Status.BACKLOG, depends_on=(3,))
    assert moves(one, unmet=(3,), standing="") == {Status.CANCELLED: "cancel"}
    with pytest.raises(Refused, match="waits for 3"):
        refuse_move(one, Status.IN_PROGRESS, unmet=(3,), standing="")


def test_nothing_that_needs_rest_is_offered_while_somebody_works_on_it() -> None:
    one = task(Status.CODE_REVIEW, base="b" * 40)
    assert moves(one, unmet=(), standing="here") == {Status.CANCELLED: "cancel"}
    assert others(one, standing="here") == ("stop", "pause", "comment")
    assert set(moves(one, unmet=(), standing="")) == {Status.IN_PROGRESS, Status.VERIFIED, Status.CANCELLED}


def test_what_was_never_worked_on_cannot_be_reviewed_or_overridden() -> None:
    ways = moves(task(Status.BLOCKED), unmet=(), standing="")
    assert set(ways) == {Status.IN_PROGRESS, Status.BACKLOG, Status.CANCELLED}


def test_a_card_knows_who_runs_it() -> None:
    one = task(Status.IN_PROGRESS, runner="r1", phase="improve", phase_started="2026-05-01T12:00:00.000Z", cycle=2)
    here = card(one, holders=Holders(lambda runner: True, frozenset({"r1"})))
    assert (here.standing, here.doing, here.cycle) == ("here", "improving", "cycle 2/3")
    assert here.since == "2026-05-01T12:00:00.000Z"
    assert card(one, holders=Holders(lambda runner: True)).standing == "elsewhere"
    over = card(task(Status.VERIFIED, runner="r1", base="b" * 40), holders=Holders(lambda runner: True))
    assert over.standing == "" and Status.COMPLETED in over.moves
    dead = card(one)
    # its phase is not under way, whatever the row still says
    assert (dead.standing, dead.doing, dead.since) == ("interrupted", "", "")
    assert "goon" in dead.others


def test_what_is_queued_says_so_and_is_taken_out_but_not_started_again() -> None:
    one, waits = task(Status.BACKLOG, 1), task(Status.BACKLOG, 2)
    holders = Holders(lambda runner: True, queued=lambda task: task.id == 1)
    shown = card(one, waits, holders=holders)
    assert (shown.standing, shown.ready, shown.others) == ("queued", False, ("unqueue",))
    assert Status.IN_PROGRESS not in shown.moves and Status.CANCELLED in shown.moves
    head = head_of([one, waits], holders)
    assert (head.queued, head.ready, head.running) == (1, 1, 0)
    with pytest.raises(Refused, match="is queued"):
        refuse_move(one, Status.IN_PROGRESS, unmet=(), standing="queued")


def test_what_is_paused_says_so_and_is_not_started() -> None:
    one, failed = task(Status.BACKLOG, 1, paused=True), task(Status.FAILED, 2, paused=True)
    for shown in (card(one, failed), card(failed, one)):
        assert (shown.standing, shown.ready, shown.others) == ("paused", False, ("unpause", "remove"))
        assert Status.IN_PROGRESS not in shown.moves and Status.CANCELLED in shown.moves
    assert head_of([one, failed], NOBODY).ready == 0
    # an approved task is only merged
    assert card(task(Status.VERIFIED, 1, paused=True)).standing == ""
    with pytest.raises(Refused, match="is paused"):
        refuse_move(one, Status.IN_PROGRESS, unmet=(), standing="paused")


def test_dependencies_are_shown_from_both_ends() -> None:
    first, second = task(Status.VERIFIED, 1), task(Status.IN_PROGRESS, 2)
    last = task(Status.BACKLOG, 3, depends_on=(1, 2, 9))
    shown = card(last, first, second)
    assert [(need.id, need.met) for need in shown.needs] == [(1, True), (2, False), (9, False)]
    assert shown.unmet == (2, 9) and shown.stuck and not shown.ready
    # who is done holds nobody up
    assert card(second, first, last).blocks == (3,) and card(first, second, last).blocks == ()
    assert near([first, second, last], {2}) == {2, 3}
    assert near([first, second, last], {3}) == {1, 2, 3, 9}


def test_the_backlog_is_in_the_order_of_a_run_and_what_is_over_has_the_newest_first(store: Store, project: str) -> None:
    for title, priority in (("low", 0), ("high", 5), ("low too", 0)):
        store.add_task(project, Spec(title, priority=priority), max_cycles=3, auto_review=True)
    columns = {column.name: column for column in board(store, project, NOBODY, by_status=True).columns}
    assert [one.id for one in columns[Status.BACKLOG].cards] == [2, 1, 3]
    assert columns[Status.FAILED].folded and not columns[Status.BLOCKED].folded
    old, new = (task(Status.COMPLETED, n, updated_at=f"2026-05-0{n}T12:00:00.000Z") for n in (1, 2))
    assert card(new).rank < card(old).rank


def test_every_status_of_a_real_store_has_its_card(store: Store, project: str) -> None:
    boards.varied(store, project, runner="feed")
    view = board(store, project, Holders(lambda runner: True), by_status=True)
    assert [column.name for column in view.columns] == list(ORDER)
    assert all(column.cards for column in view.columns)
    cards = {one.id: one for column in view.columns for one in column.cards}
    assert (cards[3].verdict, cards[3].tone, cards[3].why) == ("max cycles reached", "bad", "")
    assert (cards[7].why, cards[7].note) == ("agent missing", "codex is not installed.")
    assert (cards[2].verdict, cards[2].tone, cards[2].cost, cards[2].commit) == (
        "approved",
        "good",
        "$1.18",
        f"{2:040x}",
    )
    waiting = {(project, 3), (project, 7), ("another", 2)}
    head = head_of(store.tasks(project), Holders(lambda runner: True), waiting)
    assert (head.total, head.running, head.ready) == (16, 3, 4)
    # what the inbox has, and of this project: no count of its own
    asked = cards_of(store.tasks(project), Holders(lambda runner: True), waiting=waiting)
    assert head.needs_me == 2 and [one.id for one in asked if one.needs_me] == [3, 7]


def test_five_columns_hold_every_card_once_and_what_needs_a_person_is_in_one(store: Store, project: str) -> None:
    boards.varied(store, project, runner="feed")
    # task 10 is in progress, but interrupted; task 2 is approved, but cannot be merged
    waiting = {(project, number) for number in (2, 3, 4, 7, 10, 13)}
    view = board(store, project, Holders(lambda runner: True), waiting)
    ids = {column.name: sorted(one.id for one in column.cards) for column in view.columns}
    assert list(ids) == ["todo", "working", "needs", "ready", "done"]
    assert ids == {
        "todo": [5, 6, 14, 15, 16],
        "working": [11, 12],
        "needs": [2, 3, 4, 7, 10, 13],
        "ready": [],
        "done": [1, 8, 9],
    }
    cards = {one.id: one for column in view.columns for one in column.cards}
    chips = {
        3: "blocked: max cycles",
        4: "waiting approval",
        7: "failed: agent missing",
        8: "cancelled",
        1: "",
        5: "",
        11: "",
    }
    assert {number: cards[number].chip for number in chips} == chips
    assert {status for column in view.columns for status in column.statuses} == set(Status)


def test_projects_that_need_somebody_come_first(store: Store, project: str, tmp_path: Any) -> None:
    other = store.project_for(tmp_path / "zebra" / ".git", tmp_path / "zebra", create=True)
    assert other is not None
    boards.varied(store, other.key)
    store.add_task(project, Spec("One"), max_cycles=3, auto_review=True)
    lines = project_lines(store, store.projects(), NOBODY, {(other.key, 3)})
    assert [line.name for line in lines] == ["zebra", "app"]
    assert lines[1].counts == ((Status.BACKLOG, 1),) and lines[0].head.needs_me

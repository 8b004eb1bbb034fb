from __future__ import annotations

from dataclasses import replace

import pytest

from burnish.core.decision import ConvergenceState, Escalate, send_back
from burnish.core.gate import GateView
from burnish.core.review import UnseenFile
from burnish.core.status import Status
from burnish.core.task import Spec, Task
from burnish.tui.pages import TONES as PAGE_COLOURS
from burnish.tui.pages import gate_lines, outcome_words
from burnish.tui.project import BoardState
from burnish.tui.rows import COLOURS, age, inbox_rows, task_rows
from burnish.views.board import Holders, cards_of
from burnish.views.inbox import InboxEntry
from burnish.views.task_page.page import TONES


def test_every_file_that_no_reviewer_saw_is_listed() -> None:
    files = tuple(UnseenFile(f"logo-{number}.png", "image") for number in range(26))
    task = Task(id=1, project="p", spec=Spec("Add pictures"), status=Status.WAITING_APPROVAL)
    view = GateView(task, 1, "c" * 40, "approved", "fine", "", unseen_files=files)
    shown = "\n".join(line.text.plain for line in gate_lines(view, stale=False))
    assert all(f"{file.path}: image" in shown for file in files)


def test_what_the_reviewer_changed_itself_is_shown_before_a_decision() -> None:
    task = Task(id=1, project="p", spec=Spec("Add pictures"), status=Status.WAITING_APPROVAL)
    view = GateView(task, 1, "c" * 40, "approved", "fine", "", fixed="Closed the file.")
    shown = "\n".join(line.text.plain for line in gate_lines(view, stale=False))
    assert "by the reviewer: Closed the file." in shown


def test_an_approved_task_in_conflict_has_the_mark_of_a_blocked_one() -> None:
    tasks = [
        Task(id=number, project="p", spec=Spec("Add"), status=Status.VERIFIED, updated_at="2026-05-01T12:00:00+00:00")
        for number in (1, 2)
    ]
    cards = tuple(cards_of(tasks, Holders(lambda runner: False), waiting={("p", 1)}))
    entry = InboxEntry(tasks[0], "conflict", "conflicts with main", "", "burnish run 1")
    state = BoardState(cards, (entry,))
    lines = [line.text.plain for line in task_rows(state, "")(80) if line.key]
    assert [line.split()[:2] for line in lines] == [["!", "T1"], ["✓", "T2"]]
    heading, first, *_ = (line.text.plain for line in inbox_rows(state, "")(80))
    assert heading.split() == ["Stopped", "1"] and first.split()[:2] == ["!", "T1"]


def test_a_question_in_the_inbox_is_shown_as_one() -> None:
    note = "Do old entries stay valid?"
    task = Task(id=1, project="p", spec=Spec("Add"), status=Status.WAITING_APPROVAL, note=note)
    entry = InboxEntry(task, "waiting_approval", f"{note} approve, reject or fix", "", "burnish decide 1 approve")
    heading, first, second = (line.text.plain for line in inbox_rows(BoardState(entries=(entry,)), "")(80))
    assert heading.split() == ["Answer", "1"] and first.split()[-1] == "question"
    assert second.strip() == note


def test_a_row_of_the_inbox_begins_with_what_the_review_said() -> None:
    decision = send_back("Zero is not handled.", (), ConvergenceState(cycle=1, max_cycles=1))
    assert isinstance(decision, Escalate)
    spec = Spec("Add")
    task = Task(id=1, project="p", spec=spec, status=Status.WAITING_APPROVAL, note=decision.why, open_findings=1)
    entry = InboxEntry(task, "waiting_approval", f"{decision.why}: approve, reject or fix", "", "burnish decide 1")
    assert _row(entry) == "not approved: Zero is not handled."
    waived = replace(entry, task=replace(task, open_findings=0))
    assert _row(waived) == "no open finding; it said: Zero is not handled."


def test_rows_of_the_inbox_name_no_commands() -> None:
    task = Task(id=3, project="p", spec=Spec("Add"), status=Status.FAILED)
    why = "robot failed with exit code 1: the disk is full. Everything it printed: burnish log 3."
    assert _row(InboxEntry(task, "failed", why, "", "burnish retry 3")) == (
        "robot failed with exit code 1: the disk is full."
    )
    # it would say nothing else
    assert _row(InboxEntry(task, "failed", "Run burnish retry 3.", "", "")) == "Run burnish retry 3."


def _row(entry: InboxEntry) -> str:
    *_, row = (line.text.plain for line in inbox_rows(BoardState(entries=(entry,)), "")(120))
    return row.strip()


@pytest.mark.parametrize(
    ("elapsed", "words"),
    [("", ""), ("59s", "<1m"), ("4m59s", "4m"), ("2h05m", "2h05m"), ("47h59m", "47h59m"), ("49h00m", "2d")],
)
def test_an_age_has_no_more_digits_than_stay_true(elapsed: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnish.tui.rows.since", lambda moment: elapsed)
    assert age("2026-05-01T12:00:00+00:00") == words


@pytest.mark.parametrize(
    ("verdict", "review", "words"),
    [
        ("approved", "review passed", "review passed"),
        ("approved", "review failed", "sent back by a person"),
        ("changes_requested", "review failed", "review failed"),
        ("changes_requested", "review passed", "approved by a person"),
        ("needs_discussion", "review rejected", "rejected by a person"),
        ("rejected", "review rejected", "review rejected"),
        ("", "", ""),
    ],
)
def test_what_a_person_decided_is_not_called_a_result_of_the_review(verdict: str, review: str, words: str) -> None:
    assert outcome_words(verdict, review) == words
    # an approval that does not count by itself is nobody's decision
    assert outcome_words("approved", "review failed", "no reviewer looked at one file") == "review failed"


def test_a_status_has_the_same_colour_on_the_page_and_in_the_list() -> None:
    for status in (Status.BLOCKED, Status.FAILED, Status.VERIFIED):
        assert PAGE_COLOURS[TONES[status]] == COLOURS[status]

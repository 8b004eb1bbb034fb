from __future__ import annotations

from burnish.core.gate import GateView
from burnish.core.review import UnseenFile
from burnish.core.status import Status
from burnish.core.task import Spec, Task
from burnish.tui.pages import TONES as PAGE_COLOURS
from burnish.tui.pages import gate_lines
from burnish.tui.project import BoardState
from burnish.tui.rows import COLOURS, inbox_rows, task_rows
from burnish.views.board import Holders, cards_of
from burnish.views.inbox import InboxEntry
from burnish.views.task_page.page import TONES


def test_every_file_that_no_reviewer_saw_is_listed() -> None:
    files = tuple(UnseenFile(f"logo-{number}.png", "image") for number in range(26))
    task = Task(id=1, project="p", spec=Spec("Add pictures"), status=Status.WAITING_APPROVAL)
    view = GateView(task, 1, "c" * 40, "approved", "fine", "", unseen_files=files)
    shown = "\n".join(line.text.plain for line in gate_lines(view, stale=False))
    assert all(f"{file.path}: image" in shown for file in files)


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


def test_a_status_has_the_same_colour_on_the_page_and_in_the_list() -> None:
    for status in (Status.BLOCKED, Status.FAILED, Status.VERIFIED):
        assert PAGE_COLOURS[TONES[status]] == COLOURS[status]

"""Questions and notices in front of the screen: what was typed is not lost, and what is refused has its reason."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual import events

from burnish.core.status import Status
from burnish.tui.project import ProjectData
from testing import boards
from testing.byhand import ADDS_A_LINE
from testing.lab import APPROVE, REJECT, Lab
from testing.screens import Screen, on_screen

WIDE = (140, 40)


def at_the_gate(tmp_path: Path, judge: str = APPROVE, extra: str = "approval: required\n", count: int = 1) -> Lab:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=judge, extra=extra)
    for number in range(count):
        lab.add(f"Add division {number + 1}", "--max-cycles", "1")
    lab.burnish("run", "--all", code=None)
    return lab


def test_a_note_that_is_typed_while_the_task_is_read_is_in_its_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = at_the_gate(tmp_path, count=2)
    may_go_on = threading.Event()
    may_go_on.set()
    read = ProjectData.details

    def slow(self: ProjectData, *args: Any) -> Any:
        assert may_go_on.wait(30)
        return read(self, *args)

    monkeypatch.setattr(ProjectData, "details", slow)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        may_go_on.clear()
        await screen.press("n", "f")
        await screen.until("Esc cancels.")
        # Enter sends nothing that early
        for key in (*"guard", "space", *"it", "enter"):
            screen.app.post_message(events.Key(key, {"enter": None, "space": " "}.get(key, key)))
        await screen.pilot.pause()
        may_go_on.set()
        await screen.until("guard it")
        await screen.until("Describe what to fix")

    on_screen(lab, act, size=WIDE)
    assert lab.show(2)["status"] == "waiting_approval"


def test_a_text_that_escape_left_behind_is_in_the_box_the_next_time(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, count=2)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("r")
        await screen.until_focused("note")
        await screen.type("not like this")
        await screen.press("escape")
        await screen.until(lambda: "not like this" not in screen.text)
        await screen.press("n", "r")
        await screen.until("Reject: T2")
        assert "not like this" not in screen.text
        await screen.press("escape", "1")
        await screen.until(lambda: "Reject: T2" not in screen.text)
        await screen.press("k", "r")
        await screen.until("not like this")
        await screen.press("enter")
        await screen.until("Rejected task 1")

    on_screen(lab, act, size=WIDE)
    assert lab.show(1)["note"] == "not like this"


def test_a_letter_that_answers_nothing_is_told_which_ones_do(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("a")
        await screen.until("Press y or n. Esc cancels.")
        await screen.press("x")
        await screen.until("x answers nothing here. Press y or n. Esc cancels.")

    on_screen(lab, act, size=WIDE)


def test_a_limit_that_is_not_a_number_stays_in_its_box(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE)
    lab.add("Add division")
    store, key = boards.open_store(lab)
    note = "It has used $1.00 of $1.00 (budget.task_usd)."
    boards.bring(store, key, 1, Status.BLOCKED, cost=1.0, reason="budget", note=note)
    store.close()

    async def act(screen: Screen) -> None:
        await screen.until("g Raise and retry")
        await screen.press("g")
        await screen.until("The new limit in USD:")
        await screen.type("x")
        await screen.press("enter")
        await screen.until("'2.00x' is not a number: type one such as 12.50. Esc cancels.")
        await screen.press(*["backspace"] * 5, "0", "enter")
        await screen.until("The limit must be more than 0.")

    on_screen(lab, act, size=WIDE)


def test_reasons_name_what_the_approval_goes_against(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)
    lab.burnish("decide", "1", "reject")

    async def act(screen: Screen) -> None:
        await screen.until("a Override")
        await screen.press("a")
        await screen.until("A person has rejected it. Tick what is true:")
        await screen.type("I was wrong")
        await screen.press("enter")
        await screen.until("Approved task 1 with your reasons: it is verified.")

    on_screen(lab, act, size=WIDE)


def test_skipping_is_offered_only_where_the_review_has_not_approved(tmp_path: Path) -> None:
    extra = "hitl_review: final\nreview: {agents: [judge], required: false}\n"
    lab = at_the_gate(tmp_path, extra=extra)

    async def act(screen: Screen) -> None:
        await screen.until("a Approve")
        assert "s Skip" not in screen.text
        await screen.press("s")
        await screen.until("s: the review has approved the change, so there is nothing to skip.")

    on_screen(lab, act, size=WIDE)


def test_an_act_that_cannot_be_undone_is_named(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("z")
        await screen.until("There is no act that can be undone.")
        await screen.press("r")
        await screen.until_focused("note")
        await screen.press("enter")
        await screen.until("Rejected task 1")
        await screen.press("z")
        await screen.until("Reject cannot be undone.")

    on_screen(lab, act, size=WIDE)


def test_what_is_said_behind_a_box_is_there_when_it_is_closed(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, REJECT, "hitl_review: final\nreview: {agents: [judge]}\n")

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("a")
        await screen.until("This goes against the review.")
        screen.app.say("Task 2 is approved.", is_brief=True)
        await screen.press("space", "escape")
        await screen.until("a Approve")
        assert "Task 2 is approved." in screen.text
        await screen.press("j")
        await screen.until(lambda: "Task 2 is approved." not in screen.text)

    on_screen(lab, act, size=WIDE)


def test_merge_all_lists_the_tasks_in_the_order_in_which_they_are_merged(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE, extra="approval: required\n")
    for number in (1, 2, 3):
        lab.add(f"Add division {number}", "--max-cycles", "1")
    lab.burnish("run", "--all", code=None)
    for number in (3, 1, 2):
        lab.burnish("decide", str(number), "approve")

    async def act(screen: Screen) -> None:
        await screen.until("M Merge all 3")
        await screen.press("M")
        await screen.until_focused("choices")
        places = [screen.text.index(f"│ T{number} Add division {number} ") for number in (1, 2, 3)]
        assert places == sorted(places)

    on_screen(lab, act, size=(140, 40))


def test_merge_all_names_the_first_task_that_was_skipped_and_the_key_that_goes_there(tmp_path: Path) -> None:
    author = "pathlib.Path('same.py').write_text(f'A = {task}\\n')"
    lab = Lab.make(tmp_path, author=author, judge=APPROVE, extra="approval: required\n")
    for number in (1, 2, 3, 4):
        lab.add(f"Add division {number}", "--max-cycles", "1")
    lab.burnish("run", "--all", code=None)
    for number in (2, 3, 4):
        lab.burnish("decide", str(number), "approve")

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        screen.app.action_open_task(4)
        await screen.until("M Merge all 3")
        await screen.press("M")
        await screen.until_focused("choices")
        await screen.press("y")
        await screen.until("Not merged: T3, T4.")
        await screen.until("n: T3")
        # the first of the inbox is another one
        await screen.until(lambda: screen.app.waiting_ids[0] == 1)
        await screen.press("n")
        await screen.until(lambda: screen.app.number == 3)

    on_screen(lab, act, size=(140, 40))


def test_a_task_that_a_message_names_is_gone_to_once(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, count=2)

    async def act(screen: Screen) -> None:
        await screen.press("j", "k")
        await screen.until("Enter Open")
        # the selected one, which is not on the screen yet
        screen.app.say("Not merged: T1.")
        screen.app.named_next = screen.app.number
        await screen.until("Not merged: T1.")
        await screen.press("n")
        await screen.until("Verdict")
        assert screen.app.number == 1
        await screen.press("n")
        await screen.until(lambda: screen.app.number == 2)

    on_screen(lab, act)


def test_a_tag_that_is_typed_is_one_more(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add("Add division", "--tag", "math")

    async def act(screen: Screen) -> None:
        await screen.until("It is ready to be started.")
        await screen.press("ctrl+p")
        await screen.type("tags")
        await screen.press("enter")
        await screen.until("Words with spaces between them")
        await screen.type("later")
        await screen.press("enter")
        await screen.until("Tags of task 1: math, later.")

    on_screen(lab, act, size=WIDE)


def test_escape_that_is_typed_before_the_box_is_there_closes_it(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, REJECT, "hitl_review: final\nreview: {agents: [judge]}\n")

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        for key in ("a", "escape", "i"):
            screen.app.post_message(events.Key(key, key if len(key) == 1 else None))
        # the key behind it is one for the screen
        await screen.until("by judge")
        assert not screen.app.screen.is_modal

    on_screen(lab, act, size=WIDE)


def test_next_that_is_pressed_before_the_inbox_is_read_leads_there_when_it_is(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, count=2)

    async def act(screen: Screen) -> None:
        screen.app.board = replace(screen.app.board, has_inbox=False)
        await screen.press("n")
        await screen.until("Reading the inbox…")
        screen.app._load_state()
        await screen.until("T2 Add division 2")
        await screen.until(lambda: screen.app.number == 2)
        assert "Reading the inbox…" not in screen.text

    on_screen(lab, act, size=WIDE)

"""What a person sees after each key: where the cursor is, what comes next, and that nothing that was typed is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from burnish.tui.lines import Bar, BarItem
from testing.lab import REJECT, Lab
from testing.screens import Screen, on_screen

WIDE = (140, 40)
TWO_FILES = "[pathlib.Path(name).write_text('A = 1\\n') for name in ('one.py', 'two.py')]"


def at_the_gate(tmp_path: Path, count: int = 1) -> Lab:
    """Tasks that change two files each and wait for a person."""
    lab = Lab.make(tmp_path, author=TWO_FILES, extra="approval: required\n")
    for number in range(1, count + 1):
        lab.add(f"Task {number}")
    lab.burnish("run", "--all", code=1)
    return lab


def test_spaces_that_are_typed_fast_belong_to_the_explanation(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=REJECT, extra="hitl_review: final\nreview: {agents: [judge]}\n")
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)

    async def act(screen: Screen) -> None:
        await screen.until("Approving goes against the review")
        await screen.press("a")
        await screen.until_focused("questions")
        # as a terminal sends them: all at once
        for letter in "it is old":
            screen.app.post_message(events.Key("space" if letter == " " else letter, letter))
        await screen.until("it is old")
        assert "[x]" not in screen.text
        await screen.press("escape", "a")
        await screen.until_focused("questions")
        screen.app.post_message(events.Paste("a text that is pasted"))
        await screen.until("a text that is pasted")

    on_screen(lab, act, size=WIDE)


def test_files_at_the_end_of_a_page_can_be_reached(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("d")
        await screen.until("two.py")
        assert "V viewed" in screen.text
        # the page is too short to be scrolled
        for place in ("1/2 one.py", "2/2 two.py"):
            await screen.press("right_square_bracket")
            await screen.until(place)
        await screen.press("right_square_bracket")
        await screen.until("There is no further file on this page.")
        await screen.press("left_square_bracket")
        await screen.until("1/2 one.py")

    on_screen(lab, act, size=WIDE)


def test_next_goes_on_to_what_is_ready_if_the_only_task_that_waits_is_left_for_later(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, 2)
    lab.burnish("decide", "2", "approve")

    async def act(screen: Screen) -> None:
        await screen.press("n")
        await screen.until("T1 Task 1")
        await screen.press("n")
        await screen.until("T2 Task 2")

    on_screen(lab, act)


def test_tasks_that_need_a_person_are_in_the_order_of_the_inbox(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, 2)
    # task 1 waits again, since now
    lab.burnish("decide", "1", "fix", "-m", "Once more")
    lab.burnish("run", "1", code=1)

    async def act(screen: Screen) -> None:
        await screen.until(lambda: screen.app.waiting_ids == [2, 1])
        await screen.until(lambda: 0 < screen.text.find("T2   Task 2") < screen.text.find("T1   Task 1"))
        await screen.press("n")
        await screen.until("T2 Task 2")

    on_screen(lab, act)


def test_a_name_that_is_too_long_for_a_bar_is_shortened(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)

    async def act(screen: Screen) -> None:
        bar = screen.app.query_one("#top", Bar)
        bar.kept = 30
        bar.show([BarItem("A long name " * 20), BarItem("1 Tasks")], "state")
        await screen.until("A long name A long")
        first = screen.text.split("\n")[0]
        assert "…" in first and "1 Tasks" in first and first.endswith("state")

    on_screen(lab, act)


def test_the_hint_comes_back_when_the_text_that_was_missing_is_typed(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.press("enter")
        await screen.until("a Approve")
        await screen.press("f")
        await screen.until_focused("note")
        await screen.press("enter")
        await screen.until("A text is needed.")
        await screen.type("no")
        await screen.until("Enter sends")

    on_screen(lab, act)


def test_the_palette_fits_a_small_screen_and_shows_the_keys(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.press("enter")
        await screen.until("a Approve")
        await screen.press("ctrl+p")
        await screen.until("a       Approve")
        assert "Commands" in screen.text and "Type to search" in screen.text

    on_screen(lab, act)


@pytest.mark.parametrize("size", [(80, 24), WIDE])
def test_in_the_view_of_agents_a_key_for_one_task_says_how_to_open_one(tmp_path: Path, size: tuple[int, int]) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("2 Inbox 1")
        await screen.press("3")
        await screen.until("No agent is at work. 1 shows the tasks")
        await screen.press("g")
        await screen.until("g: not in this view.")
        await screen.press("1")
        await screen.until(lambda: "not in this view" not in screen.text)

    on_screen(lab, act, size=size)

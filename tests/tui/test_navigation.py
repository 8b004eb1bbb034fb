"""What a person sees after each key: where the cursor is, what comes next, and that nothing that was typed is lost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.widget import Widget

from burnish.core.status import Status
from burnish.errors import BadInput
from burnish.features.run.detach import RunProcess, ScreenRun
from burnish.tui import pages
from burnish.tui.dialogs import Choice, ChooseDialog, NoticeDialog
from burnish.tui.fields import Bar, BarItem
from burnish.tui.lines import ShownLine
from burnish.tui.panes import TaskPane
from burnish.tui.project import TaskDetails
from burnish.views.task_page.story import CycleStory, Moment
from testing import boards
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
        await screen.until_focused("note")
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


def test_a_run_is_checked_and_started_when_its_screen_is_drawn(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add("Add division")
    is_drawn, started = threading.Event(), []

    def check() -> Callable[[], RunProcess]:
        assert is_drawn.wait(60)
        started.append("checked")
        raise BadInput("It is refused.", hint="Run it otherwise.")

    async def act(screen: Screen) -> None:
        await screen.until("Add division")
        await screen.until("run starts")
        assert not started
        is_drawn.set()
        # the command reports the refusal when the screen is closed
        await screen.until(lambda: not screen.app.is_running or run.is_over)

    run = ScreenRun(check)
    on_screen(lab, act, run=run)
    assert started and run.process is None
    assert run.refusal is not None and run.refusal.what == "It is refused."


def test_the_screen_of_a_run_selects_its_first_task_and_keeps_it_in_sight(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    for number in range(1, 41):
        lab.add(f"Add part {number:02}")
    may_go_on = threading.Event()

    def check() -> Callable[[], RunProcess]:
        assert may_go_on.wait(60)
        raise BadInput("It is refused.")

    async def act(screen: Screen) -> None:
        await screen.until("Add part 35")
        assert screen.app.number == 35
        # it moves to another group of the list: it is still selected, and on the screen
        lab.burnish("run", "35", code=None)
        await screen.until(lambda: next(c for c in screen.app.board.cards if c.id == 35).group != "todo")
        await screen.until("Add part 35")
        assert screen.app.number == 35
        may_go_on.set()

    on_screen(lab, act, run=ScreenRun(check, ids=(99, 35, 36)))


def test_a_run_that_is_interrupted_before_its_start_is_not_started(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add("Add division")
    may_go_on, started = threading.Event(), []

    def start() -> RunProcess:
        started.append("started")
        raise AssertionError

    def check() -> Callable[[], RunProcess]:
        assert may_go_on.wait(60)
        return start

    async def act(screen: Screen) -> None:
        await screen.until("run starts")
        await screen.press("ctrl+c")
        await screen.until("The run is not started.")
        may_go_on.set()
        await screen.until(lambda: run.is_over)

    run = ScreenRun(check)
    on_screen(lab, act, run=run)
    assert not started and run.process is None and run.refusal is None


def test_a_finding_is_found_in_the_diff_and_on_its_own_page(tmp_path: Path) -> None:
    files = "[pathlib.Path(f'file_{n:02}.py').write_text('A = 1\\n' * 9) for n in range(20)]"
    judge = REJECT.replace("[flaw]", "[{**flaw, 'file': 'file_15.py', 'line': 3}]")
    lab = Lab.make(tmp_path, author=files, judge=judge, extra="hitl_review: final\nreview: {agents: [judge]}\n")
    lab.add("Add files", "--max-cycles", "1")
    lab.burnish("run", code=1)

    async def act(screen: Screen) -> None:
        await screen.press("enter")
        await screen.until("Findings 1")
        await screen.press("i")
        await screen.until("by judge")
        # the first line of the page is a finding: it is marked, not passed over
        await screen.press("full_stop")
        assert screen.app.pane.marked_finding == "finding:F1"
        await screen.press("d")
        await screen.until("16/20 file_15.py")
        assert "F1 error" in screen.text and screen.app.pane.marked_finding == "finding:F1"
        await screen.press("i")
        await screen.until("by judge")
        assert screen.app.pane.marked_finding == "finding:F1"
        # without a mark, the first one that is on the page
        await screen.press("o", "i")
        await screen.until("by judge")
        assert not screen.app.pane.marked_finding
        await screen.press("enter")
        await screen.until("16/20 file_15.py")
        assert screen.app.pane.marked_finding == "finding:F1"

    on_screen(lab, act)


def test_the_wheel_takes_the_cursor_of_a_list_with_it(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    for number in range(60):
        lab.add(f"Task {number}")

    async def act(screen: Screen) -> None:
        await screen.until("T2   Task 1")
        picks = screen.app.picks
        first = picks.key
        for kind, step in ((events.MouseScrollDown, 1), (events.MouseScrollUp, -1)):
            for _ in range(12):
                screen.app.screen.post_message(wheel(kind, picks, step))
                await screen.pilot.pause()
            row = [line.key for line in picks.lines].index(picks.key)
            await screen.until(lambda row=row: picks.scroll_y <= row < picks.scroll_y + picks.size.height)
            assert (picks.key != first) == (step == 1) or picks.scroll_y == 0
            await screen.press("j")
            assert abs([line.key for line in picks.lines].index(picks.key) - row) == 1

    on_screen(lab, act)


def wheel(kind: type[events.MouseEvent], view: Widget, step: int) -> events.MouseEvent:
    return kind(view, 5, 5, 0, step, 0, False, False, False, screen_x=5, screen_y=5)


def test_a_task_that_arrives_above_does_not_change_what_is_next(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    for number in range(1, 7):
        lab.add(f"Task {number}")
    for number in (3, 4, 5):
        lab.burnish("pause", str(number))
    store, key = boards.open_store(lab)
    for number in (1, 2):
        boards.bring(store, key, number, Status.WAITING_APPROVAL)

    async def act(screen: Screen) -> None:
        await screen.until("2 Inbox 5")
        screen.app.action_open_task(3)
        await screen.until("p Unpause")
        await screen.press("p")
        await screen.until("2 Inbox 4")
        boards.bring(store, key, 6, Status.WAITING_APPROVAL)
        await screen.until("2 Inbox 5")
        await screen.press("n")
        await screen.until("T4 Task 4")

    on_screen(lab, act)
    store.close()


def test_ages_in_the_inbox_change_while_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = at_the_gate(tmp_path)
    monkeypatch.setattr("burnish.tui.screen._AGE_SECONDS", 0.0)
    monkeypatch.setattr("burnish.tui.rows.since", lambda moment: ages[0])
    ages = ["4m59s"]

    async def act(screen: Screen) -> None:
        await screen.press("2")
        await screen.until("waits for approval  4m")
        ages[0] = "5m00s"
        await screen.until("waits for approval  5m")

    on_screen(lab, act)


def test_only_what_changed_since_the_review_is_shown_for_one_task(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, 2)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("u")
        await screen.until("no earlier commit was reviewed: this is all of it")
        await screen.press("u")
        await screen.until("The diff shows the whole change.")
        await screen.press("u", "n")
        await screen.until("T2 Task 2")
        await screen.until("Verdict")
        await screen.press("d")
        await screen.until("2 files  +2 -0")
        assert "earlier review" not in screen.text

    on_screen(lab, act, size=WIDE)


def test_a_page_stays_where_it_was_read_when_lines_above_are_folded() -> None:
    def page(is_folded: bool) -> list[ShownLine]:
        lines = []
        for number in range(4):
            count = 0 if is_folded and number < 2 else 30
            lines.append(ShownLine(Text(f"file {number}"), key=f"file:{number}"))
            lines += [ShownLine(Text(f"{number}: line {at}")) for at in range(count)]
        return lines

    class OnePage(App[None]):
        def compose(self) -> ComposeResult:
            yield TaskPane(id="task")

    async def read() -> None:
        app = OnePage()
        async with app.run_test(size=(80, 24)) as pilot:
            pane = app.query_one(TaskPane)
            pane.query_one("#tabs").styles.height = 1
            pane.draw(page(is_folded=False), 1)
            await pilot.pause()
            pane.page.jump(2 * 31 + 6)
            assert pane.page.lines[pane.page.top_line()].text.plain == "2: line 5"
            pane.draw(page(is_folded=True), 2)
            await pilot.pause()
            assert pane.page.lines[pane.page.top_line()].text.plain == "2: line 5"

    asyncio.run(read())


def test_keys_that_are_typed_fast_after_a_filter_belong_to_the_list(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, 3)

    async def act(screen: Screen) -> None:
        await screen.press("end", "slash")
        await screen.until_focused("filter")
        await screen.until("Enter To the list  Esc No filter")
        # while a status is being typed, the selected task stays
        for letter in "status:wait":
            screen.app.post_message(events.Key("colon" if letter == ":" else letter, letter))
        for key in ("enter", "enter", "d"):
            screen.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await screen.until("2 files  +2 -0")
        await screen.until("T3 Task 3")
        assert screen.app.filter_text == "status:wait"
        await screen.press("escape")
        await screen.until("Esc No filter")
        await screen.press("escape")
        await screen.until(lambda: not screen.app.filter_text and "Esc No filter" not in screen.text)

    on_screen(lab, act)


def test_slash_filters_a_list_and_searches_a_page(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, 2)

    async def act(screen: Screen) -> None:
        await screen.press("slash")
        await screen.until_focused("filter")
        await screen.type("2")
        await screen.until(lambda: "T2   Task 2" in screen.text and "T1   Task 1" not in screen.text)
        await screen.press("escape")
        await screen.until("T1   Task 1")
        await screen.press("enter", "d")
        await screen.until("+ A = 1")
        await screen.press("slash")
        await screen.until_focused("find")
        await screen.until("Enter Next  ↑ The one before  Esc Ends the search")
        await screen.press(*"two")
        await screen.until("1 of 2 lines")
        page = screen.app.pane.page
        places = [page.place]
        for key in ("enter", "up", "down", "enter"):
            await screen.press(key)
            await screen.until(lambda: page.place != places[-1])
            places.append(page.place)
        # the words have a style of their own in all lines
        rows = [strip for strip in page.render_lines(page.size.region) if "two" in strip.text]
        assert [[part.text for part in row if part.text == "two"] for row in rows] == [["two"]] * 2
        # the file in the list of files, and its heading
        first, second = places[:2]
        assert places == [first, second, first, second, first] and second
        await screen.press(*"zzz")
        await screen.until("No line has these words.")
        await screen.press("escape")
        await screen.until_focused("page")
        await screen.until("a Approve")
        await screen.until(lambda: "No line has these words." not in screen.text)
        assert not [part for strip in page.render_lines(page.size.region) for part in strip if part.text == "two"]

    on_screen(lab, act)


def test_the_palette_finds_commands_by_their_names_alone(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("ctrl+p")
        await screen.until("Blocks the task; nothing is merged.")
        # it cannot be merged: another command must not be there in its place
        await screen.type("merge")
        await screen.until("Nothing that is possible now matches.")
        await screen.press("enter")
        assert "Type" not in screen.text and "Nothing that is possible now matches." in screen.text

    on_screen(lab, act, size=WIDE)


def test_a_question_with_more_lines_than_rows_says_how_many_are_missing(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        words = "\n".join(f"line {number}" for number in range(30))
        screen.app.push_screen(ChooseDialog("Merge all", [Choice("yes", "Merge all", "y")], words))
        await screen.until("and 17 more")
        assert "line 12" in screen.text and "line 13" not in screen.text and "y       Merge all" in screen.text

    on_screen(lab, act)


def test_what_is_said_below_an_entry_is_on_the_screen_with_it(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, 3)

    async def act(screen: Screen) -> None:
        await screen.press("2")
        await screen.until("Decide 3")
        await screen.press("end")
        await screen.until(lambda: screen.text.count("a person is to approve it") == 3)

    on_screen(lab, act, size=(80, 8))


def test_times_are_those_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = (Moment("2026-05-01T23:30:00+00:00", "Implement"),)
    cycle = CycleStory(1, "", "", "", "", "", "", moments)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        day, (line, *_) = pages._day(cycle.moments), list(pages._cycle(cycle, (), cast(TaskDetails, None)))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (day.strip(), line.lead.plain.strip()) == ("2026-05-02", "08:30")


def test_a_question_stays_complete_when_the_terminal_becomes_narrow(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.press("enter")
        await screen.until("a Approve")
        await screen.press("a")
        await screen.until("so nothing was tested.")
        await screen.pilot.resize_terminal(40, 20)
        await screen.until(lambda: "so nothing was tested" in screen.text.split("Do nothing")[0])
        await screen.pilot.resize_terminal(120, 40)
        await screen.until("No tests are configured or found, so nothing was tested.")
        await screen.press("n")

    on_screen(lab, act)


def test_the_mouse_opens_a_task_its_pages_and_an_answer(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, 2)

    async def click(screen: Screen, words: str) -> None:
        """On the first of these words."""
        rows = screen.text.split("\n")
        y = next(y for y, row in enumerate(rows) if words in row)
        await screen.pilot.click(offset=(rows[y].index(words) + 1, y))
        await screen.pilot.pause()

    async def act(screen: Screen) -> None:
        await click(screen, "T2   Task 2")
        await click(screen, "T2   Task 2")
        await screen.until("a Approve")
        await click(screen, "d Diff")
        await screen.until("── two.py")
        await click(screen, "   two.py")
        await screen.until("2/2 two.py")
        await click(screen, "a Approve")
        await screen.until("Do nothing")
        await click(screen, "Do nothing")
        await screen.until(lambda: "Do nothing" not in screen.text)
        await click(screen, "2 Inbox")
        await screen.until("Decide 2")

    on_screen(lab, act)
    assert lab.task(2)["status"] == "waiting_approval"


def test_u_is_answered_with_its_diff_and_not_offered_before_a_second_review(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, 2)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("d")
        await screen.until("[ ] file · V viewed · e comment")
        assert screen.app.diff
        await screen.press("u")
        await screen.until("No earlier commit was reviewed: the diff shows the whole change.")
        assert "this is all of it" in screen.text
        # a file of this diff is not marked for another task
        await screen.press("n")
        await screen.until("T2 Task 2")
        assert screen.app.diff is None

    on_screen(lab, act, size=WIDE)


def test_many_findings_are_searched_for_one_to_waive_from_the_marked_one_on(tmp_path: Path) -> None:
    judge = """flaws = [{**flaw, "title": f"Number {n} is unclear", "line": n} for n in range(1, 13)]
app_lines = "x = 1\\n" * 20
print(verdict("changes_requested", "not yet", flaws))
"""
    lab = Lab.make(tmp_path, judge=judge, extra="hitl_review: final\nreview: {agents: [judge]}\n")
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("i")
        await screen.until(lambda: len(screen.app.pane.page.lines) > 12)
        await screen.press(".", ".", "w")
        await screen.until_focused("search")
        await screen.until("F1 ")
        marked = screen.app.pane.marked_finding.removeprefix("finding:")
        await screen.press("enter")
        await screen.until(f"Waive {marked} of T1:")
        await screen.press("escape", "w")
        await screen.until_focused("search")
        await screen.type("number 9")
        await screen.press("enter")
        await screen.until("Why is it acceptable?")
        assert "Number 9 is unclear" in screen.text

    on_screen(lab, act, size=WIDE)


@pytest.mark.parametrize("keys", [["n", "n"], ["n", "enter"], ["escape", "escape"], [*"xplan", "enter"]])
def test_the_first_answer_counts_however_fast_keys_are_typed(tmp_path: Path, keys: list[str]) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("a")
        await screen.until("Approve commit")
        for key in keys:
            screen.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await screen.until(lambda: "Approve commit" not in screen.text)
        await screen.press("question_mark")
        await screen.until("Keys")
        assert not screen.app.pending

    on_screen(lab, act, size=WIDE)
    assert lab.show(1)["status"] == "waiting_approval"


def test_a_text_that_is_typed_at_a_question_decides_nothing(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("a")
        await screen.until("Approve commit")
        await screen.press(*"old", "enter")
        await screen.until(lambda: "Approve commit" not in screen.text)
        await screen.press("a", "enter")
        await screen.until("Approved task 1")

    on_screen(lab, act, size=WIDE)


def test_letters_that_are_typed_at_once_belong_to_the_box_that_the_first_one_opens(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        for key in (*"fcheck", "space", *"it", "enter"):
            screen.app.post_message(events.Key(key, {"enter": None, "space": " "}.get(key, key)))
        await screen.until("check it")
        await screen.press("escape")
        await screen.until("a Approve")
        # nothing that was not seen is decided
        for key in "ay":
            screen.app.post_message(events.Key(key, key))
        await screen.until("Approve commit")
        await screen.press("n")
        await screen.until(lambda: "Approve commit" not in screen.text)
        for key in "/zzz":
            screen.app.post_message(events.Key("slash" if key == "/" else key, key))
        await screen.until("No task matches 'zzz'")

    on_screen(lab, act, size=WIDE)
    assert lab.show(1)["status"] == "waiting_approval"


def test_next_stays_in_what_the_filter_shows_and_then_ends_the_filter(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, 3)
    lab.burnish("edit", "2", "--tag", "late")
    lab.burnish("edit", "3", "--tag", "late")

    async def act(screen: Screen) -> None:
        await screen.press("2", "slash")
        await screen.until_focused("filter")
        await screen.type("late")
        # the first match is selected
        await screen.until(lambda: screen.app.number == 2)
        await screen.press("enter", "n")
        await screen.until("T2 Task 2")
        await screen.press("n")
        await screen.until("T3 Task 3")
        await screen.press("n")
        await screen.until("T2 Task 2")
        await screen.press("a", "y")
        await screen.until("Approved task 2")
        await screen.press("n")
        await screen.until("T3 Task 3")
        await screen.press("a", "y")
        await screen.until("Approved task 3")
        await screen.press("n")
        await screen.until("T1 Task 1")
        await screen.until("The filter shows nothing else that waits for you: it is ended.")
        # still the inbox
        assert (screen.app.view, screen.app.filter_text) == ("inbox", "")

    on_screen(lab, act)


def test_another_list_shows_the_selected_task(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path, 12)
    lab.burnish("decide", "1", "approve")

    async def act(screen: Screen) -> None:
        await screen.press("end")
        await screen.until(lambda: screen.app.number == 1)
        await screen.press("2")
        await screen.until(lambda: screen.app.view == "inbox" and "T1   Task 1 " in screen.text)
        assert screen.app.number == 1

    on_screen(lab, act)


def test_a_search_that_is_typed_while_a_diff_is_read_goes_on_in_it(tmp_path: Path) -> None:
    lab = at_the_gate(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("enter")
        await screen.until_focused("page")
        for key in ("d", "slash", *"two"):
            screen.app.post_message(events.Key(key, "/" if key == "slash" else key))
        await screen.until("1 of 2 lines")

    on_screen(lab, act, size=WIDE)


def test_messages_keep_the_spaces_that_they_are_about(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add("Add division")

    async def act(screen: Screen) -> None:
        screen.app.say("It is 'a   b'.", "Expected '+    b'.")
        await screen.until("It is 'a   b'.  Expected '+    b'.")
        screen.app.push_screen(NoticeDialog("It is 'c   d'.", "Expected '+    d'."))
        await screen.until("It is 'c   d'.")
        await screen.until("Expected '+    d'.")

    on_screen(lab, act)

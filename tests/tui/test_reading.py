"""Reading a change: viewed files, searches, what is not committed, and colours on any background."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from burnish.tui.acts import without_commands
from burnish.tui.lines import LineView, ShownLine, styled
from burnish.tui.pages import _coloured
from burnish.tui.panes import LivePane
from testing.lab import APPROVE, Lab
from testing.screens import Screen, on_screen

WIDE = (140, 40)
TWO_FILES = """for name in ("one", "two", "ten"):
    pathlib.Path(f"{name}.py").write_text(f"{name} = 1\\n")
print("Done.")
"""


def with_three_files(tmp_path: Path) -> Lab:
    lab = Lab.make(tmp_path, author=TWO_FILES, judge=APPROVE, extra="approval: required\n")
    lab.add("Add three files", "--max-cycles", "1")
    lab.burnish("run", code=1)
    return lab


def test_a_viewed_file_that_was_gone_to_is_shown_again_and_none_is_marked_unseen(tmp_path: Path) -> None:
    lab = with_three_files(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("d")
        await screen.until("one = 1")
        await screen.press("V")
        await screen.until("Viewed one.py. 1 of 3.")
        await screen.until(lambda: "one = 1" not in screen.text)
        await screen.press("left_square_bracket", "V")
        await screen.until("Not viewed: one.py.")
        await screen.until("one = 1")
        assert "ten = 1" in screen.text and "two = 1" in screen.text
        await screen.press("z")
        await screen.until(lambda: "one = 1" not in screen.text)
        # past the last one nothing is unfolded
        await screen.press("V")
        await screen.until("2 of 3.")
        await screen.press("V")
        await screen.until("3 of 3.")
        await screen.press("V")
        await screen.until("All files are viewed.")

    on_screen(lab, act, size=WIDE)


def test_a_search_tells_how_many_lines_of_folded_files_have_the_words(tmp_path: Path) -> None:
    lab = with_three_files(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("d")
        await screen.until("one = 1")
        await screen.press("V")
        await screen.until("Viewed one.py. 1 of 3.")
        await screen.until(lambda: "one = 1" not in screen.text)
        await screen.press("slash")
        await screen.type("= 1")
        await screen.until("1 of 2 lines  1 more in viewed files, which are folded")

    on_screen(lab, act, size=WIDE)


def test_a_search_unfolds_viewed_files_and_goes_to_their_lines(tmp_path: Path) -> None:
    lab = with_three_files(tmp_path)

    async def act(screen: Screen) -> None:
        def marked() -> str:
            page = screen.app.pane.page
            return page.lines[page.place].text.plain if page.place is not None else ""

        await screen.until("Verdict")
        await screen.press("d")
        await screen.until("one = 1")
        await screen.press("right_square_bracket", "right_square_bracket", "V")
        await screen.until(lambda: "ten = 1" not in screen.text or "two = 1" not in screen.text)
        await screen.press("slash")
        await screen.type("= 1")
        await screen.until("1 of 2 lines  1 more in viewed files")
        assert marked() == "one = 1"
        await screen.press("enter")
        await screen.until("2 of 3 lines")
        assert "more in viewed files" not in screen.text and marked() == "ten = 1"
        await screen.press("up")
        await screen.until("1 of 3 lines")
        assert marked() == "one = 1"
        # the files stay unfolded for reading, and viewed
        await screen.press("escape")
        await screen.until("1 viewed")
        assert "ten = 1" in screen.text and "two = 1" in screen.text

    on_screen(lab, act, size=WIDE)


def test_a_search_finds_words_that_only_viewed_files_have(tmp_path: Path) -> None:
    lab = with_three_files(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("d")
        await screen.until("one = 1")
        await screen.press("V")
        await screen.until("Viewed one.py. 1 of 3.")
        await screen.until(lambda: "one = 1" not in screen.text)
        await screen.press("slash")
        await screen.type("one =")
        await screen.until("No line that is shown has these words.  1 in viewed files")
        await screen.press("up")
        await screen.until("1 of 1 line")
        assert "one = 1" in screen.text

    on_screen(lab, act, size=WIDE)


def test_a_search_without_result_tells_how_the_list_is_filtered(tmp_path: Path) -> None:
    lab = with_three_files(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("enter", "slash")
        await screen.type("status:wait")
        await screen.until("No line has these words.  To filter the list: Esc, Esc, /")
        await screen.press("escape", "escape", "slash")
        await screen.until_focused("filter")

    on_screen(lab, act, size=WIDE)


def test_the_head_of_a_task_keeps_two_rows(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=TWO_FILES, judge=APPROVE, extra="approval: required\n")
    lab.add("Add three files", "--max-cycles", "1", "--tag", "storage", "--tag", "needs-a-second-look")
    lab.burnish("run", code=1)

    async def act(screen: Screen) -> None:
        await screen.press("enter")
        await screen.until("Verdict")
        head = screen.app.query_one("#task-head", LineView)
        assert head.size.height == 2, screen.text
        assert "waits for approval" in screen.text and "#storage" not in screen.text
        await screen.pilot.resize_terminal(200, 50)
        await screen.until("#storage #needs-a-second-look")
        assert head.size.height == 2, screen.text

    on_screen(lab, act)


def test_words_that_the_end_of_a_row_cuts_are_marked_in_both_rows(tmp_path: Path) -> None:
    lab = with_three_files(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        view = screen.app.query_one("#page", LineView)
        room = view.scrollable_content_region.width
        words = "x" * (room - 7) + "needle in the hay"
        lines = [Text(words, end=""), styled("y" * (room - 10) + " needle in"), styled("")]
        view.show(ShownLine(line) for line in lines)
        for searched in ("needle in", "needle"):
            view.find(searched, 0, 0)
            marked = ["".join(s.text for s in view.render_line(y) if s.style and s.style.bold) for y in range(4)]
            assert "".join(marked[:2]).replace(" ", "") == searched.replace(" ", ""), marked

    on_screen(lab, act, size=WIDE)


def test_work_that_is_not_committed_is_not_called_unchanged(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author='pathlib.Path("k.py").write_text("K = \\"AKIA" + "Q7W3ERTYUIOPASD2\\"\\n")')
    lab.add("Add a key")
    lab.burnish("run", code=None)
    assert lab.task()["reason"] == "secret"

    async def act(screen: Screen) -> None:
        await screen.until("g Remove secret")
        await screen.press("d")
        await screen.until("Nothing is committed yet.")
        assert "Nothing was changed" not in screen.text and "Viewed" not in screen.text
        await screen.press("e")
        await screen.until("e: the task has no commit.")

    on_screen(lab, act, size=WIDE)


def test_colours_of_code_can_be_read_on_a_light_and_on_a_dark_background() -> None:
    code = 'import os\n\n\n@cache\ndef step(value: int) -> str:\n    """Say."""\n    return f"{value + 1}"  # one\n'
    styles = {str(span.style) for line in _coloured("a.py", code) for span in line.spans}
    assert styles and not any("bright" in style or style == "blue" for style in styles), styles


def test_the_story_names_no_command_of_then() -> None:
    text = "The network is gone. Correct it, then: `burnish retry 13`."
    assert without_commands(text, 13) == "The network is gone."
    assert without_commands("burnish retry 14 is for another task", 13) == "burnish retry 14 is for another task"


def test_the_view_of_agents_tells_that_the_run_is_under_way(tmp_path: Path) -> None:
    lab = with_three_files(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.press("3")
        await screen.until("No agent is at work.")
        screen.app.query_one(LivePane).show([], lambda number: None, "The run is under way")  # type: ignore[arg-type,return-value]
        await screen.until("The run is under way")

    on_screen(lab, act, size=WIDE)

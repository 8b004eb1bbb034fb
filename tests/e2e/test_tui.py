"""`burnish tui` and `run --tui` on a real terminal: they start, show a run, and end as `run` does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testing.byhand import ADDS_A_LINE
from testing.lab import APPROVE, Lab
from testing.terminal import terminal

# An author that works until a file exists.
WAITS = """
while not (pathlib.Path(LOG).parent / "go").exists():
    print("still at it", flush=True)
    time.sleep(0.1)
app.write_text(app.read_text() + "# done\\n")
"""


def lab_with(tmp_path: Path, author: str = ADDS_A_LINE) -> Lab:
    lab = Lab.make(tmp_path, author=author, judge=APPROVE)
    lab.add("Add division")
    return lab


def test_the_screen_shows_tasks_without_colour_and_q_closes_it(tmp_path: Path) -> None:
    lab = lab_with(tmp_path)
    with terminal(lab, "tui", columns=80, lines=24, env={"NO_COLOR": "1"}) as screen:
        screen.expect("Add division")
        screen.send("q")
        assert screen.ended() == 0, screen.plain
    assert not re.search(r"\x1b\[[0-9;]*(?:3[1-7]|4[1-7]|38|48)[;m]", screen.shown)


@pytest.mark.slow
def test_a_run_on_the_screen_ends_with_its_results_and_its_exit_code(tmp_path: Path) -> None:
    lab = lab_with(tmp_path)
    with terminal(lab, "run", "--tui") as screen:
        screen.expect("The run has ended.")
        screen.send("q")
        assert screen.ended() == 0, screen.plain
    assert "Task 1 verified (APPROVED after 1 cycle; no tests were run)" in screen.plain
    assert lab.task()["status"] == "verified"


@pytest.mark.slow
def test_ctrl_c_stops_the_run_and_keeps_its_work(tmp_path: Path) -> None:
    lab = lab_with(tmp_path, WAITS)
    with terminal(lab, "run", "--tui") as screen:
        screen.expect("implementing")
        screen.send("\x03")
        assert screen.ended() == 130, screen.plain
    assert "Interrupted. `burnish run` continues." in screen.plain
    assert lab.task()["status"] == "in_progress" and not lab.processes()


@pytest.mark.slow
def test_the_run_goes_on_when_the_screen_is_closed(tmp_path: Path) -> None:
    lab = lab_with(tmp_path, WAITS)
    with terminal(lab, "run", "--tui") as screen:
        screen.expect("implementing")
        screen.send("q")
        screen.expect("Let the run go on")
        screen.send("b")
        assert screen.ended() == 0, screen.plain
    assert "The run goes on in the background" in screen.plain
    (tmp_path / "go").touch()
    lab.until(lambda: lab.task()["status"] == "verified")


@pytest.mark.slow
def test_a_terminal_that_reads_nothing_does_not_stop_the_run(tmp_path: Path) -> None:
    lab = lab_with(tmp_path)
    with terminal(lab, "run", "--tui"):
        # its output fills the buffer of the terminal, and no program reads it
        lab.until(lambda: lab.task()["status"] == "verified")


@pytest.mark.slow
def test_sigterm_ends_the_run_and_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    lab = lab_with(tmp_path, WAITS)
    with terminal(lab, "run", "--tui") as screen:
        screen.expect("implementing")
        screen.process.send_signal(signal.SIGTERM)
        assert screen.ended() == 130, screen.plain
    # the alternate screen was left
    assert screen.shown.rindex("\x1b[?1049l") > screen.shown.rindex("\x1b[?1049h")
    assert not lab.processes()


@pytest.mark.slow
def test_sigterm_ends_a_screen_whose_terminal_is_not_read(tmp_path: Path) -> None:
    lab = lab_with(tmp_path, WAITS)
    with terminal(lab, "run", "--tui", columns=200, lines=200) as screen:
        lab.until(lambda: lab.task()["status"] == "in_progress")
        # the transcript fills the buffer
        time.sleep(3)
        screen.process.send_signal(signal.SIGTERM)
        assert screen.process.wait(60) == 130
        lab.until(lambda: not lab.processes())
    assert lab.task()["status"] == "in_progress"


@pytest.mark.slow
def test_a_terminal_that_is_closed_ends_the_run_and_keeps_its_work(tmp_path: Path) -> None:
    lab = lab_with(tmp_path, WAITS)
    with terminal(lab, "run", "--tui") as screen:
        screen.expect("implementing")
        # the window is gone: SIGHUP, and each write fails
        closed = os.open(os.devnull, os.O_RDWR)
        os.dup2(closed, screen.master)
        os.close(closed)
        assert screen.process.wait(60) in (1, 130)
        lab.until(lambda: not lab.processes())
    assert lab.task()["status"] == "in_progress"
    (tmp_path / "go").touch()
    lab.burnish("run")
    assert lab.task()["status"] == "verified"


@pytest.mark.slow
def test_a_run_that_is_refused_closes_the_screen_and_is_explained(tmp_path: Path) -> None:
    lab = lab_with(tmp_path)
    with terminal(lab, "run", "7", "--tui") as screen:
        assert screen.ended() == 2, screen.plain
    # after the screen, where it stays to be read
    assert screen.shown.rindex("error: ") > screen.shown.rindex("\x1b[?1049l")


@pytest.mark.parametrize(
    ("columns", "term", "words"), [(40, "xterm", "The window is too small (40×40)"), (100, "dumb", "TERM=dumb")]
)
def test_a_terminal_that_cannot_draw_it_gets_two_lines(tmp_path: Path, columns: int, term: str, words: str) -> None:
    lab = lab_with(tmp_path)
    with terminal(lab, "tui", columns=columns, env={"TERM": term}) as screen:
        assert screen.ended() == 2
    assert words in screen.plain and "do: " in screen.plain and "\x1b[?1049h" not in screen.shown


@pytest.mark.parametrize("argv", [("tui",), ("run", "--tui")])
def test_without_a_terminal_it_is_refused(tmp_path: Path, argv: tuple[str, ...]) -> None:
    lab = lab_with(tmp_path)
    result = lab.burnish(*argv, code=2)
    assert result.err.startswith("error: The screen needs a terminal.\n   do: ")
    assert lab.task()["status"] == "backlog"


def test_other_commands_do_not_load_it(tmp_path: Path) -> None:
    lab = lab_with(tmp_path)
    code = "import sys; from burnish.cli.main import main; main(sys.argv[1:]); print('textual' in sys.modules)"
    argv = [sys.executable, "-c", code, "-C", str(lab.repo.path), "run", "--dry-run"]
    printed = subprocess.run(argv, env=lab.env, capture_output=True, text=True, check=True).stdout
    assert printed.endswith("False\n")


@pytest.mark.slow
def test_e_opens_the_change_in_the_editor_and_the_screen_comes_back(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE, extra="hitl_review: every\nreview: {agents: [judge]}\n")
    lab.add("Add division")
    lab.burnish("run", code=1)
    editor = tmp_path / "editor"
    # the second time it writes a verdict that does not exist
    editor.write_text(
        f"""#!{sys.executable} -IS
import pathlib, sys
form = pathlib.Path(sys.argv[1])
text = form.read_text()
if (was := pathlib.Path({str(tmp_path / "was")!r})).exists():
    text = text.replace("verdict:", "verdict: perhaps", 1)
else:
    text = text.replace("verdict:", "verdict: comment", 1).replace("note:", "note: Which divisor?", 1)
was.touch()
form.write_text(text)
"""
    )
    editor.chmod(0o755)
    with terminal(lab, "tui", columns=140, env={"EDITOR": str(editor)}) as screen:
        screen.expect("e In editor")
        screen.send("e")
        screen.expect("Sent your review of task 1 (F1)")
        screen.send("e")
        screen.expect("Enter or Esc closes this.")
        screen.send("\x03")
        assert screen.ended() == 0, screen.plain
    (finding,) = lab.show(1)["findings"]
    assert finding["title"] == "Which divisor?"
    [kept] = lab.root.rglob("person-review.rejected")
    assert "verdict: perhaps" in kept.read_text()

"""What the screens show, at two sizes, compared with files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest

from burnish.core.event import Event
from burnish.core.status import Status
from burnish.core.task import Spec
from burnish.proc.identity import hold
from burnish.store import Store
from testing import boards
from testing.byhand import ADDS_A_LINE
from testing.lab import APPROVE, REJECT, Lab
from testing.screens import Screen, on_screen

SIZES = [(80, 24), (200, 50)]
NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
# it would clear the screen, ring and set the title; the rest is markup of the library
HOSTILE = "\x1b[2J\x1b]0;owned\x07\a[bold red]Drop[/] \u202eit\t日本語のタイトル"
FINDING = {
    "id": "F1",
    "category": "code",
    "severity": "error",
    "title": "Zero is [b]not[/b] handled",
    "description": "b may be 0.\nThen it \x1b[31mfails[/].",
    "suggestion": "Return None.",
    "file": "app.py",
    "line": 4,
    "state": "open",
    "first_cycle": 1,
    "last_cycle": 1,
    "reviewers": ["judge"],
}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Tasks in every status, whose clock stands still."""
    lab = Lab.make(tmp_path)
    store, key = boards.open_store(lab)
    store.close()
    store = Store.open(Path(lab.env["BURNISH_HOME"]), clock=lambda: NOON)
    boards.varied(store, key)
    number = store.add_task(key, Spec(HOSTILE, f"As {HOSTILE} says.\n\n- [x] one"), max_cycles=3, auto_review=True).id
    boards.bring(store, key, number, Status.BLOCKED, reason="stalled", note=f"Nothing changed: {HOSTILE}")
    store.record(key, number, [Event("finding.opened", {"finding": FINDING}, run=1, cycle=1)])
    store.close()
    monkeypatch.setattr("burnish.tui.rows.since", lambda moment: "5m00s")
    # the lists are compared, not the conflicts of commits that do not exist
    monkeypatch.setattr("burnish.runtime.lost_branches.void_lost_approvals", lambda *args, **kwargs: None)
    return lab


@pytest.mark.parametrize("size", SIZES)
def test_tasks_are_listed_in_their_groups(lab: Lab, size: tuple[int, int]) -> None:
    async def act(screen: Screen) -> None:
        await screen.until("needs discussion")
        if size[0] >= 110:
            await screen.until("The branch has moved since the review")
        await screen.matches(f"tasks-{size[0]}")

    on_screen(lab, act, size=size)


@pytest.mark.parametrize("size", SIZES)
def test_the_inbox_tells_why_each_task_waits(lab: Lab, size: tuple[int, int]) -> None:
    async def act(screen: Screen) -> None:
        await screen.press("2")
        await screen.until("codex is not installed")
        if size[0] >= 110:
            await screen.until("The branch has moved since the review")
        await screen.matches(f"inbox-{size[0]}")

    on_screen(lab, act, size=size)


@pytest.mark.parametrize("size", SIZES)
def test_hostile_text_is_shown_as_text(lab: Lab, size: tuple[int, int]) -> None:
    async def act(screen: Screen) -> None:
        await screen.press("slash")
        await screen.type("stalled")
        await screen.press("enter", "enter")
        await screen.until("[bold red]Drop[/] it 日本語のタイトル says.")
        assert "\x1b" not in screen.text and "\u202e" not in screen.text and "owned" not in screen.text
        await screen.matches(f"task-{size[0]}")
        await screen.press("i")
        await screen.until("Zero is [b]not[/b] handled")
        assert "\x1b" not in screen.text
        await screen.matches(f"findings-{size[0]}")

    on_screen(lab, act, size=size)


@pytest.mark.parametrize("size", SIZES)
def test_help_lists_the_keys_and_the_palette_the_acts(lab: Lab, size: tuple[int, int]) -> None:
    async def act(screen: Screen) -> None:
        await screen.press("question_mark")
        await screen.until("commands by name")
        await screen.matches(f"help-{size[0]}")
        await screen.press("escape", "ctrl+p")
        await screen.until("Show the tasks")
        await screen.type("passkey")
        await screen.until("Go to T13: Log in by passkey")
        await screen.press("enter")
        await screen.until("f Answer")

    on_screen(lab, act, size=size)


def test_the_first_screen_needs_no_settings_git_or_dialogs() -> None:
    code = "import sys, burnish.tui.app; print(*sorted(sys.modules))"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = ("pydantic", "jinja2", "pygments", "burnish.runtime.app", "burnish.engine", "textual.widgets._text_area")
    assert not [name for name in heavy if name in names]


def test_the_mouse_selects_opens_and_acts(lab: Lab) -> None:
    async def act(screen: Screen) -> None:
        await screen.pilot.click("#list", offset=(10, 3))
        await screen.until(lambda: screen.app.number == 13)
        await screen.until("The reviewer wants to talk it over")
        await screen.pilot.pause(0.5)
        await screen.pilot.click("#tabs", offset=(32, 0))
        await screen.until("No findings.")
        await screen.pilot.click("#top", offset=(22, 0))
        await screen.until("codex is not installed")
        await screen.pilot.click("#keys", offset=(screen.text.split("\n")[-1].index("f Answer"), 0))
        await screen.until("The agent gets one more cycle with your note.")
        await screen.matches("answer-140")

    on_screen(lab, act, size=(140, 40))


@contextmanager
def at_work(lab: Lab) -> Iterator[Callable[[int, str], None]]:
    """Two agents are at work; what is given is called with which of them says what."""
    store = Store.open(Path(lab.env["BURNISH_HOME"]))
    key = store.projects()[0].key
    tasks = [store.task(key, number) for number in (10, 11)]
    with mock.patch.dict("os.environ", lab.env), hold(Path(lab.env["BURNISH_HOME"]) / "locks") as lock:
        store.register_runner({"id": lock.runner.uuid, "pid": 1, "project": key})
        for task, phase in zip(tasks, ("implement", "improve"), strict=True):
            boards.working(store, key, task.id, lock.runner.uuid, phase, task.cycle)

        def say(number: int, text: str) -> None:
            task = tasks[number]
            phase = ("implement", "improve")[number]
            folder = Path(lab.env["BURNISH_HOME"]) / "projects" / key / "tasks" / task.name
            call = folder / "calls" / f"run-1-cycle-{task.cycle}-{phase}-1"
            call.mkdir(parents=True, exist_ok=True)
            with (call / "try-1-transcript.jsonl").open("a") as file:
                file.write(json.dumps({"kind": "said", "text": text}) + "\n")

        yield say
    store.close()


def test_agents_at_work_are_shown_side_by_side(lab: Lab) -> None:
    """Two transcripts grow, and each has a window."""
    with at_work(lab) as say:

        async def act(screen: Screen) -> None:
            await screen.until("3 Live 2")
            await screen.press("3")
            say(0, "I read the rates.")
            say(1, "I drop [b]everything[/b].")
            await screen.until("I read the rates.")
            await screen.until("I drop [b]everything[/b].")
            say(0, "Now they are cached.")
            await screen.until("Now they are cached.")
            await screen.matches("live-200")
            # no window has the focus, so it is not clear which task is meant
            await screen.press("enter")
            await screen.until("Choose a window first.")

        on_screen(lab, act, size=(200, 50))


def test_the_end_of_a_run_that_another_process_started_is_said(lab: Lab) -> None:
    with at_work(lab), Store.open(Path(lab.env["BURNISH_HOME"])) as store:
        key = store.projects()[0].key

        async def act(screen: Screen) -> None:
            await screen.until("3 Live 2")
            boards.move(store, key, 10, Status.FAILED, error="AGENT_FAILED")
            await screen.until("Task 10 failed.")

        on_screen(lab, act, size=(140, 40))


def test_a_window_of_an_agent_at_work_shows_the_end_of_what_it_said(lab: Lab) -> None:
    with at_work(lab) as say:
        for number in range(60):
            say(0, f"Step {number} is done.")

        async def act(screen: Screen) -> None:
            await screen.until("3 Live 2")
            await screen.press("3")
            await screen.until("Step 59 is done.")
            say(0, "Step 60 is done.")
            await screen.until("Step 60 is done.")

        on_screen(lab, act, size=(80, 24))


@pytest.mark.parametrize("size", [(60, 16), (80, 24)])
def test_the_reasons_of_an_override_fit_a_small_screen(lab: Lab, size: tuple[int, int]) -> None:
    async def act(screen: Screen) -> None:
        await screen.press("slash")
        await screen.type("stalled")
        await screen.press("enter", "enter")
        await screen.until("a Override")
        await screen.press("a")
        await screen.until_focused("questions")
        await screen.press("down", "space")
        await screen.until("[x] Did the reviewer judge with the wrong context?")
        await screen.matches(f"reasons-{size[0]}")
        await screen.press("escape")
        await screen.until("a Override")
        assert "Space ticks" not in screen.text

    on_screen(lab, act, size=size)


def test_the_filter_takes_words_and_statuses(lab: Lab) -> None:
    async def act(screen: Screen) -> None:
        await screen.press("slash")
        await screen.type("status:failed")
        await screen.until("T7")
        assert "T13" not in screen.text
        await screen.press("escape")
        await screen.until("T13")
        await screen.press("slash")
        await screen.type("nowhere")
        await screen.until("No task matches 'nowhere'.")

    on_screen(lab, act)


def test_tags_are_shown_filtered_set_and_undone(lab: Lab) -> None:
    async def act(screen: Screen) -> None:
        await screen.press("slash")
        await screen.type("t14")
        await screen.press("enter")
        await screen.until("T14")
        await screen.press("enter", "colon")
        await screen.type("Tags")
        await screen.press("enter")
        await screen.until("Words with spaces")
        await screen.type("Docs, urgent")
        await screen.press("enter")
        await screen.until("Tags of task 14: docs, urgent.")
        await screen.until("#docs #urgent")
        await screen.press("escape", "escape", "slash")
        await screen.type("tag:docs")
        await screen.until("T14")
        assert "T13" not in screen.text
        await screen.press("enter", "z")
        await screen.until("Tags of task 14: none.")

    on_screen(lab, act, size=(200, 50))


def test_what_can_be_undone_is_not_asked_and_z_takes_it_back(lab: Lab) -> None:
    async def act(screen: Screen) -> None:
        await screen.press("slash")
        await screen.type("t14")
        await screen.press("enter", "enter")
        await screen.until("T14")
        for name, report, undone in (
            ("Pause", "Task 14 is paused.", "Task 14 is not paused any more."),
            ("Cancel", "Cancelled task 14", "Task 14 is in the backlog again."),
        ):
            await screen.press("colon")
            await screen.type(name)
            await screen.press("enter")
            await screen.until(report)
            await screen.until("z: undo")
            await screen.press("z")
            await screen.until(undone)
        await screen.press("z")
        await screen.until("There is no act that can be undone.")

    on_screen(lab, act, size=(200, 50))


def test_without_colour_nothing_but_attributes_is_drawn(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def act(screen: Screen) -> None:
        filters = [type(one).__name__ for one in screen.app._filters if one.enabled]
        assert "NoColor" in filters, filters

    on_screen(lab, act)


def test_next_goes_through_the_inbox_and_begins_again(lab: Lab) -> None:
    async def act(screen: Screen) -> None:
        ids = screen.app.waiting_ids
        assert len(ids) > 3
        found = []
        for _ in range(len(ids) + 1):
            await screen.press("n")
            found.append(screen.app.number)
        assert found[:-1] in (ids, [*ids[1:], ids[0]]) and found[-1] == found[0]

    on_screen(lab, act)


def test_a_transcript_shows_the_verdict_that_a_program_printed_in_words(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=REJECT, extra="hitl_review: final\nreview: {agents: [judge]}\n")
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=None)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("t")
        await screen.until("Verdict changes_requested: ")
        await screen.until("- error: ")
        assert "burnish-verdict" not in screen.text and "{" not in screen.text

    on_screen(lab, act, size=(140, 40))
    assert "Verdict changes_requested: " in lab.burnish("log", "1").out
    assert "burnish-verdict" not in lab.burnish("log", "1").out
    assert "```burnish-verdict" in lab.burnish("log", "1", "--raw").out


def test_the_head_of_a_task_names_no_cost_that_nobody_knows(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE, extra="approval: required\n")
    lab.add("Add division")
    lab.burnish("run", code=None)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        assert "cost unknown" not in screen.text

    on_screen(lab, act, size=(140, 40))
    task_line, *_, summary = lab.burnish("status").out.splitlines()
    assert ("cost unknown" in task_line, "cost unknown" in summary) == (False, True)

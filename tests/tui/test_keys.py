"""What the keys do: decisions are about the commit on the screen, and each act does what its command does."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from burnish.core.status import Status
from burnish.errors import BurnishError
from burnish.tui.acts import Order, with_keys
from burnish.tui.orders import carry_out
from burnish.tui.screen import ProjectScreen
from testing import boards
from testing.byhand import ADDS_A_LINE, commit_by_hand, facts
from testing.lab import APPROVE, REJECT, Lab
from testing.screens import Screen, on_screen

WIDE = (140, 40)


# works only when a test lets it, so that the screen does not show the end of the run before the test looked
WAITS_FOR_GO = """while not pathlib.Path(LOG).with_name("go").exists():
    time.sleep(0.02)
"""


def waiting(
    tmp_path: Path, judge: str = APPROVE, extra: str = "approval: required\n", author: str = ADDS_A_LINE
) -> Lab:
    """Task 1 waits for a person."""
    lab = Lab.make(tmp_path, author=author, judge=judge, extra=extra)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    return lab


def test_a_approves_the_commit_on_the_screen_and_m_merges_it(tmp_path: Path) -> None:
    lab = waiting(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("a")
        await screen.until_focused("choices")
        await screen.press("enter")
        await screen.until("Approved task 1: it is verified.")
        await screen.until("m Merge")
        await screen.press("m")
        await screen.until_focused("choices")
        assert "into main?" in screen.text
        await screen.press("y")
        await screen.until("Merged task 1 into main")

    on_screen(lab, act, size=WIDE)
    assert lab.task()["status"] == "completed"
    decided = lab.events("decision.made")[-1]["data"]
    assert (decided["choice"], decided["via"]) == ("approve", "tui")


def test_a_decision_about_a_commit_that_has_changed_is_refused(tmp_path: Path) -> None:
    lab = waiting(tmp_path)
    before: list[object] = []

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        commit_by_hand(lab)
        before.append(facts(lab))
        await screen.press("a", "y")
        await screen.until("is what was reviewed")

    on_screen(lab, act, size=WIDE)
    assert facts(lab) == before[0]


def test_approving_against_the_review_asks_for_reasons(tmp_path: Path) -> None:
    lab = waiting(tmp_path, REJECT, "hitl_review: final\nreview: {agents: [judge]}\n")

    async def act(screen: Screen) -> None:
        await screen.until("Approving goes against the review")
        await screen.press("a")
        await screen.until_focused("questions")
        await screen.press("enter")
        await screen.until("Tick a reason (Space), or explain it.")
        await screen.press("space", "enter")
        await screen.until("Approved task 1 against its review: it is verified.")

    on_screen(lab, act, size=WIDE)
    assert lab.events("override.recorded")[-1]["data"]["category"] == "pre_existing"


def test_letters_in_the_dialog_of_reasons_begin_the_explanation(tmp_path: Path) -> None:
    lab = waiting(tmp_path, REJECT, "hitl_review: final\nreview: {agents: [judge]}\n")

    async def act(screen: Screen) -> None:
        await screen.until("Approving goes against the review")
        await screen.press("a", *"jack", "space", *"knows", "enter")
        await screen.until("Approved task 1 against its review: it is verified.")

    on_screen(lab, act, size=WIDE)
    recorded = lab.events("override.recorded")[-1]["data"]
    assert (recorded["category"], recorded["explanation"]) == ("custom", "jack knows")


@pytest.mark.slow
def test_the_end_of_a_run_is_said_in_place_of_its_start(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="sys.exit('the network is gone')")
    lab.add("Add division")
    lab.burnish("run", "1", code=None)

    async def act(screen: Screen) -> None:
        await screen.until("g Retry")
        await screen.press("g")
        await screen.until("Task 1 failed.")
        assert "It runs in the background" not in screen.text

    on_screen(lab, act, size=WIDE)


def test_nothing_is_decided_on_a_task_that_is_not_on_the_screen(tmp_path: Path) -> None:
    lab = waiting(tmp_path)
    before = facts(lab)

    async def act(screen: Screen) -> None:
        await screen.until("waits for approval")
        await screen.press("f")
        await screen.until("Look at the task first")
        # a note that was typed without looking
        await screen.type("say yes as it is")
        await screen.press("enter")
        await screen.until("a Approve")
        assert "Look at the task first" not in screen.text
        await screen.press("s")
        await screen.until("s: a change is accepted without a review only if review.required is false.")
        await screen.press("r")
        await screen.until("Why? (may be empty)")
        await screen.press("escape")

    on_screen(lab, act)
    assert facts(lab) == before


def test_r_rejects_with_a_note(tmp_path: Path) -> None:
    lab = waiting(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("r")
        await screen.type("not like this")
        await screen.press("enter")
        await screen.until("Rejected task 1: it is blocked.")
        await screen.until("rejected by a person")
        await screen.until("R: start again from the current base")
        await screen.press("R")
        await screen.until("Start a new run from the current base?")
        await screen.press("n")

    on_screen(lab, act, size=WIDE)
    assert (lab.task()["reason"], lab.events("decision.made")[-1]["data"]["note"]) == (
        "human_rejected",
        "not like this",
    )


def test_s_accepts_without_a_review_where_the_settings_allow_it(tmp_path: Path) -> None:
    extra = "hitl_review: final\nreview: {agents: [judge], required: false}\n"
    lab = waiting(tmp_path, REJECT, extra)

    async def act(screen: Screen) -> None:
        await screen.until("s Skip")
        await screen.press("s")
        await screen.until("without a review?")
        await screen.press("y")
        await screen.until("Accepted task 1 without a review: it is verified.")

    on_screen(lab, act, size=WIDE)
    assert lab.events("decision.made")[-1]["data"]["choice"] == "skip"


@pytest.mark.slow
def test_f_sends_back_with_a_note_and_starts_the_run(tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.touch()
    lab = waiting(tmp_path, author=WAITS_FOR_GO + ADDS_A_LINE)
    go.unlink()

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("f", "enter")
        await screen.until("A text is needed.")
        await screen.type("guard it")
        await screen.press("enter")
        await screen.until("It runs in the background.")
        go.touch()
        await screen.until("cycle 2")

    on_screen(lab, act, size=WIDE)
    lab.until(lambda: lab.task()["status"] == "waiting_approval" and lab.task()["cycle"] == 2)
    assert "guard it" in lab.calls()[2]["prompt"]


def test_a_task_that_is_sent_back_is_not_interrupted_before_its_run_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = waiting(tmp_path)
    # a run that never takes the task up
    monkeypatch.setattr("burnish.features.run.detach.start_detached", lambda app, argv: None)
    monkeypatch.setattr("burnish.tui.app.START_SECONDS", 8.0)
    monkeypatch.setattr("burnish.tui.project.START_SECONDS", 8.0)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("f")
        await screen.until_focused("note")
        await screen.type("guard it")
        await screen.press("enter")
        await screen.until("A run starts and takes it up.")
        await screen.until("2 Inbox 0")
        await screen.until("queued")
        assert "interrupted" not in screen.text and "g Continue" not in screen.text
        # the screen notices by itself that nothing has started
        await screen.until("g Continue")
        await screen.until("2 Inbox 1")
        assert "It was interrupted." in screen.text

    on_screen(lab, act, size=WIDE)


def test_a_run_that_cannot_be_started_leaves_its_task_to_be_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = waiting(tmp_path)

    def refuse(app: object, argv: object) -> None:
        raise BurnishError("The run ended at once: no.")

    monkeypatch.setattr("burnish.features.run.detach.start_detached", refuse)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("f")
        await screen.until_focused("note")
        await screen.type("guard it")
        await screen.press("enter")
        await screen.until("The run ended at once: no.")
        await screen.until("g Continue", 5)

    on_screen(lab, act, size=WIDE)


def test_comment_pause_and_waive(tmp_path: Path) -> None:
    lab = waiting(tmp_path, REJECT, "")
    lab.add("Another")

    async def act(screen: Screen) -> None:
        await screen.until("w Waive")
        await screen.press("c")
        await screen.type("rename it")
        await screen.press("enter")
        await screen.until("Commented on task 1 (F2).")
        await screen.press("w")
        await screen.until("F1 error: Zero is not handled")
        await screen.press("enter")
        await screen.type("known")
        await screen.press("enter")
        await screen.until("Waived F1 of task 1")
        await screen.press("down")
        await screen.until("T2 Another")
        await screen.until("p Pause")
        await screen.press("p")
        await screen.until("Task 2 is paused.")

    on_screen(lab, act, size=WIDE)
    findings = {finding["id"]: finding for finding in lab.show()["findings"]}
    assert (findings["F1"]["state"], findings["F2"]["title"]) == ("waived", "rename it")
    assert lab.task(2)["paused"]


def test_the_diff_has_findings_in_place_and_keys_jump_to_them(tmp_path: Path) -> None:
    lab = waiting(tmp_path, REJECT.replace("[flaw]", "[{**flaw, 'line': 3}]"), "")

    async def act(screen: Screen) -> None:
        await screen.until("Findings 1")
        await screen.press("d")
        await screen.until("app.py  changed")
        lines = [line.strip(" │") for line in screen.text.split("\n")]
        at = next(number for number, line in enumerate(lines) if "+ # implement 1" in line)
        assert "F1 error Zero is not handled" in "\n".join(lines[at - 1 : at + 3])
        await screen.press("full_stop")
        assert "There is no further finding" not in screen.text
        # to the heading above the finding, then nowhere
        await screen.press("left_square_bracket", "left_square_bracket")
        await screen.until("There is no earlier file on this page.")

    on_screen(lab, act, size=WIDE)


def test_the_transcript_follows_what_is_written(tmp_path: Path) -> None:
    lab = waiting(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("t")
        await screen.until("cycle 1 review, judge")
        folder = next(Path(lab.env["BURNISH_HOME"]).glob("projects/*/tasks/*/calls/*review*/try-1"))
        rows = (
            '{"kind": "said", "text": "I look at [bold]it[/]"}\n{"kind": "ran", "text": "pytest -q", "exit_code": 1}\n'
        )
        folder.with_name("try-1-transcript.jsonl").write_text(rows)
        await screen.until("I look at [bold]it[/]")
        await screen.until("• ran pytest -q (exit code 1)")

    on_screen(lab, act, size=WIDE)


@pytest.mark.slow
def test_g_starts_a_run_that_x_stops(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="print('at it', flush=True)\ntime.sleep(60)", judge=APPROVE)
    lab.add("Add division")

    async def act(screen: Screen) -> None:
        await screen.until("g Start")
        await screen.press("g")
        await screen.until("Task 1: It runs in the background.")
        await screen.until("x Stop")
        await screen.press("t")
        await screen.until("at it")
        await screen.press("x")
        await screen.until("Stop the agent?")
        await screen.press("y")
        await screen.until("Stopping task 1; its work is kept.")
        await screen.until("g Continue")

    on_screen(lab, act, size=WIDE)
    assert lab.task()["status"] == "in_progress" and not lab.processes()


def test_f_describes_a_task_that_changed_nothing(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="pass", judge=APPROVE)
    lab.add("Add division")
    lab.burnish("run", code=1)

    async def act(screen: Screen) -> None:
        await screen.until("f Describe")
        await screen.press("f")
        await screen.type("divide a by b")
        await screen.press("ctrl+j")
        await screen.type("in app")
        await screen.press("enter")
        await screen.until("Changed the description of task 1.")

    on_screen(lab, act, size=WIDE)
    assert lab.show()["description"] == "divide a by b\nin app"


def test_what_cannot_be_done_is_said_with_what_to_do(tmp_path: Path) -> None:
    lab = waiting(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        lab.repo.commit({"burnish.yaml": lab.settings("checks: {test: null, lint: 'true'}\n")}, "not trusted")
        await screen.press("a", "y")
        await screen.until("have changed since they were trusted.")

    on_screen(lab, act, size=WIDE)
    assert lab.task()["status"] == "waiting_approval"


def test_a_plan_is_shown_before_it_is_approved(tmp_path: Path) -> None:
    lab = Lab.make(
        tmp_path, author="print('# Plan\\n\\n1. divide [b]everything[/b]')", judge=APPROVE, extra="approval: required\n"
    )
    lab.add("Plan it", "-t", "plan")
    lab.burnish("run", code=1)

    async def act(screen: Screen) -> None:
        await screen.until("1. divide [b]everything[/b]")
        await screen.press("a", "y")
        await screen.until("Approved task 1")

    on_screen(lab, act, size=WIDE)


def test_u_shows_only_what_changed_since_the_last_review(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, extra="approval: required\n")
    lab.add("Add division")
    lab.burnish("run", code=1)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("u")
        await screen.until("only what changed since the last review")
        await screen.until("-     return a / b  # BUG")
        await screen.press("u")
        await screen.until("1 file  +2 -0")
        assert "# BUG" not in screen.text

    on_screen(lab, act, size=WIDE)


@pytest.mark.slow
def test_g_raises_the_limit_of_a_task_that_has_used_it_up(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=APPROVE)
    lab.add("Add division")
    store, key = boards.open_store(lab)
    note = "It has used $1.00 of $1.00 (budget.task_usd)."
    boards.bring(store, key, 1, Status.BLOCKED, cost=1.0, reason="budget", note=note)
    store.close()

    async def act(screen: Screen) -> None:
        await screen.until("g Raise and retry")
        await screen.press("g")
        await screen.until("The limit was $1.00. The new limit in USD:")
        assert "2.00" in screen.text
        await screen.press("enter")
        await screen.until(lambda: "'budget_usd': 2.0" in str([e["data"] for e in lab.events("task.edited")]))

    on_screen(lab, act, size=WIDE)


def several_waiting(tmp_path: Path, number: int, author: str = ADDS_A_LINE) -> Lab:
    lab = Lab.make(tmp_path, author=author, judge=APPROVE, extra="approval: required\n")
    for at in range(number):
        lab.add(f"Task {at + 1}")
    lab.burnish("run", "--all", code=None)
    return lab


def test_a_decided_task_stays_on_the_screen_and_next_skips_none(tmp_path: Path) -> None:
    lab = several_waiting(tmp_path, 3)

    async def act(screen: Screen) -> None:
        await screen.press("2", "enter")
        await screen.until("r Reject")
        await screen.press("r", "enter")
        await screen.until("Rejected task 1: it is blocked.")
        await screen.until("2 Inbox 2")
        assert "T1 Task 1" in screen.text and "T2 Task 2" not in screen.text
        await screen.press("n")
        await screen.until("T2 Task 2")
        assert "Rejected task 1" not in screen.text
        await screen.press("escape")
        await screen.until("T3   Task 3")
        assert "T1   Task 1" not in screen.text

    on_screen(lab, act)


def test_after_the_last_decision_next_leads_to_what_is_to_be_merged(tmp_path: Path) -> None:
    lab = several_waiting(tmp_path, 2)

    async def act(screen: Screen) -> None:
        for number, hint in ((1, "n: next (1 left)"), (2, "n: next to merge (1 left)")):
            await screen.press("n")
            await screen.until(f"T{number} Task {number}")
            await screen.until("a Approve")
            await screen.press("a")
            await screen.until_focused("choices")
            await screen.press("y")
            await screen.until(f"Approved task {number}: it is verified.  {hint}")

    on_screen(lab, act)


@pytest.mark.slow
def test_shift_m_merges_all_that_are_ready_and_names_those_that_are_not_merged(tmp_path: Path) -> None:
    author = "pathlib.Path('one.py' if task in '12' else 'three.py').write_text(f'A = {task}\\n')"
    lab = Lab.make(tmp_path, author=author, judge=APPROVE)
    for number in (1, 2, 3):
        lab.add(f"Task {number}")
    lab.burnish("run", "--all", code=None)

    async def act(screen: Screen) -> None:
        await screen.press("2")
        await screen.until("M Merge all")
        await screen.press("M")
        await screen.until("approved tasks, one after the other?")
        await screen.until_focused("choices")
        await screen.press("n")
        assert [lab.task(number)["status"] for number in (1, 2, 3)] == ["verified"] * 3
        await screen.press("M")
        await screen.until_focused("choices")
        await screen.press("y")
        await screen.until("Merged ")

    on_screen(lab, act, size=WIDE)
    assert "completed" in [lab.task(number)["status"] for number in (1, 2, 3)]
    assert lab.task(3)["status"] == "completed"


def test_next_tells_that_the_task_on_the_screen_is_the_only_one(tmp_path: Path) -> None:
    lab = several_waiting(tmp_path, 1)

    async def act(screen: Screen) -> None:
        await screen.press("n")
        await screen.until("a Approve")
        await screen.press("n")
        await screen.until("Nothing else waits for you.")
        assert "T1 Task 1" in screen.text

    on_screen(lab, act)


def test_next_in_a_list_opens_the_selected_task_that_waits(tmp_path: Path) -> None:
    lab = several_waiting(tmp_path, 3)

    async def act(screen: Screen) -> None:
        await screen.until("2 Inbox 3")
        await screen.press("n")
        await screen.until("T1 Task 1")
        await screen.press("escape", "down", "n")
        await screen.until("T2 Task 2")
        # now it is on the screen
        await screen.press("n")
        await screen.until("T3 Task 3")

    on_screen(lab, act)


def test_files_of_the_diff_are_marked_as_viewed_and_folded(tmp_path: Path) -> None:
    author = (
        'pathlib.Path("one.py").write_text("a = 1\\n"); pathlib.Path("two.py").write_text("b = 2\\n"); print("Done.")'
    )
    lab = Lab.make(tmp_path, author=author, extra="approval: required\n")
    lab.add("Add two files", "--max-cycles", "1")
    lab.burnish("run", code=1)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("V")
        await screen.until("V marks a file as viewed in the diff.")
        await screen.press("d")
        await screen.until("a = 1")
        await screen.press("V")
        await screen.until("Viewed one.py. 1 of 2.")
        await screen.until(lambda: "a = 1" not in screen.text and "b = 2" in screen.text)
        await screen.press("V")
        await screen.until("Viewed two.py. 2 of 2.")
        await screen.until("2 viewed")
        # its row is free again when the person goes on
        await screen.press("j")
        await screen.until(lambda: "Viewed two.py" not in screen.text)
        await screen.press("V")
        await screen.until("All files are viewed.")
        await screen.press("z")
        await screen.until("b = 2")
        assert "1 viewed" in screen.text and "a = 1" not in screen.text

    on_screen(lab, act, size=WIDE)


def test_the_diff_is_announced_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = several_waiting(tmp_path, 1)
    may_go_on = threading.Event()
    read = ProjectScreen._read_diff

    def slow(self: ProjectScreen, *args: Any) -> Any:
        assert may_go_on.wait(30)
        return read(self, *args)

    monkeypatch.setattr(ProjectScreen, "_read_diff", slow)

    async def act(screen: Screen) -> None:
        await screen.press("2", "enter")
        await screen.until("r Reject")
        await screen.press("d")
        await screen.until("Reading the diff…")
        assert "It waits for your decision." not in screen.text
        may_go_on.set()
        await screen.until("1 file")
        assert "Reading the diff…" not in screen.text

    on_screen(lab, act)


def test_the_letters_of_a_note_do_nothing_where_no_note_can_be_given(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author="sys.exit('the network is gone')", judge=APPROVE)
    lab.add("Add division")
    lab.burnish("run", code=None)
    before = facts(lab)

    async def act(screen: Screen) -> None:
        await screen.until("g Retry")
        await screen.press("f")
        await screen.until("f: not possible while the task has failed.")
        assert "Possible: g Retry, c Comment" in screen.text
        await screen.type("go on past it")
        await screen.press("enter")
        await screen.until_focused("list")
        # the command is named as the key, once
        assert screen.text.count("Everything it printed: key t.") == 1 and "burnish log" not in screen.text
        await screen.press("t")
        await screen.until("the network is gone")

    on_screen(lab, act, size=WIDE)
    assert facts(lab) == before


def test_a_comment_at_the_gate_leaves_the_decision_open(tmp_path: Path) -> None:
    lab = waiting(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        await screen.press("c")
        await screen.type("rename it")
        await screen.press("enter")
        await screen.until("It still waits for your decision.")
        await screen.until("a Approve")

    on_screen(lab, act, size=WIDE)
    (finding,) = [one for one in lab.show()["findings"] if "rename it" in one["title"]]
    assert (finding["severity"], lab.task()["status"]) == ("info", "waiting_approval")


def test_a_key_that_is_pressed_while_an_act_is_under_way_waits_for_it(tmp_path: Path) -> None:
    lab = waiting(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("Verdict")
        # as while an approval is being carried out
        screen.app.pending.append("approve")
        await screen.press("r")
        await screen.until("Approve: under way…")
        await screen.type("a word")
        screen.app.pending.clear()
        screen.app._load_state()
        await screen.until("Why? (may be empty)")
        await screen.until("a word")

    on_screen(lab, act, size=WIDE)


def test_a_question_of_the_review_is_shown_and_answered(tmp_path: Path) -> None:
    judge = REJECT.replace("changes_requested", "needs_discussion")
    lab = waiting(tmp_path, judge, "hitl_review: final\nreview: {agents: [judge]}\n")

    async def act(screen: Screen) -> None:
        await screen.until("NEEDS DISCUSSION")
        await screen.until("F1 error Zero is not handled")
        await screen.until("The review asks a question: answer it (f), or decide.")
        await screen.until("f Answer")
        await screen.press("f")
        await screen.until("The agent gets your answer")
        await screen.press("enter")
        await screen.until("A text is needed.")
        await screen.press("escape")

    on_screen(lab, act, size=WIDE)


def test_a_merge_that_needs_another_decision_names_the_keys(tmp_path: Path) -> None:
    author = "pathlib.Path(f'part_{task}.py').write_text('A = 1\\n')"
    lab = Lab.make(tmp_path, author=author, judge=APPROVE, extra="hitl_review: every\nreview: {agents: [judge]}\n")
    lab.add("One")
    lab.add("Two")
    lab.burnish("run", "--all", code=None)
    lab.burnish("decide", "1", "approve")
    lab.burnish("decide", "2", "approve")
    lab.burnish("merge", "1")

    async def act(screen: Screen) -> None:
        await screen.until("m Merge")
        await screen.press("m", "y")
        await screen.until("Task 2 is not merged: together with main it waits for your decision.")
        await screen.until("Look at task 2 again")
        # the page may still show the review, after which "burnish decides"
        await screen.until("a Approve")
        assert "burnish decide" not in screen.text
        await screen.until("Why again  main has moved")
        await screen.until("Taken from the branch")

    on_screen(lab, act, size=WIDE)


def test_the_overview_has_the_size_of_the_change(tmp_path: Path) -> None:
    lab = waiting(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("It waits for your decision.")
        await screen.until("1 file +1 -0")

    on_screen(lab, act, size=WIDE)


def test_the_bar_names_the_keys_of_the_page(tmp_path: Path) -> None:
    author = "[pathlib.Path(name).write_text('A = 1\\n') for name in ('one.py', 'two.py')]"
    lab = Lab.make(tmp_path, author=author, judge=APPROVE, extra="approval: required\n")
    lab.add("Add division")
    lab.burnish("run", code=1)

    async def act(screen: Screen) -> None:
        await screen.press("enter")
        await screen.until("d Diff")
        assert "Esc List" in screen.text and "[ ] File" not in screen.text
        await screen.press("d")
        await screen.until("[ ] File")
        await screen.press("escape")
        await screen.until("Enter Open")
        assert "Esc List" not in screen.text

    on_screen(lab, act)


def test_merging_all_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    author = "pathlib.Path(f'part_{task}.py').write_text('A = 1\\n')"
    lab = Lab.make(tmp_path, author=author, judge=APPROVE, extra="hitl_review: every\nreview: {agents: [judge]}\n")
    for number in ("1", "2"):
        lab.add(f"Task {number}")
    lab.burnish("run", "--all", code=None)
    for number in ("1", "2"):
        lab.burnish("decide", number, "approve")
    for name, value in lab.env.items():
        monkeypatch.setenv(name, value)
    messages: list[str] = []
    with pytest.raises(BurnishError, match=r"Merged 1 of 2 tasks: T1. Not merged: T2."):
        carry_out(lab.repo.path, Order("merge-all", 1, text="1 2"), messages.append)
    assert messages == ["Merging T1, 1 of 2", "Merging T2, 2 of 2"]

    async def act(screen: Screen) -> None:
        await screen.until("Why again  main has moved")
        screen.app.say("Merge all: each task in turn…")
        screen.app.is_act_message = True
        screen.app._say_progress(messages[0])
        await screen.until(lambda: screen.text.count("Merging T1, 1 of 2") == 2)
        # another message stays
        await screen.press("z")
        screen.app._say_progress(messages[1])
        await screen.until("There is no act that can be undone.")
        await screen.until(lambda: screen.text.count("Merging T2, 2 of 2") == 1)

    on_screen(lab, act, size=WIDE)


def test_a_gate_that_asks_again_says_why_in_the_inbox_and_on_its_page(tmp_path: Path) -> None:
    author = """path = pathlib.Path("greeting.txt")
path.write_text("Good morning, and welcome\\n" if "<<<<<<<" in path.read_text() else "Good morning\\n")
"""
    lab = Lab.make(tmp_path, author=author, judge=APPROVE, extra="hitl_review: every\nreview: {agents: [judge]}\n")
    lab.repo.commit({"greeting.txt": "Hello\n"})
    lab.add("Change the greeting")
    lab.burnish("run", "--all", code=None)
    lab.burnish("decide", "1", "approve")
    lab.repo.commit({"greeting.txt": "Welcome\n"})
    lab.burnish("rebase", "1", code=None)

    async def act(screen: Screen) -> None:
        await screen.press("2")
        await screen.until("        main was merged, and the agent resolved conflicts in greeting.txt")
        await screen.press("enter")
        await screen.until("Why again  main was merged, and the agent resolved conflicts")

    on_screen(lab, act)


def test_what_was_waived_is_told_before_the_approval(tmp_path: Path) -> None:
    lab = waiting(tmp_path, REJECT, "hitl_review: final\nreview: {agents: [judge]}\n")

    async def act(screen: Screen) -> None:
        await screen.until("Approving goes against the review and needs a reason.")
        await screen.press("w")
        await screen.until_focused("note")
        await screen.type("fine")
        await screen.press("enter")
        await screen.until("Waived F1 of task 1: it waits for approval.")
        await screen.until("None of its findings is open any more, so approving needs no reason.")
        await screen.until("raised F1; waived F1")

    on_screen(lab, act, size=WIDE)


def test_the_end_of_a_run_is_said_where_another_task_is_on_the_screen(tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.touch()
    lab = several_waiting(tmp_path, 2, WAITS_FOR_GO + ADDS_A_LINE)
    go.unlink()

    async def act(screen: Screen) -> None:
        await screen.press("2", "enter")
        await screen.until("r Reject")
        await screen.press("f")
        await screen.until_focused("note")
        await screen.type("once more")
        await screen.press("enter")
        await screen.until("Sent back task 1.")
        await screen.press("n")
        await screen.until("T2 Task 2")
        # only now may the run end
        go.touch()
        await screen.until("Task 1 waits for your approval.")
        # it is about another task, so the next key takes it away
        await screen.press("down")
        await screen.until(lambda: "Task 1 waits for your approval." not in screen.text)

    on_screen(lab, act, size=WIDE)


def test_what_a_person_wrote_is_not_told_as_a_fact_of_burnish(tmp_path: Path) -> None:
    lab = several_waiting(tmp_path, 1, ADDS_A_LINE)
    lab.burnish("decide", "1", "fix", "-m", "once more")

    async def act(screen: Screen) -> None:
        await screen.press("2", "enter")
        await screen.until("Note       once more")

    on_screen(lab, act, size=WIDE)


def test_commands_in_a_note_become_keys(tmp_path: Path) -> None:
    lab = waiting(tmp_path)

    async def act(screen: Screen) -> None:
        await screen.until("a Approve")
        details = screen.app.details
        assert details
        for text, expected in (
            ("Then: `burnish decide 1 approve`.", "Then: key a."),
            ("Everything it printed: burnish log 1.", "Everything it printed: key t."),
            ("`burnish show 1` or burnish findings 1. burnish diff 1", "Key o or key i. Key d"),
            # not possible now, of another task, with options of its own, or no command
            ("`burnish retry 1` goes on", "`burnish retry 1` goes on"),
            ("burnish show 12", "burnish show 12"),
            ('`burnish decide 1 fix -m "…"`', '`burnish decide 1 fix -m "…"`'),
            ("burnish log says so", "burnish log says so"),
        ):
            assert with_keys(text, details) == expected

    on_screen(lab, act, size=WIDE)

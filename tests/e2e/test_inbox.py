"""The inbox: everything that needs a person, and a command for each that answers it."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from burnish.cli.inbox import _short
from burnish.core.status import Reason
from burnish.features.hooks.commits import CommitReview
from burnish.features.hooks.news import commits_folder
from burnish.store import Store
from burnish.views.inbox import answer_to, inbox
from testing.byhand import ADDS_A_LINE, commit_by_hand
from testing.lab import APPROVE, REJECT, Lab

# What the judge says depends on the task, so that one laboratory has every kind.
MANY = """
word = {"1": "approved", "2": "needs_discussion", "3": "rejected", "4": "changes_requested", "6": "approved"}.get(task)
if task == "5": print("hm")
else: print(verdict(word, "so says the judge", [flaw] if task == "4" else []))
"""
WORKER = """
if task == "7": sys.exit(9)
app.write_text(app.read_text() + f"# {task} {phase} {cycle}\\n")
"""


def entries(lab: Lab) -> dict[str, dict[str, str]]:
    return {entry["id"]: entry for entry in lab.burnish("inbox", "--json").json["inbox"]}


@pytest.mark.slow
def test_every_kind_is_there_oldest_first_and_what_is_ready_comes_last(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=WORKER, judge=MANY)
    for number in range(1, 8):
        lab.add(f"Task {number}", "--max-cycles", "1")
    lab.add("Task 8", "-A")
    lab.add("Task 9")
    lab.burnish("run", "1", "2", "3", "4", "5", "7", "8", code=3)
    lab.burnish("run", "6", "--hitl-review", code=1)

    found = lab.burnish("inbox", "--json").json["inbox"]

    assert [entry["id"] for entry in found][-1] == "1", "approved: ready"
    kinds = {entry["id"]: (entry["kind"], entry["reason"]) for entry in found}
    assert kinds == {
        "1": ("ready", None),
        "2": ("blocked", "needs_discussion"),
        "3": ("blocked", "rejected"),
        "4": ("blocked", "max_cycles"),
        "5": ("blocked", "unreadable_review"),
        "6": ("waiting_approval", None),
        "7": ("failed", None),
        "8": ("review", None),
    }
    times = [entry["since"] for entry in found[:-1]]
    assert times == sorted(times)
    page = lab.burnish("inbox").out
    assert "7 tasks waiting for you, 1 ready to merge" in page
    for entry in found:
        assert entry["command"] in page


@pytest.mark.slow
def test_the_command_that_is_given_answers(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=WORKER, judge=MANY)
    for number in range(1, 9):
        lab.add(f"Task {number}", "--max-cycles", "1", *(["-A"] if number == 8 else []))
    lab.burnish("run", "1", "2", "3", "4", "5", "7", "8", code=3)
    lab.burnish("run", "6", "--hitl-review", code=1)
    found = entries(lab)
    lab.agent("judge", APPROVE)
    lab.agent("robot", ADDS_A_LINE)
    for entry in found.values():
        words = [word.replace("…", "do it") for word in shlex.split(entry["command"].replace("|reject|fix", ""))]
        lab.burnish(*words[1:])
    # approved: one of them was merged, and the others changed the same line
    assert {entry["kind"] for entry in entries(lab).values()} == {"conflict"}


@pytest.mark.long
def test_a_void_approval_and_a_waiver_that_ran_out_are_there(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=REJECT)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    lab.burnish("waive", "1", "F1", "--reason", "later", "--until", "2999-12-31")
    lab.burnish("run")
    assert entries(lab)["1"]["kind"] == "ready"
    with Store.open(Path(lab.env["BURNISH_HOME"])) as store:
        (over,) = inbox(store, [lab.task()["project"]], today="3000-01-01")
    assert (over.kind, over.command) == ("waiver", 'burnish waive 1 F1 --reason "…"')
    lab.burnish("waive", "1", "F1", "--reason", "for good")
    lab.add("Another")
    lab.agent("judge", APPROVE)
    lab.burnish("run")
    commit_by_hand(lab, 2)
    lab.burnish("done", "2", code=2)  # looking at it voids the approval
    found = entries(lab)["2"]
    assert (found["kind"], found["command"]) == ("voided", "burnish run 2")


@pytest.mark.long
def test_a_commit_that_the_hooks_review_did_not_pass_is_there_until_one_passes(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    folder = commits_folder(Path(lab.env["BURNISH_HOME"]), lab.repo.path / ".git")
    folder.mkdir(parents=True)
    said = CommitReview(
        "c0ffee" * 6, str(lab.repo.path), 1.0, "done", "changes_requested", summary="1 error", finished=2.0
    )

    def keep(review: CommitReview) -> None:
        (folder / f"{review.commit}.json").write_text(json.dumps(asdict(review)))

    keep(said)
    page = lab.burnish("inbox").out
    assert "Commit c0ffeec0ff" in page and "changes_requested: 1 error" in page and "    burnish hook last\n" in page
    (news,) = lab.burnish("inbox", "--json").json["commits"]
    assert (news["commit"], news["command"]) == (said.commit, "burnish hook last")
    keep(replace(said, commit="d" * 40, asked=3.0, passed=True))
    assert lab.burnish("inbox").out == "Nothing waits for you.\n"


@pytest.mark.long
def test_nothing_is_said_so_and_other_projects_are_named_with_their_folder(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE, author=ADDS_A_LINE)
    assert lab.burnish("inbox").out == "Nothing waits for you.\n"
    lab.add()
    lab.burnish("run", "--hitl-review", code=1)
    page = lab.burnish("inbox", "--all").out
    assert f"burnish -C {lab.repo.path} decide 1 approve" in page


@pytest.mark.parametrize(
    ("note", "want"),
    [
        ("the task has cost $5.00 of $4.00 (budget.task_usd)", "burnish retry {} --budget …"),
        ("the task has used 900 of 100 tokens (budget.task_tokens)", "burnish retry {} --tokens …"),
        ("this run has cost $5.00 of $4.00 (budget.session_usd)", "burnish retry {}"),
    ],
)
def test_the_answer_to_a_reached_budget_raises_it_where_a_retry_can(note: str, want: str) -> None:
    assert answer_to(Reason.BUDGET, note) == want


def test_a_question_is_shown_without_signs_of_markdown(tmp_path: Path) -> None:
    judge = "print(verdict('needs_discussion', 'Do **old** entries stay in `a_b`?'))"
    lab = Lab.make(tmp_path, author=ADDS_A_LINE, judge=judge)
    lab.add("Ask", "--max-cycles", "1")
    lab.burnish("run", code=None)
    assert "Do old entries stay in `a_b`?" in lab.burnish("inbox").out
    assert "**old**" in lab.burnish("inbox", "--json").out


def test_a_long_reason_is_cut_where_it_can_be_seen() -> None:
    text = "The program was not found on PATH. " * 12
    lines = _short(text, 60)
    assert len(lines) == 3 and lines[-1].endswith("…") and max(map(len, lines)) <= 60
    assert _short("It is short.", 60) == ["It is short."]

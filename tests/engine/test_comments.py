"""`burnish comment`: a person's remark is a finding that the author must settle."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from unittest import mock

import pytest

from testing.lab import APPROVE, REJECT, Lab

# does what the person says, and signs which phase it was
AUTHOR = """
text = app.read_text()
app.write_text(text + ("def half(a):\\n    return a / 2\\n" if phase == "implement" else f"# settled {cycle}\\n"))
print("done")
"""
# approves what settles the comment, and calls the comment open otherwise
JUDGE = """
settled = "# settled" in app.read_text()
rulings = [{"id": id, "state": "resolved" if settled else "open"} for id in prior]
print(verdict("approved" if settled or not prior else "changes_requested", "good", prior=rulings))
"""


@pytest.fixture
def commented(tmp_path: Path) -> Lab:
    return Lab.make(tmp_path, author=AUTHOR, judge=JUDGE)


def test_a_comment_on_a_verified_task_opens_it_again_and_the_next_improve_settles_it(commented: Lab) -> None:
    lab = commented
    lab.add()
    lab.burnish("run")
    assert lab.task()["status"] == "verified"
    answer = lab.burnish("comment", "1", "Say why\nwith an example")
    assert answer.out == "Commented on task 1: F1 Say why\n"
    assert "was verified and is open again: its approval is void. Continue: burnish run 1" in answer.err
    task, (finding,) = lab.task(), lab.burnish("findings", "1", "--json").json["findings"]
    assert (task["status"], task["open_findings"]) == ("in_progress", 1)
    assert (finding["id"], finding["severity"], finding["title"]) == ("F1", "error", "Say why")
    assert finding["description"] == "Say why\nwith an example"
    assert finding["reviewers"][0].startswith("user:") and finding["rule"] == "comment"
    assert len(lab.events("approval.voided")) == 1
    lab.burnish("merge", "1", code=4)
    lab.burnish("run", "1")
    prompt = next(call["prompt"] for call in lab.calls() if call["phase"] == "improve")
    assert "with an example" in prompt
    assert (lab.task()["status"], lab.show()["findings"][0]["state"]) == ("verified", "resolved")
    assert [phase for _, phase in lab.phases_committed(lab.task()["branch"])] == ["implement", "improve"]


def test_a_comment_on_a_running_task_keeps_its_id_and_is_settled_before_the_approval(tmp_path: Path) -> None:
    """The review that runs meanwhile opens a finding as well, and approves in the end."""
    wait = "\nif phase == 'review' and cycle == 1:\n    open(GO + '.up', 'w').close()\n"
    wait += "    while not os.path.exists(GO): time.sleep(0.02)\n"
    once = 'print(verdict("changes_requested", "no", [flaw]) if cycle == 1 else verdict("approved", "good"))'
    lab = Lab.make(tmp_path, author=AUTHOR)
    lab.agent("judge", f"GO = {str(tmp_path / 'go')!r}{wait}{once}")
    lab.add("Task", "--max-cycles", "1")
    with lab.start("run", "1") as process:
        lab.until(lambda: (tmp_path / "go.up").exists())
        answer = lab.burnish("comment", "1", "Use a name that says what it is")
        (tmp_path / "go").touch()
        process.communicate(timeout=60)
    assert "is being run. Its next improve phase settles F1" in answer.err
    found = {one["id"]: one for one in lab.show()["findings"]}
    assert [found[id]["title"] for id in ("F1", "F2")] == ["Use a name that says what it is", "Zero is not handled"]
    prompts = [call["prompt"] for call in lab.calls() if call["phase"] == "improve"]
    # one more cycle than the maximum: the author had not read it
    assert len(prompts) == 1 and "Use a name that says what it is" in prompts[0]
    assert (lab.task()["status"], lab.task()["cycle"]) == ("verified", 2)


def test_a_comment_during_the_work_is_read_at_the_next_phase_before_a_review_is_paid_for(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    wait = "if cycle == 1:\n    open(GO + '.up', 'w').close()\n    while not os.path.exists(GO): time.sleep(0.02)\n"
    lab.agent("robot", f"GO = {str(tmp_path / 'go')!r}\n{wait}{AUTHOR}")
    lab.add()
    with lab.start("run", "1") as process:
        lab.until(lambda: (tmp_path / "go.up").exists())
        lab.burnish("comment", "1", "Say why")
        (tmp_path / "go").touch()
        process.communicate(timeout=60)
    assert [call["phase"] for call in lab.calls()] == ["implement", "improve", "review"]
    assert "Say why" in lab.calls()[1]["prompt"] and lab.task()["status"] == "verified"


def test_in_manual_mode_a_person_starts_the_step_that_settles_a_comment(commented: Lab) -> None:
    lab = commented
    lab.add("Task", "-A")
    lab.burnish("run", code=1)
    assert "Settle F1: burnish improve 1" in lab.burnish("comment", "1", "Say why").err
    lab.burnish("run", "1", code=1)
    assert [call["phase"] for call in lab.calls()] == ["implement"]
    lab.burnish("improve", "1", "--review")
    assert [call["phase"] for call in lab.calls()] == ["implement", "improve", "review"]
    assert lab.task()["status"] == "verified"


def test_an_approval_that_comes_while_a_person_comments_does_not_count(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=AUTHOR)
    wait = "if cycle == 1:\n    open(GO + '.up', 'w').close()\n    while not os.path.exists(GO): time.sleep(0.02)\n"
    lab.agent("judge", f"GO = {str(tmp_path / 'go')!r}\n{wait}{APPROVE}")
    lab.add("Task", "--max-cycles", "1")
    with lab.start("run", "1") as process:
        lab.until(lambda: (tmp_path / "go.up").exists())
        lab.burnish("comment", "1", "Not yet")
        (tmp_path / "go").touch()
        process.communicate(timeout=60)
    assert [call["phase"] for call in lab.calls()] == ["implement", "review", "improve", "review"]
    assert lab.task()["status"] == "verified"


def test_a_comment_that_programs_alone_cannot_judge_waits_for_a_person_after_one_improve(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=AUTHOR, extra="review: {agents: [static]}\n")
    lab.add()
    lab.burnish("run")
    lab.burnish("comment", "1", "Say why")
    lab.burnish("run", "1", code=1)
    assert (lab.task()["status"], len(lab.calls())) == ("waiting_approval", 2)
    assert "F1 was not ruled on" in lab.burnish("inbox").out
    lab.burnish("waive", "1", "F1", "--reason", "it is settled")
    lab.burnish("decide", "1", "approve")
    assert lab.task()["status"] == "verified"


def test_a_comment_on_a_blocked_task_is_read_when_it_goes_on(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=REJECT)
    lab.add("Task", "--max-cycles", "1")
    lab.burnish("run", code=1)
    assert "Settle F2: burnish improve 1" in lab.burnish("comment", "1", "Return zero").err
    assert lab.task()["status"] == "blocked"
    lab.agent("judge", APPROVE)
    lab.burnish("retry", "1")
    assert "Return zero" in lab.calls()[-2]["prompt"] and lab.task()["status"] == "verified"


def test_a_comment_on_a_task_that_waits_for_approval_sends_it_back(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=JUDGE, extra="approval: required\n")
    lab.add()
    lab.burnish("run", code=1)
    assert "no longer waits for approval" in lab.burnish("comment", "1", "Say why").err
    assert lab.task()["status"] == "in_progress"


def test_what_cannot_be_commented_on_is_refused_with_a_way_out(commented: Lab) -> None:
    lab = commented
    lab.add()
    assert "burnish edit 1" in lab.burnish("comment", "1", "x", code=4).err
    lab.burnish("run")
    assert "The comment is empty" in lab.burnish("comment", "1", "  ", code=2).err
    assert "more than 20,000" in lab.burnish("comment", "1", "x" * 20_001, code=2).err
    lab.burnish("done", "1")
    assert "burnish add -t improve --of 1" in lab.burnish("comment", "1", "x", code=4).err
    assert lab.events("finding.opened") == []


def test_a_comment_is_read_from_stdin(commented: Lab) -> None:
    lab = commented
    lab.add()
    lab.burnish("run")
    for argv in (["comment", "1", "-"], ["comment", "1"]):
        with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO("Größer\nals 2".encode()), "utf-8")):
            assert "Größer" in lab.burnish(*argv).out
    assert [one["description"] for one in lab.show()["findings"]] == ["Größer\nals 2"] * 2

"""Reviews from outside: handed over, written by a person or a tool, taken as a cycle like any other."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from burnish.review.artifact import parse_artifact, render_artifact
from testing.lab import APPROVE, Lab

EXPLICIT = "review: {agents: [judge], trigger: explicit}\n"
REJECTION = """\
Verdict: changes requested

- app.py:4: Zero is not handled, b may be 0
"""
ME = re.compile(r"user:\S+")


def handed(tmp_path: Path, extra: str = EXPLICIT, *argv: str) -> Lab:
    """A task that is done, checked, and waits for a review that somebody asks for."""
    lab = Lab.make(tmp_path, extra=extra)
    lab.add("Add division", *argv)
    lab.burnish("run", code=None)
    return lab


def write(lab: Lab, text: str | dict[str, Any], name: str = "review.md") -> str:
    file = lab.root / name
    file.write_text(text if isinstance(text, str) else json.dumps(text))
    return str(file)


def state(lab: Lab) -> tuple[int, str, str]:
    task = lab.task()
    return len(lab.events(task=1)), task["status"], task["commit"]


def dirt(lab: Lab, path: str, text: str = "x\n") -> None:
    file = Path(lab.burnish("path", "1").out.strip()) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.slow
def test_a_rejection_becomes_an_artifact_and_a_fix_prompt_and_the_fix_is_approved(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    assert "burnish handoff 1" in lab.burnish("show", "1").out
    given = lab.burnish("handoff", "1", "--json").json
    assert (given["status"], given["cycle"], lab.task()["status"]) == ("code_review", 1, "code_review")
    Path(given["file"]).write_text(REJECTION)

    said = lab.burnish("review", "1", "--from", given["file"], code=1)
    assert "Fix it: burnish run 1" in said.err and "interrupted" not in lab.burnish("status").out

    task = lab.show(1)
    assert (task["status"], task["review_status"]) == ("in_progress", "failed")
    (finding,) = task["findings"]
    assert (finding["file"], finding["line"], finding["state"]) == ("app.py", 4, "open")
    assert ME.fullmatch(finding["reviewers"][0])
    artifact = lab.burnish("show", "review-cycle://1/review-cycle-1.md").out
    assert "Zero is not handled" in artifact and f'agent: "{finding["reviewers"][0]}"' in artifact
    assert lab.burnish("show", "review-cycle://1/outside-review-1.md").out == REJECTION

    lab.burnish("run", "1", code=None)  # improves, checks, and waits again: the trigger is explicit
    (fix,) = [call for call in lab.calls() if call["phase"] == "improve"]
    assert "Zero is not handled, b may be 0" in fix["prompt"]
    assert "judge" not in {call["agent"] for call in lab.calls()}

    lab.burnish("review", "1", "--from", write(lab, "Looks right now.\n\n**Verdict: APPROVED**\n"))
    task = lab.show(1)
    assert (task["status"], task["final_verdict"], task["review_status"]) == ("verified", "APPROVED", "passed")
    assert [f["state"] for f in task["findings"]] == ["resolved"]
    assert [c["verdict"] for c in task["cycles"]] == ["changes_requested", "approved"]
    assert task["approval"]["valid"] and task["approval"]["commit"] == task["commit"]
    said = lab.burnish("show", "1").out
    assert len(re.findall(r"review +finished .*by user:", said)) == 2 and "> Looks right now." in said


@pytest.mark.long
def test_the_prompt_is_the_real_one_and_its_number_signs_the_answer(tmp_path: Path) -> None:
    lab = handed(tmp_path, EXPLICIT, "--accept", "divides")
    first = lab.burnish("handoff", "1")
    given = lab.burnish("handoff", "1", "--json").json
    number = given["number"]
    assert f"burnish-verdict {number}" in first.out and "a / b  # BUG" in first.out and "divides" in first.out
    assert given["file"] in first.out and given["checkout"] in first.out
    assert Path(given["checkout"], "app.py").exists()
    reply = {"verdict": "approved", "summary": "good", "inspected": ["app.py"], "findings": [], "prior": []}
    reply["compliance"] = [{"item": "divides", "met": True}]
    before = state(lab)
    for wrong in (
        f"```burnish-verdict {number[:-1]}x\n{json.dumps(reply)}\n```\n",
        json.dumps({**reply, "number": "1" * 16}),
    ):
        said = lab.burnish("review", "1", "--from", write(lab, wrong), code=2)
        assert "number" in said.err
    assert state(lab) == before

    lab.burnish(
        "review", "1", "--from", write(lab, f"Read it all.\n\n```burnish-verdict {number}\n{json.dumps(reply)}\n```\n")
    )
    assert lab.task()["status"] == "verified"


REFUSED = {
    "": "is empty",
    " \n\t\n": "is empty",
    "Verdict: changes requested\n": "does not say which",
    "I like it.\n": "no verdict",
    "Verdict: approved, mostly\n": "no single clear verdict",
    "Verdict: [ ] approved\n": "no single clear verdict",
    "## Verdict\n\n[ ] APPROVED\n": "no single clear verdict",
    "{": "not valid JSON",
    "{}": "in an unknown format",
    '{"runs": 3}': "no runs",
    '{"verdict": "approved"}': "`summary` is missing",
    '{"verdict": "approved", "verdict": "approved"}': "occurs twice",
    '{"runs": []}': "--verdict approved",
    '{"diagnostics": [{}]}': "no message",
}


@pytest.mark.slow
def test_what_is_empty_or_unreadable_is_refused_by_name_and_nothing_changes(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    before = state(lab)
    for text, why in REFUSED.items():
        said = lab.burnish("review", "1", "--from", write(lab, text, "their-review"), code=2)
        assert "their-review" in said.err and why in said.err
    assert state(lab) == before


@pytest.mark.representatives(1)
@pytest.mark.parametrize("line", ["### F1 [ERROR] Code Quality: hole (app.py:1)", "- [error] app.py:1 sql hole"])
def test_an_approval_that_lists_an_error_does_not_verify_the_task(tmp_path: Path, line: str) -> None:
    lab = handed(tmp_path)
    said = lab.burnish("review", "1", "--from", write(lab, f"**Verdict: APPROVED**\n\n{line}\n"), code=None)
    assert lab.task()["status"] != "verified"
    but = "approved by the reviewer, but F1 still stands"
    assert f"Review: CHANGES_REQUESTED ({but})" in said.err
    assert lab.show(1)["cycles"][0]["verdict"] == "changes_requested" and but in lab.burnish("show", "1").out
    assert lab.events("review.completed")[0]["data"]["verdict"] == "changes_requested"
    (finding,) = lab.show(1)["findings"]
    assert (finding["severity"], finding["file"], finding["line"]) == ("error", "app.py", 1)


@pytest.mark.long
def test_two_people_on_one_line_are_two_findings_and_neither_is_softened(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    lab.burnish(
        "review", "1", "--from", write(lab, "Verdict: changes requested\n\n- [warning] app.py:1 odd name\n"), code=1
    )
    grave = "Verdict: changes requested\n\n- [error] app.py:1 customer money vanishes at midnight\n"
    lab.burnish("review", "1", "--from", write(lab, grave), code=1)
    found = {f["id"]: (f["severity"], f["title"]) for f in lab.show(1)["findings"]}
    assert found == {"F1": ("warning", "odd name"), "F2": ("error", "customer money vanishes at midnight")}


@pytest.mark.long
def test_an_approval_with_a_line_like_a_finding_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    before = state(lab)
    said = lab.burnish("review", "1", "--from", write(lab, "Verdict: approved\n\n| **error** | app.py |\n"), code=2)
    assert "looks like a finding and could not be read" in " ".join(said.err.split())
    assert state(lab) == before


@pytest.mark.long
def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    assert "Cannot read" in lab.burnish("review", "1", "--from", str(tmp_path / "none"), code=2).err
    (tmp_path / "latin").write_bytes(b"Verdict: approved \xff")
    assert "not UTF-8" in lab.burnish("review", "1", "--from", str(tmp_path / "latin"), code=2).err
    assert "Unknown verdict" in lab.burnish("review", "1", "--from", write(lab, "x"), "--verdict", "yes", code=2).err
    assert "--from" in lab.burnish("review", "1", "--verdict", "approved", code=2).err


SARIF = {
    "runs": [
        {
            "tool": {"driver": {"name": "scan"}},
            "results": [
                {
                    "level": "error",
                    "ruleId": "DIV",
                    "message": {"text": "division by zero"},
                    "locations": [
                        {"physicalLocation": {"artifactLocation": {"uri": "app.py"}, "region": {"startLine": 4}}}
                    ],
                }
            ],
        }
    ]
}
RDJSON: dict[str, Any] = {
    "source": {"name": "lint"},
    "diagnostics": [{"message": "long line", "severity": "WARNING", "location": {"path": "app.py"}}],
}


@pytest.mark.long
def test_a_tools_errors_ask_for_changes_and_without_errors_the_person_says_what_it_comes_to(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    assert (
        "cannot approve" in lab.burnish("review", "1", "--from", write(lab, SARIF), "--verdict", "approved", code=2).err
    )
    flood = {"diagnostics": RDJSON["diagnostics"] * 2001}
    assert "2,001 problems, more than 2,000" in lab.burnish("review", "1", "--from", write(lab, flood), code=2).err
    lab.burnish("review", "1", "--from", write(lab, SARIF), code=1)
    (finding,) = lab.show(1)["findings"]
    assert (finding["rule"], finding["line"], lab.task()["status"]) == ("DIV", 4, "in_progress")
    lab.burnish("run", "1", code=None)
    assert "--verdict approved" in lab.burnish("review", "1", "--from", write(lab, RDJSON), code=2).err
    lab.burnish("review", "1", "--from", write(lab, RDJSON), "--verdict", "approved")
    task = lab.show(1)
    assert (task["status"], [f["state"] for f in task["findings"]]) == ("verified", ["resolved", "open"])


@pytest.mark.long
def test_legacy_feedback_without_a_verdict_needs_one_and_becomes_one_finding_verbatim(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    feedback = "**Issue**: the divisor is never checked.\n\n```python\nreturn a / b\n```\n\nPlease handle zero.\n"
    assert "no verdict" in lab.burnish("review", "1", "--from", write(lab, feedback), code=2).err
    lab.burnish("review", "1", "--from", write(lab, feedback), "--verdict", "changes_requested", code=1)
    (finding,) = lab.show(1)["findings"]
    assert "return a / b" in finding["description"] and "Please handle zero." in finding["description"]
    lab.burnish("run", "1", code=None)
    assert "Please handle zero." in next(c for c in lab.calls() if c["phase"] == "improve")["prompt"]


@pytest.mark.long
def test_own_dirt_blocks_a_hand_off_and_benign_dirt_does_not(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    dirt(lab, ".burnish/tasks/7-other/task.md")
    given = lab.burnish("handoff", "1")
    assert "ignored: .burnish/tasks/7-other/task.md" in given.err
    dirt(lab, "app.py", "half-baked words\n")
    dirt(lab, ".burnish/tasks/1-add-division/notes.md")
    before = state(lab)

    said = lab.burnish("handoff", "1", code=4)

    assert "not committed: app.py" in said.err and "notes.md" in said.err and "ignored" in said.err
    assert state(lab) == before
    refused = lab.burnish("handoff", "1", "--json", code=4).json
    assert refused["blocking"] == [".burnish/tasks/1-add-division/notes.md", "app.py"]
    assert refused["benign"] == [".burnish/tasks/7-other/task.md"]
    forced = lab.burnish("handoff", "1", "--force", "--json").json
    assert "half-baked words" not in forced["prompt"] and forced["blocking"] == refused["blocking"]


@pytest.mark.long
def test_what_burnish_itself_wrote_beside_the_task_is_benign_until_somebody_changes_it(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    story = lab.burnish("show", "review-cycle://1/task.json").out
    dirt(lab, ".burnish/tasks/1-add-division/task.json", story)
    lab.burnish("handoff", "1")
    dirt(lab, ".burnish/tasks/1-add-division/task.json", story + "\n")
    lab.burnish("handoff", "1", code=4)


@pytest.mark.slow
def test_a_review_of_a_commit_that_is_no_longer_the_branchs_is_refused(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    old = lab.task()["commit"]
    branch = lab.task()["branch"]
    tree = lab.repo.git("rev-parse", f"{branch}^{{tree}}").strip()
    new = lab.repo.git("commit-tree", tree, "-p", old, "-m", "by hand").strip()
    lab.repo.git("update-ref", f"refs/heads/{branch}", new)
    before = state(lab)
    approval = write(lab, "Verdict: approved\n")
    for argv in ((), ("--commit", old), ("--commit", "0" * 40)):
        lab.burnish("review", "1", "--from", approval, *argv, code=4)
    approved = {"verdict": "approved", "summary": "good", "inspected": ["app.py"], "findings": []}
    for stale in (
        f"---\ncommit: {old}\n---\nVerdict: approved\n",
        f"---\nCommit: {old[:12].upper()} (main)\n---\nVerdict: approved\n",
        "---\ncommit: 1234567\n---\nVerdict: approved\n",
        {**approved, "commit": old},
    ):
        lab.burnish("review", "1", "--from", write(lab, stale, "old.md"), code=4)
    old_report = {"runs": [{"results": [], "versionControlProvenance": [{"revisionId": old}]}]}
    lab.burnish("review", "1", "--from", write(lab, old_report, "old.sarif"), "--verdict", "approved", code=4)
    assert state(lab)[:2] == before[:2]

    lab.burnish("review", "1", "--from", approval, "--commit", new[:12])
    task = lab.show(1)
    assert (task["status"], task["approval"]["commit"], len(task["cycles"])) == ("verified", new, 2)


def test_files_that_a_command_names_are_looked_for_in_the_directory_of_the_option_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with `git -C`: the program does as if it had been started there."""
    lab = Lab.make(tmp_path / "lab", extra="review: {agents: [judge], trigger: explicit}\n")
    lab.add()
    lab.burnish("run", code=None)
    lab.repo.write({"notes/review.md": REJECTION})
    monkeypatch.chdir(tmp_path)
    assert "CHANGES_REQUESTED" in lab.burnish("review", "1", "--from", "notes/review.md", code=1).err


def test_an_agent_cannot_bring_a_review_or_hand_over_from_inside_a_phase(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    file, before = write(lab, "Verdict: approved\n"), state(lab)
    for argv in (
        ("review", "1", "--from", file),
        ("handoff", "1"),
        ("review", "1", "--from", file, "--verdict", "approved"),
    ):
        said = lab.apart(*argv, code=4, BURNISH_TASK="1")
        assert "inside a phase" in said.err
    assert state(lab) == before


@pytest.mark.slow
def test_a_person_does_not_wave_through_what_was_rejected_on_the_same_code(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add("Add division", "--max-cycles", "1")
    lab.burnish("run", code=1)
    assert lab.task()["status"] == "blocked"

    lab.burnish("review", "1", "--from", write(lab, "Verdict: approved\n"), code=1)
    assert (lab.task()["status"], lab.task()["reason"]) == ("blocked", "max_cycles")

    lab.burnish("review", "1", "--from", write(lab, "F1: invalid, zero never comes\n\nVerdict: approved\n"))
    task = lab.show(1)
    assert task["status"] == "verified" and "zero never comes" in task["findings"][0]["note"]


@pytest.mark.long
def test_what_was_rejected_outright_is_not_approved_by_another_review(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    lab.burnish("review", "1", "--from", write(lab, "Wrong approach.\n\nVerdict: rejected\n"), code=1)
    task = lab.task()
    assert (task["status"], task["reason"], task["error"]) == ("blocked", "human_rejected", "REVIEW_REJECTED")
    assert (task["final_verdict"], task["review_status"]) == ("REJECTED", "rejected")
    before = state(lab)
    said = lab.burnish("review", "1", "--from", write(lab, "Verdict: approved\n"), code=4)
    assert "burnish override 1" in said.err and state(lab) == before


@pytest.mark.long
def test_checks_that_have_not_seen_the_code_are_run_before_a_persons_word_counts(tmp_path: Path) -> None:
    broken = f"checks: {{test: null, lint: null, extra: {{bug: {{command: '! grep -q BUG app.py'}}}}}}\n{EXPLICIT}"
    lab = handed(tmp_path, EXPLICIT)
    lab.settle(broken)
    branch, old = lab.task()["branch"], lab.task()["commit"]
    tree = lab.repo.git("rev-parse", f"{branch}^{{tree}}").strip()
    new = lab.repo.git("commit-tree", tree, "-p", old, "-m", "by hand").strip()
    lab.repo.git("update-ref", f"refs/heads/{branch}", new)

    lab.burnish("review", "1", "--from", write(lab, "Verdict: approved\n"), "--commit", new, code=1)

    task = lab.show(1)
    assert task["status"] == "in_progress"
    assert [f["reviewers"] for f in task["findings"]] == [["check:bug"]]


@pytest.mark.long
def test_a_person_who_approved_is_not_asked_again(tmp_path: Path) -> None:
    lab = handed(tmp_path, f"approval: required\nhitl_review: every\n{EXPLICIT}", "--skip-tests")
    lab.burnish("review", "1", "--from", write(lab, "Verdict: approved\n"))
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_an_approval_goes_on_to_the_pipeline(tmp_path: Path) -> None:
    lab = handed(tmp_path, f"pipeline: [{{name: security, agents: [judge]}}]\n{EXPLICIT}")
    lab.agent("judge", APPROVE)
    lab.burnish("review", "1", "--from", write(lab, "Verdict: approved\n"), code=1)
    assert lab.task()["status"] == "code_review"
    lab.burnish("run", "1")
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_a_review_on_stdin_is_taken(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    words = [sys.executable, "-m", "burnish.cli", "-C", str(lab.repo.path), "review", "1", "--from", "-", "--json"]
    done = subprocess.run(words, input=b"Verdict: approved\n", env={**os.environ, **lab.env}, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "approved" and lab.task()["status"] == "verified"


@pytest.mark.long
def test_a_person_takes_over_where_the_reviewing_agent_failed(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge="sys.exit(7)")
    lab.add()
    lab.burnish("run", code=3)
    assert lab.task()["status"] == "failed"
    lab.burnish("handoff", "1")
    assert lab.task()["status"] == "code_review"
    assert "No task is ready" in lab.burnish("run", "--all").err
    lab.burnish("review", "1", "--from", write(lab, "Verdict: approved\n"))
    assert lab.task()["status"] == "verified"


@pytest.mark.long
def test_what_was_sent_back_may_be_handed_over_and_an_approval_is_void_by_it(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    lab.burnish("review", "1", "--from", write(lab, REJECTION), code=1)
    lab.burnish("handoff", "1")
    assert (lab.task()["status"], lab.task()["cycle"]) == ("code_review", 1)
    lab.burnish("review", "1", "--from", write(lab, "F1: resolved, I misread it\n\nVerdict: approved\n"))
    assert lab.task()["status"] == "verified"
    lab.burnish("handoff", "1")
    assert lab.task()["status"] == "code_review" and not lab.show(1)["approval"]["valid"]
    lab.burnish("merge", "1", code=4)


@pytest.mark.long
def test_killed_before_it_is_taken_it_is_brought_again_and_killed_after_it_is_only_decided(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    bring = ("review", "1", "--from", write(lab, "Verdict: approved\n"))
    lab.apart(*bring, code=-signal.SIGKILL, BURNISH_FAILPOINT="outside-handed")
    assert lab.task()["status"] == "code_review" and lab.events("review.completed") == []
    lab.apart(*bring, code=-signal.SIGKILL, BURNISH_FAILPOINT="outside-taken")
    calls = len(lab.calls())
    lab.burnish("run", "1")
    assert (lab.task()["status"], len(lab.calls())) == ("verified", calls)
    assert len(lab.events("review.completed")) == len(lab.events("review.approved")) == 1


@pytest.mark.long
@pytest.mark.parametrize("status", ["backlog", "cancelled"])
def test_a_task_that_cannot_be_reviewed_is_not_handed_over(tmp_path: Path, status: str) -> None:
    lab = Lab.make(tmp_path)
    lab.add()
    if status == "cancelled":
        lab.burnish("cancel", "1")
    lab.burnish("handoff", "1", code=4)
    lab.burnish("review", "1", "--from", write(lab, "Verdict: approved\n"), code=4)
    assert lab.task()["status"] == status


@pytest.mark.long
def test_a_second_review_of_a_cycle_stands_beside_the_first_and_takes_nothing_away(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    lab.burnish("review", "1", "--from", write(lab, REJECTION), code=1)
    first = lab.burnish("show", "review-cycle://1/review-cycle-1.md").out
    lab.burnish("review", "1", "--from", write(lab, "Verdict: changes requested\n\n- app.py:3: No docstring\n"), code=1)

    text = lab.burnish("show", "review-cycle://1/review-cycle-1.md").out
    artifact = parse_artifact(text, "it")
    assert (len(artifact.reviewers), artifact.cycle, len(lab.show(1)["cycles"])) == (2, 1, 1)
    assert render_artifact(artifact, limit=1 << 30) == text
    assert "Zero is not handled" in text and "No docstring" in text
    assert "in full in review-cycle-1.attempt-1.md" in text
    assert lab.burnish("show", "review-cycle://1/review-cycle-1.attempt-1.md").out == first
    assert lab.burnish("show", "review-cycle://1/outside-review-1.md").out == REJECTION
    assert "No docstring" in lab.burnish("show", "review-cycle://1/outside-review-1.attempt-2.md").out


def test_the_command_tells_what_it_read_and_where(tmp_path: Path) -> None:
    lab = handed(tmp_path)
    file = write(lab, "Looks right.\n\nVerdict: changes requested\n\n- app.py:4: Zero is not handled\n")
    printed = lab.burnish("review", "1", "--from", file, code=1)
    assert f"Read CHANGES_REQUESTED from line 3 of {file}, 1 finding; text beside it is stored" in printed.err
    lab.burnish("run", "1", code=None)
    file = write(lab, "---\nreviewer: ada\n---\nLooks right now.\n\n**Verdict: APPROVED**\n")
    printed = lab.burnish("review", "1", "--from", file, "--json")
    assert printed.json["read"] == {
        "file": file, "verdict": "approved", "place": "line 6", "findings": 0, "rulings": {"F1": "resolved"},
    }  # fmt: skip
    assert any(
        f"Read APPROVED from line 6 of {file}, 0 findings, F1 resolved" in note for note in printed.json["notes"]
    )

"""Plant, reject, fix, approve: the whole loop, and nothing of the user's touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import Lab


@pytest.mark.slow
def test_a_planted_defect_is_found_fixed_and_approved_and_the_user_notices_nothing(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    (lab.repo.path / "notes.txt").write_text("uncommitted\n")
    (lab.repo.path / "app.py").write_text("half an idea\n")
    hook = lab.repo.path / ".git" / "hooks" / "post-commit"
    hook.write_text("#!/bin/sh\ntouch hook-ran\n")
    hook.chmod(0o755)
    before = lab.repo.fingerprint()

    lab.add("Add division")
    said = lab.burnish("run")

    task = lab.show(1)
    assert (task["status"], task["final_verdict"], task["cycle"]) == ("verified", "APPROVED", 2)
    assert task["review_status"] == "passed" and task["open_findings"] == 0
    assert lab.repo.fingerprint() == before
    assert "2 uncommitted paths" in said.err

    branch = task["branch"]
    assert branch == "burnish/1-add-division"
    assert lab.commits(branch) == ["feat: Add division", "fix: address review feedback (cycle 2)"]
    body = lab.repo.git("log", "-1", "--format=%B", branch)
    for line in ("Fixes from review cycle 1", "F1", "Burnish-Task: 1", "Burnish-Cycle: 2", "Burnish-Phase: improve"):
        assert line in body.splitlines()
    assert "Burnish-Agent: robot" in body
    assert "half an idea" not in lab.text(branch)

    (finding,) = task["findings"]
    assert (finding["id"], finding["state"], finding["first_cycle"]) == ("F1", "resolved", 1)
    files = lab.repo.git("ls-tree", "-r", "--name-only", "refs/burnish/artifacts/1-add-division").splitlines()
    names = {Path(file).name for file in files}
    assert {"review-cycle-1.md", "review-cycle-2.md", "agent-output-1.md", "task.json", "events.jsonl"} <= names
    assert [c["review_status"] for c in task["cycles"]] == ["failed", "passed"]
    assert set(lab.refs("refs/heads/")) == {"refs/heads/main", f"refs/heads/{branch}"}


@pytest.mark.long
def test_every_change_of_status_is_exactly_one_event(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add()
    lab.burnish("run")
    moves = [(e["data"]["from"], e["data"]["to"]) for e in lab.events("task.status")]
    assert moves == [
        ("backlog", "in_progress"),
        ("in_progress", "code_review"),
        ("code_review", "in_progress"),
        ("in_progress", "code_review"),
        ("code_review", "verified"),
    ]


def test_the_improving_agent_is_told_what_was_found_and_the_reviewer_what_was_there_before(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path)
    lab.add("Add division", "--accept", "zero is handled")
    lab.agent("judge", (CRITERIA))
    lab.burnish("run")
    implement, _, improve, second = lab.calls()
    assert "zero is handled" in implement["prompt"]
    assert "F1" in improve["prompt"] and "Zero is not handled" in improve["prompt"]
    assert "# Earlier Findings" in second["prompt"] and "F1" in second["prompt"]


CRITERIA = """
bad = "# BUG" in app.read_text()
met = [{"item": "zero is handled", "met": not bad}]
if bad:
    print(verdict("changes_requested", "one error", [flaw], compliance=met))
else:
    print(verdict("approved", "good", compliance=met))
"""

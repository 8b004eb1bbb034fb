"""A finding of an earlier review in another tool is settled like any other: the author is asked, the reviewer rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testing.lab import AUTHOR, Lab

FEATURE = {
    "id": "a",
    "title": "Add division",
    "codeReviewSpec": {"findings": [{"title": "Zero is not handled", "file": "app.py"}, "No docstring"]},
}
# rules on the imported findings: open as long as the defect is there
JUDGE = """
state = "open" if "# BUG" in app.read_text() else "resolved"
word = "changes_requested" if state == "open" else "approved"
print(verdict(word, "read", prior=[{"id": id, "state": state} for id in prior]))
"""
# does not look at them
SILENT = 'print(verdict("approved", "good", prior=[]))'


def imported(tmp_path: Path, judge: str, extra: str = "") -> Lab:
    lab = Lab.make(tmp_path / "lab", author=AUTHOR, judge=judge, extra=extra)
    lab.repo.write({"features/a/feature.json": json.dumps(FEATURE)})
    lab.burnish("import", str(lab.repo.path / "features"))
    return lab


def states(lab: Lab) -> dict[str, str]:
    found: list[dict[str, Any]] = lab.burnish("findings", "1", "--json").json["findings"]
    return {one["id"]: one["state"] for one in found}


def test_the_author_gets_an_imported_finding_and_the_reviewer_rules_on_it(tmp_path: Path) -> None:
    lab = imported(tmp_path, JUDGE)
    assert states(lab) == {"F1": "open", "F2": "open"}
    lab.burnish("run")
    assert lab.task()["status"] == "verified" and lab.task()["cycle"] == 2
    prompts = {(call["phase"], call["cycle"]): call["prompt"] for call in lab.calls()}
    assert "Zero is not handled" in prompts["implement", 1]
    assert "F1" in prompts["review", 1] and "F1" in prompts["improve", 2]
    assert states(lab) == {"F1": "resolved", "F2": "resolved"}


def test_a_review_that_says_nothing_about_an_imported_finding_does_not_approve(tmp_path: Path) -> None:
    lab = imported(tmp_path, SILENT, "review: {agents: [judge], max_cycles: 1}\n")
    lab.burnish("run", code=1)
    assert lab.task()["status"] != "verified" and states(lab)["F1"] == "open"


def test_a_task_that_is_started_again_begins_with_the_imported_findings(tmp_path: Path) -> None:
    lab = imported(tmp_path, JUDGE)
    lab.burnish("run")
    lab.burnish("retry", "1", "--restart", "--later")
    lab.burnish("run")
    assert lab.task()["status"] == "verified" and states(lab) == {"F1": "resolved", "F2": "resolved"}
    opened = [event for event in lab.events("finding.opened", task=1) if event["data"]["finding"]["id"] == "F1"]
    assert [event["run"] for event in opened if event["run"]] == [1, 2]

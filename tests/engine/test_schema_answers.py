"""A reviewer that is held to a schema answers with the object alone, and its number counts as much."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.lab import Lab

JUDGE = """
answer = {"number": NUMBER, "verdict": "approved", "summary": "good", "inspected": ["app.py"], "prior": [],
          "compliance": [], "findings": [], "blocking": None, "rejection_reason": None}
print(json.dumps(answer))
"""


def test_the_object_alone_is_a_verdict(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path, judge=JUDGE.replace("NUMBER", "number"))
    lab.add()
    lab.burnish("run", "1")

    assert lab.task()["status"] == "verified"


@pytest.mark.representatives(1)
@pytest.mark.parametrize("number", ["'000000000000'", "''", "None"])
def test_with_another_number_it_is_none(tmp_path: Path, number: str) -> None:
    lab = Lab.make(tmp_path, judge=JUDGE.replace("NUMBER", number))
    lab.add()
    lab.burnish("run", "1", code=None)

    task = lab.task()
    assert task["status"] == "blocked" and "unreadable_review" in str(task)

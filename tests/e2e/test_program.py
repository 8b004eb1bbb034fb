"""A program that prints as Claude Code does, through all of `burnish run`: found, called, resumed, judged by schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from testing.lab import Lab
from testing.program import put_on_path


def calls(lab: Lab) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (lab.root / "program.jsonl").read_text().splitlines()]


@pytest.mark.representatives(1)
@pytest.mark.parametrize("resume", ["true", "false"])
def test_it_is_called_in_every_role_and_resumed_if_wanted(tmp_path: Path, resume: str) -> None:
    lab = Lab.make(tmp_path)
    put_on_path(lab, f"agents: {{claude: {{resume: {resume}}}}}")

    lab.add()
    lab.burnish("run", "1")

    task = lab.task()
    assert task["status"] == "verified" and task["cycle"] == 2
    made = calls(lab)
    assert [call["phase"] for call in made] == ["implement", "review", "improve", "review"]
    assert all("Read,Grep,Glob" in call["argv"] for call in made if call["phase"] == "review")
    assert [("--resume" in call["argv"]) for call in made] == [False, False, resume == "true", False]
    assert task["cost_usd"] == 1.0

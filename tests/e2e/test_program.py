"""A program that prints as Claude Code does, through all of `burnish run`: found, called, resumed, judged by schema."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from testing.lab import Lab

PROGRAM = """
import json, os, pathlib, re, sys
prompt, argv = sys.stdin.read(), sys.argv[1:]
with open(os.environ["HOME"] + "/calls.jsonl", "a") as log:
    log.write(json.dumps({"argv": argv, "phase": os.environ["BURNISH_PHASE"]}) + "\\n")
app = pathlib.Path("app.py")
number = re.search(r"burnish-verdict ([0-9a-f]{12,})", prompt)
result = {"type": "result", "is_error": False, "result": "Done.", "session_id": "one", "total_cost_usd": 0.25,
          "usage": {"input_tokens": 90, "output_tokens": 10}}
if "--json-schema" in argv:
    flaw = {"category": "code", "severity": "error", "title": "Zero", "description": "b may be 0", "file": "app.py"}
    bad = "BUG" in app.read_text()
    ids = sorted(set(re.findall(r"\\bF[0-9]+\\b", prompt)))
    result["structured_output"] = {
        "number": number[1], "verdict": "changes_requested" if bad else "approved", "summary": "s",
        "inspected": ["app.py"], "findings": [flaw] if bad else [], "compliance": [],
        "prior": [{"id": id, "state": "open" if bad else "resolved"} for id in ids]}
elif os.environ["BURNISH_PHASE"] == "implement":
    app.write_text("def div(a, b):\\n    return a / b  # BUG\\n")
else:
    app.write_text("def div(a, b):\\n    return a / b if b else None\\n")
print(json.dumps({"type": "system", "subtype": "init"}))
print(json.dumps(result))
"""


def calls(lab: Lab) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (lab.root / "home" / "calls.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("resume", ["true", "false"])
def test_it_is_called_in_every_role_and_resumed_if_wanted(tmp_path: Path, resume: str) -> None:
    lab = Lab.make(tmp_path)
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{PROGRAM}")
    program.chmod(0o755)
    lab.env["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    settings = f"agents: {{claude: {{resume: {resume}}}}}\nchecks: {{test: null, lint: null}}\n"
    lab.repo.commit({"burnish.yaml": settings}, "settings")

    lab.add()
    lab.burnish("run", "1")

    task = lab.task()
    assert task["status"] == "verified" and task["cycle"] == 2
    made = calls(lab)
    assert [call["phase"] for call in made] == ["implement", "review", "improve", "review"]
    assert all("Read,Grep,Glob" in call["argv"] for call in made if call["phase"] == "review")
    assert [("--resume" in call["argv"]) for call in made] == [False, False, resume == "true", False]
    assert task["cost_usd"] == 1.0

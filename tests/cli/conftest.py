"""A person at a terminal: their repository, their agents, and what they type."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from burnish.cli.main import main
from testing.userrepo import UserRepo

ROBOT = """
import os, pathlib, sys
sys.stdin.read()
print("\\x1b]0;owned\\x07working on it")
app = pathlib.Path("app.py")
app.write_text(app.read_text() + f"# {os.environ['BURNISH_PHASE']} {os.environ['BURNISH_TASK']}\\n")
"""
JUDGE = """
import json, os, re, sys
prompt = sys.stdin.read()
number = re.search(r"burnish-verdict[ \\t]+([0-9a-zA-Z_-]{6,})", prompt)[1]
prior = sorted(set(re.findall(r"\\bF\\d+\\b", prompt)))
flaw = {"category": "code", "severity": "error", "title": "Zero is not handled", "description": "d"}
flaw |= {"file": "app.py", "line": 3}
reply = {"verdict": "approved", "summary": "good", "inspected": ["app.py"], "compliance": [], "findings": []}
reply["prior"] = [{"id": id, "state": "resolved"} for id in prior]
if os.environ["BURNISH_CYCLE"] == "1":
    reply |= {"verdict": "changes_requested", "summary": "one error", "findings": [flaw], "prior": []}
print("```burnish-verdict " + number + "\\n" + json.dumps(reply) + "\\n```")
"""


@dataclass
class Person:
    repo: UserRepo
    folder: Path
    capsys: pytest.CaptureFixture[str]

    def types(self, *argv: str, code: int = 0) -> str:
        """Run a command line that must end with this exit code; what it printed on stdout."""
        ended = main(["-C", str(self.repo.path), *argv])
        out, self.err = self.capsys.readouterr()
        assert ended == code, (argv, out, self.err)
        return out

    def asks(self, *argv: str, code: int = 0) -> Any:
        return json.loads(self.types(*argv, "--json", code=code))

    def task(self, number: int = 1) -> dict[str, Any]:
        tasks = {task["id"]: task for task in self.asks("status")["tasks"]}
        return dict(tasks[str(number)])

    def agent(self, name: str, text: str) -> None:
        (self.folder / f"{name}.py").write_text(text)


@pytest.fixture
def person(tmp_path: Path, user_repo: UserRepo, capsys: pytest.CaptureFixture[str]) -> Person:
    folder = tmp_path / "agents"
    folder.mkdir()
    someone = Person(user_repo, folder, capsys)
    someone.agent("robot", ROBOT)
    someone.agent("judge", JUDGE)
    lines = [f"  {n}: {{kind: command, argv: ['{sys.executable}', '{folder}/{n}.py']}}\n" for n in ("robot", "judge")]
    settings = (
        "agent: robot\nagents:\n" + "".join(lines) + "review:\n  agents: [judge]\nchecks: {test: null, lint: null}\n"
    )
    user_repo.commit({"burnish.yaml": settings}, "settings")
    user_repo.trust()
    return someone

"""The whole loop with a program that speaks ACP as author and a model without a program as judge."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from burnish.config.loading import load
from testing.extras import needs_extra
from testing.lab import Lab
from testing.model_server import ModelServer
from testing.model_turns import Answer, Turn

ROOT = Path(__file__).parents[2]
# The orders that `testing/acp_agent.py` takes from its prompt are lines of the task, and of the finding.
ORDERS = "Do as the lines say.\n\nappend app.py ONE = 1\nsay It is written.\n"
FIX_ORDERS = "Do as the lines say.\n\nappend app.py TWO = 2\nsay It is fixed.\n"


class Judge:
    """Rejects once, then approves; each time with the number of the prompt."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, turn: Turn) -> Answer:
        self.asked += 1
        number = re.findall(r'"number": "([0-9a-f]+)"', turn.prompt)[-1]
        flaw = {"category": "code", "severity": "error", "title": "No second line", "description": FIX_ORDERS}
        prior = [{"id": id_, "state": "resolved", "note": None} for id_ in set(re.findall(r"\bF1\b", turn.prompt))]
        said: dict[str, Any] = {"number": number, "summary": "Looked at.", "inspected": ["app.py"], "prior": prior}
        said |= {"compliance": [], "blocking": None, "rejection_reason": None}
        if self.asked == 1:
            return Answer({**said, "verdict": "changes_requested", "findings": [flaw]})
        return Answer({**said, "verdict": "approved", "findings": []})


@pytest.mark.long
@needs_extra("llm", "pydantic_ai")
@needs_extra("acp", "acp")
def test_rejected_improved_and_approved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab.make(tmp_path)
    program = ROOT / "testing" / "acp_agent.py"
    settings = (
        f"agents:\n  zed: {{kind: acp, argv: ['{sys.executable}', -IS, '{program}']}}\n"
        "  model: {kind: llm, model: some-model}\n"
        "agent: zed\nreview: {agents: [model]}\nchecks: {test: null, lint: null}\n"
    )
    lab.commit_settings(settings)
    lab.add("Write it", "--description", ORDERS)
    judge = Judge()
    with ModelServer(judge) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        lab.burnish("run", code=None)

    assert lab.task()["status"] == "verified", lab.show(1)
    assert judge.asked == 2
    assert lab.repo.git("show", "burnish/1-write-it:app.py").count("TWO = 2") == 1
    assert [finding["state"] for finding in lab.show(1)["findings"]] == ["resolved"]


def test_the_settings_in_the_page_are_settings(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "llm.md").read_text("utf-8")
    for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL):
        (tmp_path / "burnish.yaml").write_text(text, "utf-8")
        assert {entry.kind for entry in load(tmp_path).agents.values()} & {"llm", "acp"}

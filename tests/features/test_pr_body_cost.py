"""The last line of a pull request's text names the cost and where it comes from."""

from __future__ import annotations

import pytest

from burnish.core.history import History
from burnish.core.task import Spec, Task
from burnish.features.merge.pull_request import pr_body


@pytest.mark.parametrize(
    ("usd", "source", "words"),
    [
        (0.42, "program", "cost $0.42 (reported by the agent)"),
        (0.42, "list", "cost $0.42 (list price)"),
        (0.42, "partial", "cost $0.42+ (at least; a part is not known)"),
        (None, "unknown", "cost unknown"),
    ],
)
def test_the_cost_is_named_with_its_source(usd: float | None, source: str, words: str) -> None:
    task = Task("p", 29, Spec("Add feature X"), cycle=1, cost_usd=usd, cost_source=source, tokens=900)
    assert f"Task 29, 1 cycle, {words}, 900 tokens." in pr_body(History(task), approved_commit=None)

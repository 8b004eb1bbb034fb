from __future__ import annotations

from burnish.core.check import CheckReport, CheckStatus, Counts, TestFailure
from burnish.store import Store


def test_a_baseline_is_shared_by_tree_and_command_and_the_first_stays(store: Store, project: str) -> None:
    failure = TestFailure("t::a", "failed", "boom", file="t.py", line=3)
    report = CheckReport("test", "pytest", CheckStatus.FAILED, 1, 2.5, True, Counts(3, 2, 1, 0), (failure,))
    assert store.baseline(project, "tree", "pytest") is None
    store.save_baseline(project, "tree", "pytest", "env", report)
    store.save_baseline(project, "tree", "pytest", "env", CheckReport("test", "pytest", CheckStatus.PASSED))
    assert store.baseline(project, "tree", "pytest", "env") == report
    assert store.baseline(project, "tree", "pytest") == report
    assert store.baseline(project, "tree", "pytest", "other packages") is None
    assert store.baseline(project, "tree", "pytest -x") is None
    assert store.baseline(project, "other", "pytest") is None

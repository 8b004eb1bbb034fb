"""What one run reads does not grow with the number of other tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from burnish.core.task import Spec
from burnish.store import Store, rows
from testing.lab import APPROVE, Lab


def rows_read(lab: Lab, monkeypatch: pytest.MonkeyPatch, *argv: str) -> int:
    read = 0
    real = rows.task_of

    def count(*args: Any, **kwargs: Any) -> Any:
        nonlocal read
        read += 1
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(rows, "task_of", count)
        lab.burnish(*argv)
    return read


def test_a_run_reads_no_other_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab.make(tmp_path, judge=APPROVE)
    lab.add("Alone")
    alone = rows_read(lab, monkeypatch, "run", "1")
    with Store.open(Path(lab.env["BURNISH_HOME"])) as store:
        key = store.projects()[0].key
        for number in range(100):
            store.add_task(key, Spec(f"Task {number}"), max_cycles=3, auto_review=True)
    lab.add("Among many")
    assert rows_read(lab, monkeypatch, "run", "102") <= alone + 5
    assert lab.task(102)["status"] == "verified"

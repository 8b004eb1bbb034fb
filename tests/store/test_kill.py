from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnish.core.task import Spec
from burnish.store import Store
from testing.storydump import dump

ROUNDS = 50 if os.environ.get("BURNISH_TORTURE") else 6

WRITER = """
import sys
from pathlib import Path
from burnish.adapters.stores import open_store
from burnish.core.event import Event
from burnish.store import Store
home, project, life = sys.argv[1:]
store = open_store(Path(home))
def tell(*events):
    told = store.record(project, 1, events)
    sys.stdout.write(f"{told[-1].id}\\n")
    sys.stdout.flush()
n = 0
while True:
    n += 1
    here = store.task(project, 1).status
    there = "blocked" if here == "in_progress" else "in_progress"
    key = {"phase": "implement", "attempt": n}
    run = int(life)
    tell(Event("task.status", {"from": here, "to": there}), Event("phase.started", key, run=run, cycle=1))
    tell(Event("phase.finished", {**key, "cost_usd": 0.1, "tokens": 3, "text": "x" * 3000}, run=run, cycle=1))
"""


@pytest.mark.attacks("kill -9 while the database is written", ROUNDS)
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_a_writer_killed_at_any_moment_loses_nothing_it_was_told_is_safe(
    store: Store, project: str, home: Path, tmp_path: Path
) -> None:
    store.add_task(project, Spec("x"), max_cycles=3, auto_review=True)
    rng = random.Random(7)
    for life in range(1, ROUNDS + 1):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(home), project, str(life)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout
        first = writer.stdout.readline()
        time.sleep(rng.random() * 0.15)
        writer.send_signal(signal.SIGKILL)
        said = [first, *writer.communicate(timeout=30)[0].splitlines()]
        acknowledged = max(int(line) for line in said if line.strip())
        ids = [event.id for event in store.events(project)]
        assert ids == list(range(1, len(ids) + 1))
        assert len(ids) >= acknowledged
    with Store.open(tmp_path / "told") as told:
        row = told.project_for(tmp_path / "app/.git", tmp_path / "app", create=True)
        assert row and row.key == project
        told.replay(project, store.events(project))
        again = dump(told, project)
    assert again == dump(store, project)

"""A process that opens the database a second time, as a server does for some requests, loses nothing by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from burnish.adapters.stores import open_store
from burnish.core.event import Event
from burnish.core.task import Spec

ELSEWHERE = """
import sys
from pathlib import Path
from burnish.adapters.stores import open_store
from burnish.core.event import Event
from burnish.store import Store
with open_store(Path(sys.argv[1])) as store:
    store.record(sys.argv[2], 1, [Event("review.progress", {"message": "from elsewhere"})])
"""


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.usefixtures("database")
def test_opened_and_closed_a_second_time_it_still_sees_and_keeps_everything(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with open_store(home) as store:
        row = store.project_for(tmp_path / "repo" / ".git", tmp_path / "repo", create=True)
        assert row
        store.add_task(row.key, Spec("A task"), max_cycles=3, auto_review=True)
        for round in range(3):
            # as `GET /api/v1/projects` does
            open_store(home).close()
            # another process comes, writes and is the last to go, as far as locks tell
            subprocess.run([sys.executable, "-c", ELSEWHERE, str(home), row.key], check=True)
            assert store.last_event(row.key) == 2 + 2 * round
            store.record(row.key, 1, [Event("review.progress", {"message": "from here"})])
    with open_store(home) as again:
        assert [event.id for event in again.events(row.key)] == list(range(1, 8))

"""Runners, their leases by the clock of the database, and which task each of them holds."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from burnish.core.task import Task
from burnish.store import rows
from burnish.store.database import SHARED, StorePart

# how long a measured difference of clocks counts: a clock may be set meanwhile
_CLOCK_SECONDS = 30.0
# a smaller difference may come from the network
_EQUAL_CLOCKS = 2.0


class Runners(StorePart):
    """The part of the store with runners and claims."""

    def register_runner(self, info: Mapping[str, Any]) -> None:
        """Register a runner; `info` has `id`, and `pid host user command` for display."""
        with self._db.writing(SHARED):
            self._db.all("runner_add", {"id": info["id"], "info": rows.to_json(info), "now": self._now()})
            self._db.all("lease_renew", {"id": info["id"]})

    def renew_lease(self, runner: str) -> None:
        """Record, by the clock of the database, that the runner is alive."""
        with self._db.writing(f"runner {runner}"):
            self._db.all("lease_renew", {"id": runner})

    def lease_age(self, runner: str) -> float | None:
        """Seconds since the runner renewed its lease, by the clock of the database; None after it ended normally."""
        row = self._db.one("lease_age", {"id": runner})
        return float(row["age"]) if row else None

    def lease_ages(self) -> dict[str, float]:
        """`lease_age` of all runners, in one statement."""
        return {str(row["id"]): float(row["age"] or 0.0) for row in self._db.all("lease_ages", {})}

    # what was measured last, and until when it counts
    _measured_clock: tuple[float, float] = (0.0, 0.0)

    def _database_time(self) -> datetime:
        """The time of the database: clocks of machines may disagree, and events are ordered and aged by it."""
        difference, until = self._measured_clock
        if time.monotonic() >= until:
            difference = self.clock_difference()
            self._measured_clock = (difference, time.monotonic() + _CLOCK_SECONDS)
        correction = difference if abs(difference) > _EQUAL_CLOCKS else 0.0
        return datetime.now(UTC) + timedelta(seconds=correction)

    def clock_difference(self) -> float:
        """Seconds by which the clock of this machine is behind that of the database."""
        before = time.time()
        row = self._db.all("clock", {})[0]
        return float(row["seconds"]) - (before + time.time()) / 2

    def runners(self) -> list[dict[str, Any]]:
        return [{**json.loads(r["info"]), "since": r["since"]} for r in self._db.all("runner_list", {})]

    def runner(self, id: str) -> dict[str, Any] | None:
        """The `info` of a runner; None after it ended normally."""
        row = self._db.one("runner_one", {"id": id})
        return json.loads(row["info"]) if row else None

    def note_wait(self, runner: str, project: str, task: int, why: str) -> None:
        """Let all machines see what a task of the runner waits for; `""`: nothing any more."""
        with self._db.writing(SHARED):
            info = self.runner(runner)
            if info is None:
                return  # declared dead meanwhile
            others = {name: words for name, words in info.get("waits", {}).items() if name != f"{project}/{task}"}
            info["waits"] = others | ({f"{project}/{task}": why} if why else {})
            self._db.all("runner_add", {"id": runner, "info": rows.to_json(info), "now": self._now()})

    def forget_runner(self, runner: str) -> bool:
        """Remove the runner; False if another process did so before."""
        with self._db.writing(SHARED):
            return bool(self._db.all("runner_forget", {"id": runner}))

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        """Only one process of all machines is in a block of that name."""
        with self._db.writing(f"block {name}"):
            yield

    def is_upgraded(self) -> bool:
        """Whether a newer burnish has changed the tables since this process started."""
        return self._db.is_upgraded()

    def request_stop(self, runner: str, task: int = 0) -> None:
        """Ask a runner on another machine to end, or to let go of one task."""
        with self._db.writing(SHARED):
            self._db.all("stop_request", {"runner": runner, "task": task})

    def take_stop_requests(self, runner: str) -> list[int]:
        """What this runner is asked to let go of; 0: everything."""
        found = [int(row["task"]) for row in self._db.all("stop_requests_of", {"runner": runner})]
        if found:
            with self._db.writing(SHARED):
                self._db.all("stop_requests_taken", {"runner": runner})
        return found

    def claim(
        self,
        project: str,
        runner: str,
        *,
        ids: Sequence[int] | None,
        is_dead: Callable[[str], bool],
        busy: Sequence[int] = (),
    ) -> Task | None:
        """`busy`: tasks that this process still runs; another runner may hold them by now."""
        from burnish.store import log

        return log.claim(self._db, project, runner, ids=ids, is_dead=is_dead, now=self._now(), busy=busy)

    def holder(self, project: str, id: int) -> dict[str, Any] | None:
        from burnish.store import log

        return log.holder(self._db, project, id)

    def require_claim(self, project: str, id: int, runner: str) -> None:
        """Refuse if this runner no longer holds the task."""
        from burnish.store import log

        log.check_claim(self._db, project, id, runner)

    def release(self, project: str, id: int, runner: str) -> None:
        with self._db.writing(project):
            self._db.all("claim_release", {"project": project, "id": id, "runner": runner})

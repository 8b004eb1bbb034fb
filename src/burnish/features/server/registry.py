"""Every project of this user in one process: what a server works with."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path

from burnish.adapters.task_locks import is_runner_dead
from burnish.core.agent import PlanWindow, UsageLimit
from burnish.core.commit import TargetConflict
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import BadInput, BurnishError, NotFound
from burnish.features.run.run import run_tasks
from burnish.features.server.background_runs import BackgroundRuns, Notice
from burnish.git.discovery import discover
from burnish.git.refs import FileState, KnownRefs, file_state, is_settled
from burnish.proc import clock
from burnish.runtime.app import App
from burnish.runtime.lost_branches import void_lost_approvals
from burnish.runtime.ports import NullProgress
from burnish.runtime.reader import home_of, open_home_to_write
from burnish.runtime.requests import RunRequest
from burnish.runtime.target_conflicts import find_conflicts
from burnish.runtime.tasks import LimitFinder
from burnish.runtime.trust import CheckoutTrust, examine
from burnish.store import Store
from burnish.store.rows import ProjectRow
from burnish.views.board import Holders
from burnish.views.inbox import NO_TASKS, InboxEntry, inbox, waiting_ids


def _missing(row: ProjectRow) -> str:
    """Why the project cannot be opened where it was; "": it can."""
    if not row.root.is_dir():
        return f"The checkout of this project does not exist: {row.root}."
    try:
        found = discover(row.root)
    except BadInput as error:
        return f"The checkout of this project is not a repository any more. {error.what}"
    # its own .git may be gone, and another repository lie around it
    return "" if found.root == row.root.resolve() else f"There is no repository at {row.root} any more."


# A run releases its task within milliseconds of its last event; a machine with a load of 30 took over 10 seconds.
MAX_RELEASE_WAIT = 30.0

# A page that somebody watches asks twice a second, and a run writes events all the time.
SECONDS_BETWEEN_LOOKS = 10.0


@dataclass(frozen=True, slots=True)
class _LookAtBranches:
    """The branches of a project as they are now, and when their commits were looked at."""

    names: frozenset[str]  # of burnish's branches: one that only moved is not lost
    # None without a folder
    folder_state: FileState | None
    # False if the folder was changed just before its names were listed, so that a further change may not show
    is_settled: bool
    packed_refs_time: int
    store_version: int
    at: float

    @classmethod
    def now(cls, common_dir: Path, store_version: int, last: _LookAtBranches | None) -> _LookAtBranches:
        """Lists a thousand names only if their folder was changed since the last look, and once more when it rests."""
        folder = common_dir / "refs/heads/burnish"
        folder_state, packed_refs_time = None, 0
        with suppress(OSError):
            folder_state = file_state(folder.stat())
        with suppress(OSError):
            packed_refs_time = (common_dir / "packed-refs").stat().st_mtime_ns
        rests = folder_state is not None and is_settled(folder_state)
        is_listed = last is not None and last.folder_state == folder_state and last.is_settled == rests
        names = last.names if last and is_listed else _names_in(folder)
        return cls(names, folder_state, rests, packed_refs_time, store_version, time.monotonic())

    def is_current(self, now: _LookAtBranches) -> bool:
        """Branches that were only added since are not lost."""
        if self.packed_refs_time != now.packed_refs_time or not self.names <= now.names:
            return False
        return self.store_version == now.store_version or now.at - self.at < SECONDS_BETWEEN_LOOKS


def _names_in(folder: Path) -> frozenset[str]:
    names = list[str]()
    with suppress(OSError):
        names = os.listdir(folder)  # noqa: PTH208 - ten times as fast
    return frozenset(name for name in names if not name.endswith(".lock"))


@dataclass
class ProjectRegistry:
    """Reading needs only the store. To act, open the project: its settings are read again each time."""

    home: Path
    store: Store
    runs: BackgroundRuns = field(init=False)
    # called after each change in this process; changes by other processes are read from the store
    changed: Callable[[], None] = lambda: None
    # project → the last look at its branches
    _looks: dict[str, _LookAtBranches] = field(default_factory=dict)
    # project → the files of its refs that were read then, or at the start of a run
    _known_refs: dict[str, KnownRefs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.runs = BackgroundRuns(self.home / "serve" / "runs.json", self.open, lambda: self.changed())

    @classmethod
    def here(cls) -> ProjectRegistry:
        home = home_of()
        return cls(home, open_home_to_write(home))

    def projects(self) -> list[ProjectRow]:
        rows = self.store.projects()
        for row in rows:
            self._look_at_branches(row)
        return rows

    def project(self, key: str) -> ProjectRow:
        found = next((row for row in self.store.projects() if row.key == key), None)
        if found is None:
            raise NotFound(f"There is no project {key}.", hint="`burnish projects` lists them.")
        self._look_at_branches(found)
        return found

    def _look_at_branches(self, row: ProjectRow) -> None:
        """Void the approvals of branches that are gone, so that no page shows them."""
        last = self._looks.get(row.key)
        now = _LookAtBranches.now(row.common_dir, self.store.version, last)
        if last is None or not last.is_current(now):
            self._looks[row.key] = now
            self._known_refs.setdefault(row.key, KnownRefs())
            void_lost_approvals(self.home, self.store, [row], self._known_refs)
        else:
            self._looks[row.key] = replace(now, store_version=last.store_version, at=last.at)

    def open(self, key: str) -> App:
        """The project with its settings as they are now."""
        row = self.project(key)
        if why := _missing(row):
            raise BurnishError(
                why,
                hint="If it was moved, run `burnish status` where it is now. Else put it back, or leave the project "
                "out of every list: burnish projects forget",
            )
        app = App.open(row.root, flags={}, store=self.store)
        app.trust = replace(app.trust, is_remote=True)
        app.known_refs = self._known_refs[key]
        return app

    def untrusted(self, row: ProjectRow) -> CheckoutTrust | None:
        """The project's checkout, if it exists and is not trusted in its current state."""
        if _missing(row):
            return None
        trust = replace(examine(discover(row.root), self.home), is_remote=True)
        return None if trust.is_trusted or trust.problem else trust

    def _is_trusted(self, key: str) -> bool:
        row = next((row for row in self.store.projects() if row.key == key), None)
        return row is None or self.untrusted(row) is None

    def alive(self, runner: str) -> bool:
        """True if the runner that holds a task is alive."""
        return not is_runner_dead(self.store, self.home / "locks", runner)

    def holders(self) -> Holders:
        """Who may hold a task, which of them are this process, and what it is going to take up."""
        # limits are read only if a card or a page shows them
        finder = cache(self.limit_finder)

        def words(task: Task) -> str:
            limit = finder().limit_of(task)
            return limit.wait_words(clock.now()) if limit else ""

        found = Holders.of(self.store, self.alive, os.getpid(), self.runs.queue(), words)
        return replace(found, is_trusted=cache(self._is_trusted))

    def limit_finder(self) -> LimitFinder:
        return LimitFinder(self.store, self.limits(), self.open, self.alive)

    def inbox(self, rows: Sequence[ProjectRow], all_tasks: Mapping[str, Sequence[Task]] = NO_TASKS) -> list[InboxEntry]:
        """Everything of these projects that needs a person. `all_tasks`: all tasks of a project, if they were read."""
        conflicts = find_conflicts(self.home, self.store, rows, all_tasks=all_tasks)
        keys, today = [row.key for row in rows], date.today().isoformat()
        found = inbox(self.store, keys, today=today, alive=self.alive, conflicts=conflicts, all_tasks=all_tasks)
        # this server takes up what is queued by itself
        is_queued = self.runs.queue()
        return [e for e in found if e.kind not in ("interrupted", "voided") or not is_queued(e.task)]

    def conflict(self, row: ProjectRow, task: int) -> TargetConflict | None:
        """The conflict of an approved task with its target."""
        if self.store.task(row.key, task).status is not Status.VERIFIED:
            return None
        return find_conflicts(self.home, self.store, [row]).get((row.key, task))

    def waiting(
        self, rows: Sequence[ProjectRow], all_tasks: Mapping[str, Sequence[Task]] = NO_TASKS
    ) -> frozenset[tuple[str, int]]:
        """Project and number of what waits for a person, without what only needs to be merged."""
        conflicts, today = find_conflicts(self.home, self.store, rows, all_tasks=all_tasks), date.today().isoformat()
        is_queued, alive = self.runs.queue(), self.alive
        return frozenset(
            (row.key, task)
            for row in rows
            for task in waiting_ids(
                self.store,
                row.key,
                all_tasks.get(row.key),
                today=today,
                alive=alive,
                is_queued=is_queued,
                conflicts=conflicts,
            )
        )

    def begin(self, app: App, request: RunRequest) -> tuple[Task, ...]:
        """Run tasks here, in the background; what cannot be run is refused now. Those it begins with, in order."""
        for number in request.ids:
            self._wait_for_release(app, number)
        tasks = run_tasks(app, replace(request, dry_run=True), progress=NullProgress()).planned
        if not request.dry_run:
            self.runs.start(app, request)
        return tasks

    def _wait_for_release(self, app: App, number: int) -> None:
        """Wait for a run of this server that a person answered at the gate before the run had released the task.

        Such a task has no open phase. One that is at work has one, and is refused at once.
        """
        deadline = time.monotonic() + MAX_RELEASE_WAIT
        while time.monotonic() < deadline:
            task = self.store.task(app.key, number)
            if task.status is not Status.IN_PROGRESS or task.phase or self.holders().standing(task) != "here":
                return
            time.sleep(0.02)

    def stop(self, key: str, task: int) -> bool:
        """End the agents of one task, as Ctrl-C does, or take it out of the queue; False where it is not run here."""
        found = self.store.task(key, task)
        return self.holders().standing(found) in ("here", "queued") and self.runs.stop(found)

    def requeue(self, app: App, task: int) -> None:
        """Put a task back into the queue that it was taken out of; into a run of its own if that one has ended."""
        found = self.store.task(app.key, task)
        if self.holders().standing(found) != "queued" and not self.runs.requeue(found):
            self.begin(app, RunRequest(ids=(task,)))

    def notices(self) -> list[Notice]:
        """The notes of runs for the user, oldest first."""
        return self.runs.notices()

    def limits(self) -> list[UsageLimit]:
        """Logins whose plan is used up now."""
        return self.store.limits.current_limits(clock.now())

    def windows(self) -> list[tuple[str, PlanWindow]]:
        """How much of its plan each login has used."""
        return self.store.limits.current_windows(clock.now())

    def close(self) -> None:
        self.runs.close()
        self.store.close()

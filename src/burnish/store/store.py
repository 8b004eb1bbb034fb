"""The store: one database per user. Events are authoritative; other tables are derived from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from burnish.core.codec import encode
from burnish.core.status import Status
from burnish.core.task import NewTask, Spec, Task, TaskType
from burnish.errors import BurnishError
from burnish.store import planning, projects, rows
from burnish.store.database import Database, Params, ResultRow
from burnish.store.limit_records import LimitRecords
from burnish.store.machine import known_machine, machine_id
from burnish.store.rows import ProjectRow
from burnish.store.runners import Runners
from burnish.store.sqlite import SqliteDatabase
from burnish.store.task_history import TaskHistory
from burnish.store.trouble import no_such_task

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from burnish.core.event import Event, RecordedEvent
    from burnish.store.approval_rows import ApprovalReader, RecordedApproval
    from burnish.store.copy import Content
    from burnish.store.metrics import StoreCounts
    from burnish.store.people import PeopleRecords
    from burnish.store.tally import Tally

# What writes, and the types of the journal, are imported by the methods that need them: `burnish status` does not.


# most ids as parameters of one query; more are filtered afterwards
MAX_IDS = 500


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _postgresql(url: str) -> Database:
    database: Database = _driver().PostgresqlDatabase.open(url)
    return database


def _driver() -> ModuleType:
    try:
        from burnish.store import postgresql
    except ImportError as error:
        raise BurnishError(
            "A PostgreSQL database needs psycopg, which is not installed.", hint="pip install 'burnish[cluster]'"
        ) from error
    return postgresql


def look_at(url: str) -> tuple[str, bool]:
    """The name of a PostgreSQL database, and whether it has tables of burnish. Creates none."""
    driver = _driver()
    return driver.address(url), driver.has_tables(url)


class Store(TaskHistory, Runners):
    """Thread-safe: each thread has its own connection."""

    def __init__(self, db: Database, clock: Callable[[], datetime] | None = None, *, home: Path | None = None) -> None:
        self._db = db
        # names this machine in a database that machines share
        self._home = home
        self._clock = clock or (self._database_time if db.is_shared else _utc_now)
        # brief tasks with the rows they were read from: a board reads all of them with every change
        self._brief_cache: dict[tuple[str, int], tuple[tuple[Any, ...], Task]] = {}
        self._approval_reader: ApprovalReader | None = None

    @classmethod
    def open(
        cls, home: Path, *, url: str | None = None, create: bool = True, clock: Callable[[], datetime] | None = None
    ) -> Store:
        """The SQLite database in the home, or the PostgreSQL database at `url`."""
        if url:
            return cls(_postgresql(url), clock, home=home)
        return cls(SqliteDatabase.open(home, create=create), clock)

    @classmethod
    def open_moved(cls, home: Path) -> Store:
        """The SQLite database in the home, also if its tasks were moved away."""
        return cls(SqliteDatabase.open(home, create=False, even_if_moved=True))

    @classmethod
    def create_file(cls, path: Path) -> Store:
        """A new SQLite database at this path."""
        return cls(SqliteDatabase.create(path))

    @classmethod
    def open_reading(cls, home: Path, *, url: str | None = None) -> Store:
        """Open for reading; works also with a read-only home, a full disk or a locked database: see `obstacle`."""
        if url:
            return cls(_postgresql(url), home=home)
        return cls(SqliteDatabase.open_reading(home))

    @property
    def obstacle(self) -> BurnishError | None:
        """Why the store cannot be written; None if it can."""
        return self._db.obstacle

    def changing_copy(self, obstacle: BurnishError) -> AbstractContextManager[None]:
        """Change what this process reads, without writing to the home. `obstacle`: why the home cannot be written."""
        return self._db.changing_copy(obstacle)

    def content(self) -> Content:
        """The number of rows of each table, and a digest."""
        from burnish.store.copy import content_of, locked

        with locked(self._db):
            return content_of(self._db)

    def copy_to(self, target: Store) -> Content:
        """Copy all rows to an empty database in one transaction, and compare them."""
        from burnish.store.copy import copy_rows

        return copy_rows(self._db, target._db)

    @property
    def limits(self) -> LimitRecords:
        """Usage limits, and used shares of plans. They belong to logins, not to projects."""
        return LimitRecords(self._db)

    @property
    def people(self) -> PeopleRecords:
        """People of the server, and what they did. They belong to no project."""
        # imported here, so that commands that only read start faster
        from burnish.store.people import PeopleRecords

        return PeopleRecords(self._db, self._now)

    def counts(self) -> StoreCounts:
        """Counts of all projects, for metrics."""
        from burnish.store.metrics import count

        return count(self._db)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The database for messages: a path, or an address without its password."""
        return self._db.name

    def server(self) -> str:
        """The program behind the database, and its version."""
        return self._db.server()

    @property
    def is_shared(self) -> bool:
        """Whether runners on other machines use it."""
        return self._db.is_shared

    @property
    def statements(self) -> int:
        """Number of SQL statements so far."""
        return self._db.statements

    @property
    def version(self) -> int:
        """A number that changes whenever another connection or process has written."""
        return self._db.version()

    def _now(self) -> str:
        return self.now()

    def now(self) -> str:
        """The time of new events: of the database's server if machines share it. ISO 8601, UTC, milliseconds."""
        now = self._clock().astimezone(UTC)
        return now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03d}Z"

    # projects

    def machine(self, *, create: bool = True) -> str:
        """The name of this home in a database that machines share; "" with SQLite, or before it has one."""
        if self._home is None or not self._db.is_shared:
            return ""
        return machine_id(self._home) if create else known_machine(self._home)

    def project_for(self, common_dir: Path, root: Path, *, create: bool) -> ProjectRow | None:
        machine = self.machine(create=create)
        return projects.project_for(self._db, common_dir, root, create=create, now=self._now(), machine=machine)

    def add_checkout(self, project: ProjectRow, common_dir: Path, root: Path) -> ProjectRow:
        """Record where a project of another machine is on this one."""
        return projects.add_checkout(self._db, project, common_dir, root, machine=self.machine())

    def relink(self, project: ProjectRow, common_dir: Path, root: Path) -> ProjectRow:
        return projects.relink(self._db, project, common_dir, root, now=self._now(), machine=self.machine())

    def set_root(self, project: ProjectRow, root: Path) -> ProjectRow:
        return projects.set_root(self._db, project, root, machine=self.machine())

    def set_repository_id(self, key: str, repository_id: str) -> None:
        projects.set_repository_id(self._db, key, repository_id)

    def projects(self) -> list[ProjectRow]:
        return projects.all_projects(self._db, machine=self.machine(create=False))

    def forget(self, key: str) -> None:
        projects.forget(self._db, key)

    # tasks

    def add_task(self, project: str, spec: Spec, *, max_cycles: int, auto_review: bool) -> Task:
        from burnish.core.journal_events import TaskCreated, new_event
        from burnish.store import log

        planning.check_fields({"title": spec.title})
        data = TaskCreated(encode(spec), max_cycles, auto_review)
        with self._db.writing(project):
            id = planning.next_id(self._db, project)
            planning.check_dependencies_exist(self._db, project, spec.depends_on)
            log.append(self._db, project, id, [new_event("task.created", data)], ts=self._now())
            return self.task(project, id)

    def add_tasks(self, project: str, build: Callable[[int, list[Task]], list[NewTask]]) -> list[Task]:
        """Add several tasks, or none if one is refused. `build` gets the first new number and the tasks that exist."""
        from burnish.core.journal_events import FindingChanged, TaskCreated, new_event
        from burnish.store import log

        with self._db.writing(project):
            new_tasks = build(planning.next_id(self._db, project), self.tasks(project))
            ids = []
            for new in new_tasks:
                planning.check_fields({"title": new.spec.title})
                ids.append(planning.next_id(self._db, project))
                planning.check_dependencies_exist(self._db, project, new.spec.depends_on)
                data = TaskCreated(encode(new.spec), new.max_cycles, new.auto_review)
                events = [new_event("task.created", data)]
                events += [new_event(finding.event_type, FindingChanged(finding), cycle=0) for finding in new.findings]
                log.append(self._db, project, ids[-1], events, ts=self._now())
            return [self.task(project, id) for id in ids]

    def edit_task(self, project: str, id: int, changes: Mapping[str, Any]) -> Task:
        """Change fields of the spec (its `max_cycles` and `auto_review` are the task's as well)."""
        from burnish.core.journal_events import TaskEdited, new_event
        from burnish.store import log

        planning.check_fields(changes)
        with self._db.writing(project):
            self.task(project, id)
            if "depends_on" in changes:
                needs = tuple(changes["depends_on"])
                planning.check_dependencies_exist(self._db, project, needs)
                planning.check_circle(self._db, project, id, needs)
            event = new_event("task.edited", TaskEdited(changes))
            log.append(self._db, project, id, [event], ts=self._now())
            return self.task(project, id)

    def task(self, project: str, id: int) -> Task:
        row = self._db.one("task_one", {"project": project, "id": id})
        if row is None:
            raise no_such_task(id)
        return rows.task_of(row)

    def tasks(
        self,
        project: str | None = None,
        *,
        statuses: Iterable[Status] | None = None,
        ids: Iterable[int] | None = None,
        brief: bool = False,
    ) -> list[Task]:
        """Tasks by number. `brief`: without the long texts of the spec, for lists."""
        name = ("task_list_all" if project is None else "task_list") + ("_brief" if brief else "")
        status_list = list(Status if statuses is None else statuses)
        id_set = None if ids is None else set(ids)
        if id_set is not None and project is not None and not brief and len(id_set) <= MAX_IDS:
            few: Params = {"project": project, "statuses": status_list, "ids": sorted(id_set)}
            return [rows.task_of(row) for row in self._db.all("task_list_of", few)]
        found = self._db.all(name, {"project": project, "statuses": status_list})
        read = self._brief if brief else rows.task_of
        return [read(row) for row in found if id_set is None or row["id"] in id_set]

    def first_tasks(self, project: str, status: Status, most: int) -> list[Task]:
        """The first `most` tasks of a status, brief: by priority, by number, or (finished ones) the newest."""
        names = {
            Status.BACKLOG: "task_list_first_backlog",
            Status.COMPLETED: "task_list_newest",
            Status.CANCELLED: "task_list_newest",
        }
        found = self._db.all(
            names.get(status, "task_list_first_open"), {"project": project, "status": status, "most": most}
        )
        return [self._brief(row) for row in found]

    def first_unheld_tasks(self, project: str, status: Status, most: int, *, lease: float) -> list[Task]:
        """The first `most` tasks of a status that no runner holds whose lease is younger than `lease` seconds."""
        params: Params = {"project": project, "status": status, "most": most, "lease": lease}
        return [self._brief(row) for row in self._db.all("task_list_first_unheld", params)]

    def task_totals(self, project: str) -> list[rows.TaskTotal]:
        """Counts and costs of all tasks, computed by the database."""
        return [rows.total_of(row) for row in self._db.all("task_totals", {"project": project})]

    def has_begun_tasks(self, project: str) -> bool:
        """Whether any task has a branch."""
        return bool(self._db.all("task_any_begun", {"project": project}))

    def task_branches(self, project: str, statuses: Iterable[Status]) -> list[rows.TaskBranch]:
        """Tasks with a commit on a branch, with few fields: each start of a run reads all of them."""
        found = self._db.all("task_branches", {"project": project, "statuses": list(statuses)})
        return [rows.TaskBranch(*row) for row in found]

    def recorded_approvals(self, project: str, statuses: Iterable[Status]) -> list[RecordedApproval]:
        """The approvals of tasks with one of these statuses, with few fields of the tasks."""
        if self._approval_reader is None:
            from burnish.store.approval_rows import ApprovalReader

            self._approval_reader = ApprovalReader(self._db)
        return self._approval_reader.read(project, list(statuses))

    def tasks_on_branch(self, project: str, branch: str) -> list[Task]:
        found = self._db.all("task_list_on_branch", {"project": project, "branch": branch})
        return [rows.task_of(row) for row in found]

    def improving(self, project: str) -> list[Task]:
        """Backlog tasks of type `improve`."""
        found = map(rows.task_of, self._db.all("task_list_improving", {"project": project}))
        return [task for task in found if task.spec.type is TaskType.IMPROVE]

    def needing(self, project: str) -> set[int]:
        """Tasks that need a machine with certain labels."""
        return {int(row["id"]) for row in self._db.all("task_ids_needing", {"project": project})}

    def paused_backlog(self, project: str) -> list[Task]:
        """Backlog tasks that are paused."""
        found = map(rows.task_of, self._db.all("task_list_paused", {"project": project}))
        return [task for task in found if task.is_paused]

    def _brief(self, row: ResultRow) -> Task:
        """A brief task; decoded again only if the row has changed, because comparing is ten times faster."""
        key, columns = (row["project"], row["id"]), tuple(row)
        cache_entry = self._brief_cache.get(key)
        if cache_entry is not None and cache_entry[0] == columns:
            return cache_entry[1]
        task = rows.task_of(row, brief=True)
        self._brief_cache[key] = (columns, task)
        return task

    def waiting(self, project: str, ids: Iterable[int] | None = None) -> list[tuple[Task, tuple[int, ...]]]:
        """Backlog tasks that cannot start yet, with their unmet dependencies."""
        unmet = planning.unmet(self._db, project)
        waiting_ids = unmet.keys() if ids is None else unmet.keys() & set(ids)
        return [(task, unmet[task.id]) for task in self.tasks(project, ids=waiting_ids)] if waiting_ids else []

    def unmet_needs(self, project: str) -> dict[int, tuple[int, ...]]:
        """Unmet dependencies of backlog tasks, by number of the task."""
        return planning.unmet(self._db, project)

    # events

    def record(
        self, project: str, task: int | None, events: Sequence[Event], *, runner: str | None = None, taker: str = ""
    ) -> tuple[RecordedEvent, ...]:
        """Store events in one transaction; refuses if `runner` no longer holds the task.

        `taker`: the runner that holds the task from then on; refuses if another one holds it.
        """
        from burnish.store import log

        with self._db.writing(project):
            if runner is not None:
                log.check_claim(self._db, project, task, runner)
            if taker:
                log.take(self._db, project, task, taker, now=self._now())
            return log.append(self._db, project, task, events, ts=self._now())

    def replay(self, project: str, events: Iterable[RecordedEvent]) -> None:
        """Store recorded events in order and rebuild the project's tables; the database must have none of them."""
        from burnish.store import log

        with self._db.writing(project):
            log.replay(self._db, project, events)

    def events(
        self,
        project: str | None = None,
        *,
        task: int | None = None,
        since: int = 0,
        limit: int | None = None,
        types: Iterable[str] | None = None,
    ) -> list[RecordedEvent]:
        """Events with a number above `since`; without a project, events of all projects by time."""
        from burnish.store import log

        return log.read(self._db, project, task, since, limit, types)

    def last_event(self, project: str) -> int:
        """The number of the newest event; 0 if there is none."""
        row = self._db.one("project_last_event", {"project": project})
        return int(row["last"]) if row else 0

    # the audit trail in files

    def mark_archived(self, project: str, task: int, event: int) -> None:
        """Record that the task's files contain all events up to this one. The number never decreases."""
        with self._db.writing(project):
            self._db.all("task_archived", {"project": project, "task": task, "event": event})

    def unarchived(self, project: str) -> list[int]:
        """Tasks that are not running and have events which are not in their files yet."""
        return [row["id"] for row in self._db.all("tasks_unarchived", {"project": project})]

    def spent(self, project: str) -> tuple[float, int]:
        """Known cost in dollars, and tokens, of all tasks so far, including removed ones."""
        row = self._db.all("tasks_spent", {"project": project})[0]
        return float(row["usd"]), int(row["tokens"])

    def tally(self, projects: Sequence[str], *, since: str = "") -> Tally:
        """Input of the statistics."""
        # imported here, so that commands that only read start faster
        from burnish.store.tally import tally

        return tally(self._db, projects, since)

    def ended_phases(self, project: str, since: str) -> Tally:
        """Only the phases of agents that ended since then, on all machines."""
        from burnish.store.tally import ended_phases

        return ended_phases(self._db, project, since)

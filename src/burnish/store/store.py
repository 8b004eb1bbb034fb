"""The store: one database per user. Events are authoritative; other tables are derived from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from burnish.core.codec import decode, encode
from burnish.core.status import Status
from burnish.core.task import NewTask, Spec, Task, TaskType
from burnish.errors import BurnishError
from burnish.store import planning, projects, rows
from burnish.store.database import SHARED, Database, Params, ResultRow
from burnish.store.limit_records import LimitRecords
from burnish.store.rows import ProjectRow
from burnish.store.sqlite import SqliteDatabase
from burnish.store.trouble import no_such_task

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from burnish.core.approval import Approval
    from burnish.core.check import CheckReport
    from burnish.core.event import Event, RecordedEvent
    from burnish.core.finding import Finding
    from burnish.core.history import AnyPhase, DecisionRecord, History
    from burnish.store.approval_rows import ApprovalReader, BaselineOrigins, RecordedApproval
    from burnish.store.copy import Content
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


class Store:
    """Thread-safe: each thread has its own connection."""

    def __init__(self, db: Database, clock: Callable[[], datetime] = _utc_now) -> None:
        self._db = db
        self._clock = clock
        # brief tasks with the rows they were read from: a board reads all of them with every change
        self._brief_cache: dict[tuple[str, int], tuple[tuple[Any, ...], Task]] = {}
        self._approval_reader: ApprovalReader | None = None

    @classmethod
    def open(
        cls, home: Path, *, url: str | None = None, create: bool = True, clock: Callable[[], datetime] = _utc_now
    ) -> Store:
        """The SQLite database in the home, or the PostgreSQL database at `url`."""
        return cls(_postgresql(url) if url else SqliteDatabase.open(home, create=create), clock)

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
        return cls(_postgresql(url) if url else SqliteDatabase.open_reading(home))

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
        """ISO 8601, UTC, milliseconds."""
        now = self._clock().astimezone(UTC)
        return now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03d}Z"

    # projects

    def project_for(self, common_dir: Path, root: Path, *, create: bool) -> ProjectRow | None:
        return projects.project_for(self._db, common_dir, root, create=create, now=self._now())

    def relink(self, project: ProjectRow, common_dir: Path, root: Path) -> ProjectRow:
        return projects.relink(self._db, project, common_dir, root, now=self._now())

    def set_root(self, project: ProjectRow, root: Path) -> ProjectRow:
        return projects.set_root(self._db, project, root)

    def set_repository_id(self, key: str, repository_id: str) -> None:
        projects.set_repository_id(self._db, key, repository_id)

    def projects(self) -> list[ProjectRow]:
        return [rows.project_of(row) for row in self._db.all("project_list", {})]

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
        from burnish.core.journal_events import TaskCreated, new_event
        from burnish.store import log

        with self._db.writing(project):
            new_tasks = build(planning.next_id(self._db, project), self.tasks(project))
            ids = []
            for new in new_tasks:
                planning.check_fields({"title": new.spec.title})
                ids.append(planning.next_id(self._db, project))
                planning.check_dependencies_exist(self._db, project, new.spec.depends_on)
                data = TaskCreated(encode(new.spec), new.max_cycles, new.auto_review)
                log.append(self._db, project, ids[-1], [new_event("task.created", data)], ts=self._now())
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
        self, project: str, task: int | None, events: Sequence[Event], *, runner: str | None = None
    ) -> tuple[RecordedEvent, ...]:
        """Store events in one transaction; refuses if `runner` no longer holds the task."""
        from burnish.store import log

        with self._db.writing(project):
            if runner is not None:
                log.check_claim(self._db, project, task, runner)
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

    # the history of a task

    def history(self, project: str, task: int) -> History:
        from burnish.core.history import History
        from burnish.store.log import decision_of, finding_of, phase_of

        with self._db.reading():
            now = self.task(project, task)
            where: Params = {"project": project, "task": task, "run": now.run}
            return History(
                task=now,
                phases=tuple(phase_of(r) for r in self._db.all("phases_of_run", where)),
                decisions=tuple(decision_of(r) for r in self._db.all("decisions_of_run", where)),
                findings=tuple(finding_of(r) for r in self._db.all("findings_of_run", where)),
            )

    def phases(self, project: str, task: int, run: int | None = None) -> tuple[AnyPhase, ...]:
        """The phases of one run or of all runs, oldest first."""
        from burnish.store.log import phase_of

        name = "phases_of_task" if run is None else "phases_of_run"
        return tuple(phase_of(r) for r in self._db.all(name, {"project": project, "task": task, "run": run}))

    def decisions(self, project: str, task: int) -> tuple[DecisionRecord, ...]:
        """The decisions of all runs, oldest first."""
        from burnish.store.log import decision_of

        found = self._db.all("decisions_of_task", {"project": project, "task": task})
        return tuple(decision_of(r) for r in found)

    def findings(self, project: str, task: int) -> tuple[Finding, ...]:
        """The findings of the current run, by number."""
        from burnish.store.log import finding_of

        found = self._db.all("findings_now", {"project": project, "task": task})
        return tuple(finding_of(r) for r in found)

    def waived_until(self, project: str) -> list[int]:
        """Tasks whose current run has a finding that is waived until a date."""
        return [row["task"] for row in self._db.all("tasks_waived_until", {"project": project})]

    def left_out(self, project: str) -> list[int]:
        """Tasks with files that were not committed because of their names."""
        return [row["task"] for row in self._db.all("tasks_left_out", {"project": project})]

    def approval(self, project: str, task: int) -> Approval | None:
        from burnish.store.approval_rows import approval_of

        row = self._db.one("approval_of", {"project": project, "task": task})
        return approval_of(row) if row else None

    def approvals(self, project: str, statuses: Iterable[Status]) -> list[Approval]:
        """The approvals of all tasks with one of these statuses, with one query."""
        from burnish.store.approval_rows import approval_of

        found = self._db.all("approvals_of_tasks", {"project": project, "statuses": list(statuses)})
        return [approval_of(row) for row in found]

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

    # baselines: a cache by tree, command and environment, shared by many tasks

    def baseline(self, project: str, tree: str, command: str, environment: str | None = None) -> CheckReport | None:
        """The stored report; without an environment, the newest of that tree and command."""
        # imported here, so that commands that only read start faster
        from burnish.core.check import CheckReport

        key = {"project": project, "tree": tree, "command": command}
        if environment is None:
            row = self._db.one("baseline_newest", key)
        else:
            row = self._db.one("baseline_of", {**key, "environment": environment})
        return decode(CheckReport, json.loads(row["report"])) if row else None

    def save_baseline(
        self,
        project: str,
        tree: str,
        command: str,
        environment: str,
        report: CheckReport,
        origins: Mapping[str, str] | None = None,
    ) -> None:
        """Store the report, unless there is one that could be run: all tasks are compared with the same baseline."""
        key = {"project": project, "tree": tree, "command": command, "environment": environment}
        values = {"report": rows.to_json(report), "origins": json.dumps(dict(origins or {})), "now": self._now()}
        with self._db.writing(project):
            self._db.all("baseline_save", {**key, **values})

    def baseline_origins(self, project: str) -> BaselineOrigins | None:
        """Origins of packages in the newest baseline that has them."""
        from burnish.store.approval_rows import BaselineOrigins

        row = self._db.one("baseline_origins", {"project": project})
        return BaselineOrigins(row["command"], json.loads(row["origins"]), row["captured_at"]) if row else None

    # runners and claims

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

    def runners(self) -> list[dict[str, Any]]:
        return [{**json.loads(r["info"]), "since": r["since"]} for r in self._db.all("runner_list", {})]

    def runner(self, id: str) -> dict[str, Any] | None:
        """The `info` of a runner; None after it ended normally."""
        row = self._db.one("runner_one", {"id": id})
        return json.loads(row["info"]) if row else None

    def forget_runner(self, runner: str) -> None:
        with self._db.writing(SHARED):
            self._db.all("runner_forget", {"id": runner})

    def claim(
        self, project: str, runner: str, *, ids: Sequence[int] | None, is_dead: Callable[[str], bool]
    ) -> Task | None:
        from burnish.store import log

        return log.claim(self._db, project, runner, ids=ids, is_dead=is_dead, now=self._now())

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

"""The store: everything burnish knows, in one database per user. Events are the authority."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from burnish.core.approval import Approval
from burnish.core.codec import decode, encode
from burnish.core.event import Event, RecordedEvent
from burnish.core.finding import Finding
from burnish.core.history import AnyPhase, DecisionRecord, History
from burnish.core.status import Status
from burnish.core.task import Spec, Task, TaskType
from burnish.store import claims, log, planning, projects, rows
from burnish.store.database import Database
from burnish.store.projections import no_such_task
from burnish.store.rows import ProjectRow
from burnish.store.sql import Params

if TYPE_CHECKING:
    import sqlite3

    from burnish.core.check import CheckReport
    from burnish.errors import BurnishError
    from burnish.store.tally import Tally


# as parameters of one query; more are picked out of all
MOST_IDS = 500


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Store:
    """Safe to share between threads: each has a connection of its own."""

    def __init__(self, db: Database, clock: Callable[[], datetime] = _utc_now) -> None:
        self._db = db
        self._clock = clock
        # tasks as lists show them, each with the row it was read from: a board asks for all with every change of one
        self._lately: dict[tuple[str, int], tuple[tuple[Any, ...], Task]] = {}

    @classmethod
    def open(cls, home: Path, *, create: bool = True, clock: Callable[[], datetime] = _utc_now) -> Store:
        return cls(Database.open(home, create=create), clock)

    @classmethod
    def open_reading(cls, home: Path) -> Store:
        """For looking: also on a read-only home, with a full disk or a locked database. `obstacle` tells of it."""
        return cls(Database.open_reading(home))

    @property
    def obstacle(self) -> BurnishError | None:
        """Why nothing can be written; None where it can."""
        return self._db.obstacle

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def path(self) -> Path:
        return self._db.path

    @property
    def statements(self) -> int:
        """How many SQL statements were run so far."""
        return self._db.statements

    @property
    def version(self) -> int:
        """Another number than before whenever somebody else has written, be it another process."""
        return self._db.version()

    def _now(self) -> str:
        return log.stamp(self._clock())

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
        planning.check_fields({"title": spec.title})
        data = {"spec": spec, "max_cycles": max_cycles, "auto_review": auto_review}
        with self._db.writing():
            id = planning.next_id(self._db, project)
            planning.check_known(self._db, project, spec.depends_on)
            log.append(self._db, project, id, [Event("task.created", data)], ts=self._now())
            return self.task(project, id)

    def edit_task(self, project: str, id: int, changes: Mapping[str, Any]) -> Task:
        """Change fields of the spec (its `max_cycles` and `auto_review` are the task's as well)."""
        planning.check_fields(changes)
        with self._db.writing():
            self.task(project, id)
            if "depends_on" in changes:
                needs = tuple(changes["depends_on"])
                planning.check_known(self._db, project, needs)
                planning.check_circle(self._db, project, id, needs)
            edited = Event("task.edited", {"changes": encode(changes)})
            log.append(self._db, project, id, [edited], ts=self._now())
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
        """Tasks by number. `brief` leaves the long texts of the spec out: a list needs none."""
        name = ("task_list_all" if project is None else "task_list") + ("_brief" if brief else "")
        wanted = list(Status if statuses is None else statuses)
        chosen = None if ids is None else set(ids)
        if chosen is not None and project is not None and not brief and len(chosen) <= MOST_IDS:
            few: Params = {"project": project, "statuses": wanted, "ids": sorted(chosen)}
            return [rows.task_of(row) for row in self._db.all("task_list_of", few)]
        found = self._db.all(name, {"project": project, "statuses": wanted})
        read = self._brief if brief else rows.task_of
        return [read(row) for row in found if chosen is None or row["id"] in chosen]

    def first_tasks(self, project: str, status: Status, most: int) -> list[Task]:
        """The first `most` tasks of a status, brief: by priority, by number, or (if they are over) the newest."""
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
        """Counts and costs of all tasks, added up by the database: no task is read."""
        return [rows.total_of(row) for row in self._db.all("task_totals", {"project": project})]

    def has_begun_tasks(self, project: str) -> bool:
        """Is there a task with a branch?"""
        return bool(self._db.all("task_any_begun", {"project": project}))

    def task_branches(self, project: str, statuses: Iterable[Status]) -> list[rows.TaskBranch]:
        """Tasks with a commit on a branch, and little else of them: a start of a run looks at all of them."""
        found = self._db.all("task_branches", {"project": project, "statuses": list(statuses)})
        return [rows.TaskBranch(*row) for row in found]

    def recorded_approvals(self, project: str, statuses: Iterable[Status]) -> list[rows.RecordedApproval]:
        """The approvals of tasks with one of these statuses, with little else of the tasks."""
        found = self._db.all("recorded_approvals", {"project": project, "statuses": list(statuses)})
        return [rows.recorded_approval_of(row) for row in found]

    def tasks_on_branch(self, project: str, branch: str) -> list[Task]:
        found = self._db.all("task_list_on_branch", {"project": project, "branch": branch})
        return [rows.task_of(row) for row in found]

    def improving(self, project: str) -> list[Task]:
        """Backlog tasks of type `improve`, without reading the others."""
        found = map(rows.task_of, self._db.all("task_list_improving", {"project": project}))
        return [task for task in found if task.spec.type is TaskType.IMPROVE]

    def _brief(self, row: sqlite3.Row) -> Task:
        """Read anew only if the row is another than the last time: reading costs ten times what comparing does."""
        key, columns = (row["project"], row["id"]), tuple(row)
        known = self._lately.get(key)
        if known is not None and known[0] == columns:
            return known[1]
        task = rows.task_of(row, brief=True)
        self._lately[key] = (columns, task)
        return task

    def waiting(self, project: str, ids: Iterable[int] | None = None) -> list[tuple[Task, tuple[int, ...]]]:
        """Backlog tasks that cannot start yet, each with the dependencies that are not met."""
        unmet = planning.unmet(self._db, project)
        chosen = unmet.keys() if ids is None else unmet.keys() & set(ids)
        return [(task, unmet[task.id]) for task in self.tasks(project, ids=chosen)] if chosen else []

    def unmet_needs(self, project: str) -> dict[int, tuple[int, ...]]:
        """Backlog tasks that cannot start yet, by number, with the dependencies that are not met."""
        return planning.unmet(self._db, project)

    # events

    def record(
        self, project: str, task: int | None, events: Sequence[Event], *, runner: str | None = None
    ) -> tuple[RecordedEvent, ...]:
        """Write facts down, all or none; a `runner` must still hold the task."""
        with self._db.writing():
            if runner is not None:
                log.check_claim(self._db, project, task, runner)
            return log.append(self._db, project, task, events, ts=self._now())

    def replay(self, project: str, events: Iterable[RecordedEvent]) -> None:
        """Rebuild a project's tables from its events, in order, into a database that has none of them."""
        with self._db.writing():
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
        """Events with a number above `since`. Without a project: all of them, in the order of time."""
        return log.read(self._db, project, task, since, limit, types)

    def last_event(self, project: str) -> int:
        """The number of the newest event; 0 where there is none."""
        row = self._db.one("project_last_event", {"project": project})
        return int(row["last"]) if row else 0

    # the story of a task

    def history(self, project: str, task: int) -> History:
        with self._db.reading():
            now = self.task(project, task)
            where: Params = {"project": project, "task": task, "run": now.run}
            return History(
                task=now,
                phases=tuple(rows.phase_of(r) for r in self._db.all("phases_of_run", where)),
                decisions=tuple(rows.decision_of(r) for r in self._db.all("decisions_of_run", where)),
                findings=tuple(rows.finding_of(r) for r in self._db.all("findings_of_run", where)),
            )

    def phases(self, project: str, task: int, run: int | None = None) -> tuple[AnyPhase, ...]:
        """The phase journal, oldest first, of one run or of all."""
        name = "phases_of_task" if run is None else "phases_of_run"
        return tuple(rows.phase_of(r) for r in self._db.all(name, {"project": project, "task": task, "run": run}))

    def decisions(self, project: str, task: int) -> tuple[DecisionRecord, ...]:
        """The decisions of all runs, oldest first."""
        found = self._db.all("decisions_of_task", {"project": project, "task": task})
        return tuple(rows.decision_of(r) for r in found)

    def findings(self, project: str, task: int) -> tuple[Finding, ...]:
        """The findings of the current run, by number."""
        found = self._db.all("findings_now", {"project": project, "task": task})
        return tuple(rows.finding_of(r) for r in found)

    def waived_until(self, project: str) -> list[int]:
        """Tasks with a finding of their current run that is waived for a time."""
        return [row["task"] for row in self._db.all("tasks_waived_until", {"project": project})]

    def left_out(self, project: str) -> list[int]:
        """Tasks whose work had files that were not committed because of their names."""
        return [row["task"] for row in self._db.all("tasks_left_out", {"project": project})]

    def approval(self, project: str, task: int) -> Approval | None:
        row = self._db.one("approval_of", {"project": project, "task": task})
        return rows.approval_of(row) if row else None

    def approvals(self, project: str, statuses: Iterable[Status]) -> list[Approval]:
        """The approvals of all tasks with one of these statuses, by one query."""
        found = self._db.all("approvals_of_tasks", {"project": project, "statuses": list(statuses)})
        return [rows.approval_of(row) for row in found]

    # the audit trail in files

    def mark_archived(self, project: str, task: int, event: int) -> None:
        """The task's files hold everything up to this event. Never goes back."""
        with self._db.writing():
            self._db.all("task_archived", {"project": project, "task": task, "event": event})

    def unarchived(self, project: str) -> list[int]:
        """Tasks that were run, are not being run, and have events which are in no file yet."""
        return [row["id"] for row in self._db.all("tasks_unarchived", {"project": project})]

    def spent(self, project: str) -> tuple[float, int]:
        """Dollars, as far as they are known, and tokens of all tasks so far, removed ones too."""
        row = self._db.all("tasks_spent", {"project": project})[0]
        return float(row["usd"]), int(row["tokens"])

    def tally(self, projects: Sequence[str], *, since: str = "") -> Tally:
        """What statistics are made of."""
        # here and not above: reading commands start without it
        from burnish.store.tally import tally

        return tally(self._db, projects, since)

    # baselines: a cache by tree, command and environment, shared by many tasks

    def baseline(self, project: str, tree: str, command: str, environment: str | None = None) -> CheckReport | None:
        """Without an environment: the newest of that tree and command."""
        # here and not above: reading commands start without it
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
        """The first one stays, unless it could not be run: every task is compared with the same."""
        key = {"project": project, "tree": tree, "command": command, "environment": environment}
        values = {"report": rows.to_json(report), "origins": json.dumps(dict(origins or {})), "now": self._now()}
        with self._db.writing():
            self._db.all("baseline_save", {**key, **values})

    def baseline_origins(self, project: str) -> rows.BaselineOrigins | None:
        """Where packages came from in the newest baseline that has an answer."""
        row = self._db.one("baseline_origins", {"project": project})
        return rows.BaselineOrigins(row["command"], json.loads(row["origins"]), row["captured_at"]) if row else None

    # runners and claims

    def register_runner(self, info: Mapping[str, Any]) -> None:
        """Who runs here; `info` has `id`, and `pid host user command` for people."""
        with self._db.writing():
            self._db.all("runner_add", {"id": info["id"], "info": rows.to_json(info), "now": self._now()})

    def runners(self) -> list[dict[str, Any]]:
        return [{**json.loads(r["info"]), "since": r["since"]} for r in self._db.all("runner_list", {})]

    def runner(self, id: str) -> dict[str, Any] | None:
        """What a runner registered of itself; None once it has ended in order."""
        row = self._db.one("runner_one", {"id": id})
        return json.loads(row["info"]) if row else None

    def forget_runner(self, runner: str) -> None:
        with self._db.writing():
            self._db.all("runner_forget", {"id": runner})

    def claim(
        self, project: str, runner: str, *, ids: Sequence[int] | None, is_dead: Callable[[str], bool]
    ) -> Task | None:
        return claims.claim(self._db, project, runner, ids=ids, is_dead=is_dead, now=self._now())

    def holder(self, project: str, id: int) -> dict[str, Any] | None:
        return claims.holder(self._db, project, id)

    def require_claim(self, project: str, id: int, runner: str) -> None:
        """Refuse if this runner no longer holds the task."""
        log.check_claim(self._db, project, id, runner)

    def release(self, project: str, id: int, runner: str) -> None:
        with self._db.writing():
            self._db.all("claim_release", {"project": project, "id": id, "runner": runner})

"""What is recorded of the runs of a task: phases, decisions, findings and approvals; and baselines of checks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from burnish.core.codec import decode
from burnish.core.status import Status
from burnish.store import rows
from burnish.store.database import Params, StorePart

if TYPE_CHECKING:
    from burnish.core.approval import Approval
    from burnish.core.check import CheckReport
    from burnish.core.finding import Finding
    from burnish.core.history import AnyPhase, DecisionRecord, History
    from burnish.store.approval_rows import BaselineOrigins


class TaskHistory(StorePart):
    """The part of the store with the runs of tasks."""

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
                all_decisions=self.decisions(project, task) if now.run > 1 else (),
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

    def statuses_since(self, project: str, ids: Iterable[int]) -> dict[int, str]:
        """When each of these tasks got its status; without those that never changed it."""
        found = self._db.all("statuses_since", {"project": project, "ids": list(ids)})
        return {row["task"]: row["since"] for row in found if row["since"]}

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

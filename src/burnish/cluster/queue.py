"""The durable queue of workers: DBOS on the PostgreSQL database. Only `worker` imports it: DBOS takes half a second.

A limit of DBOS belongs to a queue, and all executors read the same row for it. What a worker may run depends on its
projects, its labels, `-j` and on limits of agents over all queues. So each machine has a queue of its own, whose limit
is its `-j`, and a worker puts tasks into its own queue only, one worker at a time (`Store.exclusive`).
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbos import DBOS, DBOSConfig, Serializer, SetEnqueueOptions, SetWorkflowID

# Workers with the same number understand each other's tasks in the queue, whatever their version.
PROTOCOL = "burnish-queue-1"
SCHEMA = "burnish_queue"
_ACTIVE = ["ENQUEUED", "PENDING"]
_POLL_SECONDS = 0.5
MAX_PRIORITY = 1_000_000


class JsonSerializer(Serializer):
    """Rows that other programs can read; the default would be pickle, which can run code from the database."""

    def serialize(self, data: Any) -> str:
        return json.dumps(_plain(data))

    def deserialize(cls, serialized_data: str) -> Any:
        return json.loads(serialized_data)

    def name(self) -> str:
        return "burnish_json"


def _plain(data: Any) -> Any:
    return f"{type(data).__name__}: {data}" if isinstance(data, BaseException) else data


@dataclass(frozen=True, slots=True)
class QueuedTask:
    """A task that a worker has taken out of the backlog, and which has not ended there."""

    workflow: str
    project: str
    task: int
    agent: str
    executor: str


class WorkQueue:
    """The queue of one machine, and a view of those of the others."""

    def __init__(self, url: str, executor: str, jobs: int, run: Callable[[str, int], str]) -> None:
        self.executor = executor
        logging.getLogger("dbos").setLevel(logging.ERROR)
        config: DBOSConfig = {
            "name": "burnish",
            "system_database_url": url,
            "dbos_system_schema": SCHEMA,
            "application_version": PROTOCOL,
            "executor_id": executor,
            "serializer": JsonSerializer(),
            "enable_otlp": False,
            "log_level": "ERROR",
            "console_log_level": "ERROR",
            "max_executor_threads": jobs + 8,
            # its transactions are short, and a server has a limit for all machines
            "sys_db_pool_size": 3 + jobs // 4,
        }
        DBOS(config=config)

        @DBOS.workflow(name="run_task")
        def run_task(project: str, task: int, agent: str) -> str:
            return run(project, task)

        self._run_task = run_task
        DBOS.listen_queues([queue_of(executor)])
        DBOS.launch()
        DBOS.register_queue(
            queue_of(executor), worker_concurrency=jobs, polling_interval_sec=_POLL_SECONDS, on_conflict="always_update"
        )

    def active(self, *, own: bool = False) -> list[QueuedTask]:
        """All tasks that wait in a queue or run, on all machines; `own`: on this one."""
        queue = queue_of(self.executor) if own else None
        found = DBOS.list_workflows(status=_ACTIVE, name="run_task", queue_name=queue, load_output=False)
        return [task for one in found if (task := _read(one.workflow_id, one.input, one.queue_name))]

    def taken(self, project: str, tasks: Sequence[int]) -> set[int]:
        """Those of the tasks that wait in a queue or run, on any machine."""
        if not tasks:
            return set()
        # the id of a workflow begins with these
        starts = [f"{project}/{task}/" for task in tasks]
        found = DBOS.list_workflows(
            status=_ACTIVE, name="run_task", workflow_id_prefix=starts, load_input=False, load_output=False
        )
        return {int(one.workflow_id.split("/")[1]) for one in found}

    def add(self, project: str, task: int, run: int, agent: str, priority: int) -> None:
        """Put a task into the queue of this machine. Its id is that of the run, with letters for each time."""
        id = f"{project}/{task}/{run}-{secrets.token_hex(4)}"
        urgency = max(1, min(MAX_PRIORITY, 1000 - priority))
        with SetWorkflowID(id), SetEnqueueOptions(priority=urgency):
            DBOS.enqueue_workflow(queue_of(self.executor), self._run_task, project, task, agent)

    def take_over(self, executor: str, may_run: Callable[[str, int], bool]) -> tuple[int, int]:
        """Continue what a dead machine had, as far as it may run here; the rest goes back to the backlog."""
        tasks = [(task, may_run(task.project, task.task)) for task in self.active() if task.executor == executor]
        own = [task.workflow for task, is_own in tasks if is_own]
        others = [task.workflow for task, is_own in tasks if not is_own]
        if own:
            DBOS.resume_workflows(own, queue_name=queue_of(self.executor))
        if others:
            DBOS.cancel_workflows(others)
        return len(own), len(others)

    def give_back(self) -> int:
        """Take tasks that have not begun out of the queue of this machine, so that others take them up."""
        found = DBOS.list_workflows(status="ENQUEUED", queue_name=queue_of(self.executor), load_input=False)
        if found:
            DBOS.cancel_workflows([one.workflow_id for one in found])
        return len(found)

    def close(self) -> None:
        DBOS.destroy(workflow_completion_timeout_sec=5)


def queue_of(executor: str) -> str:
    return f"worker {executor}"


def _read(id: str, inputs: Mapping[str, Any] | None, queue: str | None) -> QueuedTask | None:
    try:
        project, task, agent = (inputs or {})["args"]
    except (KeyError, ValueError, TypeError):
        return None
    return QueuedTask(id, str(project), int(task), str(agent), (queue or "").removeprefix("worker "))

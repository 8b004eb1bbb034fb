"""What a person does to a task or a finding: edit, remove, cancel, retry, review again, pause,
comment, waive, resolve, reopen, reply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any

from burnish.adapters.agents import StopTokens
from burnish.adapters.event_log import StoreEventLog, write_event_file
from burnish.adapters.redaction import clean_changes
from burnish.core.approval import asked_for
from burnish.core.finding import Finding, Reply, Severity, Waiver
from burnish.core.flow import RUNNING
from burnish.core.gate import Actor
from burnish.core.history import History
from burnish.core.status import Status, check_move
from burnish.core.task import Task
from burnish.engine.archive import archive
from burnish.engine.commands import comment, lifecycle, waive
from burnish.engine.commands.comment import Comment
from burnish.engine.restore_approval import restore_approval
from burnish.engine.shared_branch import refuse_if_branch_held, refuse_if_branch_stuck
from burnish.engine.transitions import ledger_lock
from burnish.errors import BadInput, Refused
from burnish.features.tasks.images import remove_unused_images
from burnish.runtime.app import App
from burnish.runtime.ports import NullProgress, deps_for
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.requests import RunRequest
from burnish.runtime.tasks import validated_changes


def edit_task(app: App, task_id: int, changes: Mapping[str, Any], *, status: str | None) -> Task:
    refuse_inside_phase()
    changes = validated_changes(changes)
    task = app.store.task(app.key, task_id)
    if status not in (None, Status.BACKLOG):
        raise BadInput(
            f"The status of a task cannot be set to {status!r}.", hint="Use `--status backlog` to restore a task."
        )
    if status:
        check_move(str(task_id), task.status, Status.BACKLOG)
    if changes.get("archived") and task.status not in (Status.COMPLETED, Status.CANCELLED):
        raise Refused(
            f"Task {task_id} is {task.status}: only completed and cancelled tasks can be archived.",
            hint=f"To end it first: burnish cancel {task_id}",
        )
    if changes:
        app.send_images(str(changes.get("description") or ""))
        _change(app, task, clean_changes(app.event_log.secrets, changes))
    if status:
        lifecycle.put_back(app.event_log, task_id)
    return app.store.task(app.key, task_id)


def _change(app: App, task: Task, changes: Mapping[str, Any]) -> None:
    """Refuse new text while a runner works on the task, and void approvals of the old text."""
    is_reworded = asked_for(replace(task.spec, **changes)) != asked_for(task.spec)
    if is_reworded:
        app.event_log.refuse_if_held(task.id)
    new_task = app.store.edit_task(app.key, task.id, changes)
    app.event_log.write_event_file(task.id)
    if is_reworded and task.status in waive.APPROVED:
        lifecycle.void_stale(app.event_log, app.repository, new_task, app.policy(new_task))
    elif is_reworded and task.status is Status.CODE_REVIEW and app.trust.is_trusted:
        restore_approval(app.event_log, app.repository, new_task, app.policy(new_task))


def remove_task(app: App, task_id: int) -> Task:
    refuse_inside_phase()
    history = app.store.history(app.key, task_id)
    task = lifecycle.remove(app.event_log, app.repository, task_id)
    _archive_removal(app, history)
    app.drop_copies([task_id])
    remove_unused_images(app.home, app.store, task)
    return task


@dataclass(frozen=True, slots=True)
class _RemovedTaskLog(StoreEventLog):
    """The event log with the history of a task that is in no list any more."""

    removed: History = field(kw_only=True)

    def task(self, task_id: int) -> Task:
        return self.removed.task

    def history(self, task_id: int) -> History:
        return self.removed


def _archive_removal(app: App, history: History) -> None:
    """Write the artifacts of a removed task once more: a rebuilt database would bring the task back otherwise."""
    task = history.task
    if not task.branch:
        write_event_file(app.task_folder(task), app.store.events(app.key, task=task.id))
    else:
        deps = deps_for(app, RunRequest(), NullProgress(), StopTokens(), "")
        event_log = _RemovedTaskLog(app.store, app.key, removed=history)
        archive(replace(deps, event_log=event_log), app.repository.workspace(task), task, task.cycle)


def cancel_task(app: App, task_id: int) -> Task:
    refuse_inside_phase()
    return lifecycle.cancel(app.event_log, app.repository, task_id)


def pause_task(app: App, task_id: int, *, is_pause: bool) -> Task:
    """Let no run take the task up, or end that. A running task ends after the phase that it is in."""
    refuse_inside_phase()
    lifecycle.refuse_unpausable(app.store.task(app.key, task_id), is_pause=is_pause)
    task = app.store.edit_task(app.key, task_id, {"paused": is_pause})
    app.event_log.write_event_file(task_id)
    return task


def retry_task(app: App, task_id: int, *, restart: bool, limit: TaskLimit | None = None) -> Task:
    refuse_inside_phase()
    task = app.store.task(app.key, task_id)
    lifecycle.refuse_paused(task)
    refuse_if_branch_stuck(app.event_log, app.repository, task)
    if limit:
        _raise_limit(app, task, limit)
    if restart:
        refuse_if_branch_held(app.event_log, task)
        return lifecycle.restart(app.event_log, app.repository, task_id)
    task_after = lifecycle.retry(app.event_log, app.repository, task_id, by=app.person)
    is_held = bool(task_after.runner) and not app.event_log.is_dead(str(task_after.runner))
    if task.status in RUNNING and task_after.status is task.status and not is_held:
        # it was stopped: a run that goes on takes it up again when a person has changed it since
        return app.store.edit_task(app.key, task_id, {"paused": False})
    return task_after


@dataclass(frozen=True, slots=True)
class TaskLimit:
    """What a person lets one task cost in all, instead of `budget.task_usd` and `budget.task_tokens`."""

    usd: float | None = None
    tokens: int | None = None


def _raise_limit(app: App, task: Task, limit: TaskLimit) -> None:
    hint = "Give a higher limit: it counts all that the task has used."
    if limit.usd is not None and limit.usd <= (task.cost_usd or 0.0):
        raise BadInput(f"Task {task.id} has cost ${task.cost_usd or 0:.2f} already.", hint=hint)
    if limit.tokens is not None and limit.tokens <= task.tokens:
        raise BadInput(f"Task {task.id} has used {task.tokens:,} tokens already.", hint=hint)
    values = {"budget_usd": limit.usd, "budget_tokens": limit.tokens}
    app.store.edit_task(app.key, task.id, {name: value for name, value in values.items() if value is not None})
    app.event_log.write_event_file(task.id)


def review_again(app: App, task_id: int) -> Task:
    refuse_inside_phase()
    app.trust.require()
    lifecycle.refuse_paused(app.store.task(app.key, task_id))
    return lifecycle.review_again(app.event_log, task_id, by=app.person)


def waive_finding(app: App, task_id: int, finding: str, *, reason: str, until: date | None = None) -> Finding:
    refuse_inside_phase()
    waiver = Waiver(app.person, reason.strip(), _now(), until.isoformat() if until else None)
    return waive.waive(app.event_log, task_id, finding, waiver, block_on=Severity(app.config.review.block_on))


def reopen_finding(app: App, task_id: int, finding: str, *, reason: str = "") -> Finding:
    refuse_inside_phase()
    level = Severity(app.config.review.block_on)
    return waive.reopen(app.event_log, task_id, finding, by=app.person, reason=reason, block_on=level)


def resolve_finding(app: App, task_id: int, finding: str, *, reason: str = "") -> Finding:
    refuse_inside_phase()
    return waive.resolve(app.event_log, task_id, finding, by=app.person, reason=reason)


def dispute_finding(app: App, task_id: int, finding: str, evidence: str) -> Finding:
    """Record that an agent outside of burnish believes a finding wrong; the next review rules on it."""
    refuse_inside_phase()
    return waive.dispute(app.event_log, task_id, finding, app.event_log.secrets.redact(evidence))


def reply_to_finding(app: App, task_id: int, finding: str, text: str) -> Finding:
    """Record a person's reply; also while a runner works on the task."""
    refuse_inside_phase()
    app.store.task(app.key, task_id)
    deps = deps_for(app, RunRequest(), NullProgress(), StopTokens(), "")
    with ledger_lock(deps, task_id):
        return waive.reply(app.event_log, task_id, finding, Reply(app.person, text.strip(), _now()))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def comment_on(app: App, task_id: int, text: str, *, at: str = "", via: str = "cli") -> Finding:
    """Record a person's comment as a finding; also while a runner works on the task. `at` is FILE[:LINE[-LINE]]."""
    refuse_inside_phase()
    # comments of an unknown task make no lock file
    words = _placed(app, app.store.task(app.key, task_id), text, at)
    deps = deps_for(app, RunRequest(), NullProgress(), StopTokens(), "")
    with ledger_lock(deps, task_id):
        return comment.comment(app.event_log, task_id, words, Actor(app.person, via))


def _placed(app: App, task: Task, text: str, at: str) -> Comment:
    if not at:
        return Comment(text)
    place = re.fullmatch(r"(.+?)(?::([0-9]{1,9})(?:-([0-9]{1,9}))?)?", at)
    path = place[1] if place else at
    content = app.repository.workspace(task).read(task.commit, [path])[path] if task.commit else None
    if content is None:
        raise BadInput(f"Task {task.id} has no file {path}.", hint="Write --at FILE:LINE, as `burnish diff` shows it.")
    if place is None or not place[2]:
        return Comment(text, path)
    lines = content.decode("utf-8", "replace").split("\n")
    line, end_line = int(place[2]), int(place[3] or place[2])
    if not 1 <= line <= end_line <= len(lines):
        raise BadInput(f"{path} has no lines {line} to {end_line}.", hint=f"It has {len(lines)} lines.")
    quote = "\n".join(lines[line - 1 : end_line])
    return Comment(text, path, line, end_line if end_line != line else None, quote)

"""At the start of a run: approvals of commits, settings or tasks that have changed since are taken back.

Every approved task is looked at, so that most are settled by one row of one query and one look at the branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from burnish.core.status import Status
from burnish.core.task import Task
from burnish.engine.commands.lifecycle import void_stale
from burnish.errors import BurnishError, PhaseFailed

if TYPE_CHECKING:
    from burnish.core.policy import Policy
    from burnish.runtime.app import App
    from burnish.store.approval_rows import RecordedApproval

APPROVED = (Status.VERIFIED, Status.WAITING_APPROVAL)


def void_stale_approvals(app: App, tips: Mapping[str, str]) -> list[str]:
    """What to report. `tips`: where the branches point that lead to a readable commit and tree."""
    policies: dict[tuple[str, str], Policy] = {}
    found = [one for one in app.store.recorded_approvals(app.key, APPROVED) if not _holds(app, one, tips, policies)]
    notes: list[str] = []
    kinds = {one.id: one for one in found}
    for task in app.store.tasks(app.key, statuses=APPROVED, ids=kinds) if kinds else ():
        with noting_failures(notes, task):
            policy = _policy_of(app, kinds[task.id], policies, task)
            why = void_stale(app.event_log, app.repository, task, policy, is_branch_sound=task.branch in tips)
            if why:
                notes.append(f"Task {task.id} is no longer approved: {why}.")
    return notes


def _holds(
    app: App, approval: RecordedApproval, tips: Mapping[str, str], policies: dict[tuple[str, str], Policy]
) -> bool:
    """Is nothing different from what was approved? False also where it takes a closer look to tell."""
    if not approval.is_unchanged or tips.get(approval.branch or "") != approval.commit:
        return False
    try:
        return _policy_of(app, approval, policies).judge == approval.judge
    except BurnishError:
        return False


def _policy_of(
    app: App, approval: RecordedApproval, policies: dict[tuple[str, str], Policy], task: Task | None = None
) -> Policy:
    """Made once for all tasks that differ only in what no policy depends on."""
    if approval.base is None:
        return app.policy(task or app.store.task(app.key, approval.id))
    key = (approval.kind, approval.base)
    if key not in policies:
        policies[key] = app.policy(task or app.store.task(app.key, approval.id))
    return policies[key]


@contextmanager
def noting_failures(notes: list[str], task: Task) -> Iterator[None]:
    """What is wrong with one task stops no other one."""
    try:
        yield
    except PhaseFailed as error:
        notes.append(f"Task {task.id}: {error.what} {error.hint}".rstrip())

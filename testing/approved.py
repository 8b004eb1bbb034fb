"""A task that was approved a moment ago, written down without paying an agent: for tests that need hundreds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from burnish.core.event import Event
from burnish.core.status import FinalVerdict, ReviewStatus, Status
from burnish.core.task import Spec, Task
from burnish.engine.transitions import status_events
from burnish.git.artifacts import commit_artifacts
from burnish.git.base import resolve_base
from burnish.git.objects import read_commit
from burnish.git.refs import update_ref
from burnish.runtime.app import App
from burnish.runtime.tasks import add_task
from testing.lab import Lab


@contextmanager
def app_of(lab: Lab) -> Iterator[App]:
    with mock.patch.dict(os.environ, lab.env):
        app = App.open(lab.repo.path, flags={})
        yield app
        app.store.close()


def approved(
    app: App, files: dict[str, str], title: str = "Task", base_ref: str = "main", depends_on: tuple[int, ...] = ()
) -> Task:
    """The task's branch holds the base and one commit with these files; a review has approved just that."""
    task = add_task(app, Spec(title, depends_on=depends_on))
    base = resolve_base(app.repo, base_ref)
    branch = f"burnish/{task.name}"
    update_ref(app.repo, f"refs/heads/{branch}", base.commit, app.repo.zero)
    data = {path: text.encode() for path, text in files.items()}
    sha = commit_artifacts(app.repo, f"refs/heads/{branch}", data, message=f"feat: {title}\n\nBurnish-Task: {task.id}")
    seen = {"commit": sha, "tree": read_commit(app.repo, sha).tree}
    begun = {"run": 1, "branch": branch, "target": "main", "base": base.commit, "max_cycles": 9, "auto_review": True}
    where = {"run": 1, "cycle": 1}
    app.event_log.record(
        task.id,
        Event("run.started", {**begun, "agent": "robot", "model": None}, run=1),
        status_events(task, Status.IN_PROGRESS),
        Event("phase.started", {"phase": "implement", "attempt": 1, "runner": ""}, **where),
        Event("phase.finished", {"phase": "implement", "attempt": 1, "changed": True, **seen}, **where),
    )
    task = app.store.task(app.key, task.id)
    app.event_log.record(task.id, status_events(task, Status.CODE_REVIEW))
    task = app.store.task(app.key, task.id)
    judge = app.policy(task).judge
    review = {"phase": "review", "attempt": 1, "verdict": "approved", "summary": "good", "judge": judge, **seen}
    app.event_log.record(
        task.id,
        Event("phase.started", {"phase": "check", "attempt": 1, "runner": ""}, **where),
        Event("phase.finished", {"phase": "check", "attempt": 1, "checks": [], "warnings": [], **seen}, **where),
        Event("phase.started", {"phase": "review", "attempt": 1, "runner": ""}, **where),
        Event("phase.finished", review, **where),
        Event("decision.made", {"action": "accept", "by": "burnish", "why": "good"}, **where),
        Event("review.approved", {"base": base.commit, "judge": judge, "why": "good", **seen}, **where),
        status_events(task, Status.VERIFIED, final_verdict=FinalVerdict.APPROVED, review_status=ReviewStatus.PASSED),
    )
    return app.store.task(app.key, task.id)


def put_commit(app: App, ref: str, files: dict[str, str], message: str = "by hand") -> str:
    """Somebody commits on a branch without touching any checkout."""
    tip = app.repo.user_git("rev-parse", ref).stdout.decode().strip()
    scratch = f"refs/burnish/scratch/{os.urandom(6).hex()}"
    update_ref(app.repo, scratch, tip, app.repo.zero)
    data = {path: text.encode() for path, text in files.items()}
    new = commit_artifacts(app.repo, scratch, data, message=message)
    app.repo.user_git("update-ref", "-d", scratch)
    app.repo.user_git("update-ref", ref, new)
    return new


class Silent:
    """Nobody watches."""

    def event(self, task: Task, event: object) -> None: ...
    def output(self, task_id: int, line: str) -> None: ...
    def note(self, text: str) -> None: ...


def digest(folder: Path) -> str:
    """What a checkout holds, git's and Python's own things aside."""
    import hashlib

    sums = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not {".git", "__pycache__"} & set(path.relative_to(folder).parts):
            sums.append(f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}")
    return hashlib.sha256("\n".join(sums).encode()).hexdigest()

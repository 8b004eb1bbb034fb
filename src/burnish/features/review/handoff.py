"""`burnish handoff`: a reviewer outside gets the prompt, the files and a place to write."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.adapters.agents import StopTokens
from burnish.adapters.task_files import HomeTaskFiles
from burnish.core.policy import ReviewerSpec
from burnish.core.task import Task
from burnish.core.text_encoding import escape_hidden_text
from burnish.engine import external_review as outside
from burnish.engine.ports import Deps
from burnish.engine.review_input import review_input
from burnish.engine.task_setup import TaskSetup
from burnish.errors import Refused
from burnish.git.project import Project
from burnish.git.workspace import GitWorkspace
from burnish.regular_files import read_regular
from burnish.review.context import ReviewPrompt, build_review_prompt
from burnish.runtime.ports import NullProgress, deps_for
from burnish.runtime.reader import refuse_inside_phase
from burnish.runtime.requests import RunRequest

if TYPE_CHECKING:
    from burnish.runtime.app import App

OUTSIDE = ReviewerSpec("outside")
CALL_LABEL = "handoff"


@dataclass(frozen=True, slots=True)
class HandoffReport:
    """What the reviewer outside is given."""

    task: Task
    cycle: int
    commit: str
    number: str
    prompt: str
    checkout: Path
    # where to write the review
    file: Path
    blocking: tuple[str, ...]
    benign: tuple[str, ...]
    # it was approved, and is not any more
    voided: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "id": str(self.task.id),
            "status": self.task.status.value,
            "cycle": self.cycle,
            "commit": self.commit,
            "number": self.number,
            "checkout": str(self.checkout),
            "file": str(self.file),
            "prompt": self.prompt,
            "blocking": list(self.blocking),
            "benign": list(self.benign),
            "voided": self.voided,
        }


class DirtyWorkspace(Refused):
    """Work lies in the workspace that is not part of the change."""

    def __init__(self, task: Task, blocking: list[str], benign: list[str]) -> None:
        n = len(blocking)
        super().__init__(
            f"{n} uncommitted path{'s' * (n != 1)} of task {task.id} would not be part of the review.",
            hint=f"Bring {'them' if n != 1 else 'it'} onto {task.branch} or away, or hand over what is committed:"
            f" burnish handoff {task.id} --force",
        )
        self.blocking = tuple(blocking)
        self.benign = tuple(benign)


def hand_off(app: App, task_id: int, *, force: bool) -> HandoffReport:
    refuse_inside_phase()
    deps = deps_for(app, RunRequest(), NullProgress(), StopTokens(), "")
    history = app.event_log.history(task_id)
    task = history.task
    app.event_log.refuse_if_held(task_id)
    site = site_of(app, deps, task)
    head = outside.refuse_unreviewable(history, site.workspace.head(), site.base.tree)
    assert isinstance(site.workspace, GitWorkspace) and isinstance(deps.task_files, HomeTaskFiles)
    blocking, benign = _dirt(app, site.workspace, deps.task_files, task)
    if blocking and not force:
        raise DirtyWorkspace(task, blocking, benign)
    if not blocking and not benign and (not site.workspace.exists() or site.workspace.checked_out_commit() != head.sha):
        site.workspace.reset_to(head.sha, base=site.base)
    note = f", {len(blocking)} uncommitted paths left out" if blocking else ""
    events = outside.hand_over(
        history,
        site.policy,
        head,
        site.base,
        by=app.person,
        why=f"handed over to a reviewer outside{note}",
        is_approved=_approved(app, task_id),
    )
    if events:
        app.event_log.record(task_id, *events)
    is_voided = any(event.type == "approval.voided" for event in events)
    return replace(_handed(app, deps, site, (tuple(blocking), tuple(benign))), voided=is_voided)


def site_of(app: App, deps: Deps, task: Task) -> TaskSetup:
    """The set-up of the task, with its workspace unchanged."""
    if not task.base or not task.branch:
        raise Refused(f"Task {task.id} has not been worked on.", hint=f"`burnish run {task.id}` starts it.")
    workspace = app.repository.workspace(task)
    tip = workspace.tip()
    base = app.repository.base_now(task, tip) if tip else app.repository.base_of(task)
    return TaskSetup(task.id, deps.policy_for(task), base, workspace)


def _approved(app: App, task_id: int) -> bool:
    approval = app.event_log.approval(task_id)
    return bool(approval and approval.valid)


def _dirt(app: App, workspace: GitWorkspace, task_files: HomeTaskFiles, task: Task) -> tuple[list[str], list[str]]:
    if not workspace.exists():
        return [], []
    folder = f".burnish/tasks/{task.name}/"
    artifacts = {folder + name: data for name, data in task_files.read_all(task).items()}
    paths = dirty_paths(app.repo, workspace)
    ours = [path for path in paths if path in artifacts and _holds(workspace.path / path, artifacts[path])]
    return classify_uncommitted(paths, task_name=task.name, written_by_burnish=ours)


def _holds(path: Path, data: bytes) -> bool:
    """Is this the file that we wrote? A link in its place is not."""
    return read_regular(path, longest=len(data) + 1, follow=False) == data


def asked(deps: Deps, site: TaskSetup, number: str) -> ReviewPrompt:
    """The prompt of this cycle for a reviewer outside."""
    history = deps.event_log.history(site.task_id)
    subject = review_input(deps, site, history, history.cycle)
    return build_review_prompt(subject.context(site.policy, OUTSIDE, number))


def _handed(app: App, deps: Deps, site: TaskSetup, dirt: tuple[tuple[str, ...], tuple[str, ...]]) -> HandoffReport:
    history = app.event_log.history(site.task_id)
    task, cycle = history.task, history.cycle
    assert isinstance(deps.task_files, HomeTaskFiles)
    call = deps.task_files.call(task, cycle, "review", outside.attempt_for(history, cycle), CALL_LABEL)
    file = app.task_folder(task) / "handoff" / f"review-cycle-{cycle}.md"
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    where = (
        f"The files under review are in {site.workspace.path}; change nothing there.\n"
        f"Write your review to {file}, then have it taken: burnish review {task.id} --from {file}\n"
    )
    prompt = escape_hidden_text(deps.task_files.secrets.redact(f"{asked(deps, site, call.number()).text}\n{where}"))
    (call.path / "prompt.md").write_text(prompt, "utf-8", "surrogateescape")
    return HandoffReport(
        task, cycle, site.head().sha, call.number(), prompt, site.workspace.path, file, blocking=dirt[0], benign=dirt[1]
    )


# What people keep there for burnish: part of the project like any source file.
KEPT_BY_PEOPLE = ("prompts/", "context/")
OWN_FOLDER = ".burnish/"
TASKS_FOLDER = ".burnish/tasks/"


def classify_uncommitted(
    paths: Iterable[str], *, task_name: str, written_by_burnish: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """(blocking, benign): source and the task's own files block; burnish's own and other tasks' files do not.

    `task_name` is the task's folder, e.g. `29-add-login`; `written_by_burnish` names files in it that are ours.
    """
    ours = frozenset(written_by_burnish)
    blocking: list[str] = []
    benign: list[str] = []
    for path in sorted(set(paths)):
        (benign if path in ours or _benign(path, task_name) else blocking).append(path)
    return blocking, benign


def _benign(path: str, task_name: str) -> bool:
    if path.startswith(TASKS_FOLDER):
        return not path.startswith(f"{TASKS_FOLDER}{task_name}/") and path != f"{TASKS_FOLDER}{task_name}"
    return path.startswith(OWN_FOLDER) and not path.removeprefix(OWN_FOLDER).startswith(KEPT_BY_PEOPLE)


def dirty_paths(project: Project, workspace: GitWorkspace) -> list[str]:
    """Changed, deleted and new paths, sorted; without ignored ones."""
    return workspace.dirt().paths

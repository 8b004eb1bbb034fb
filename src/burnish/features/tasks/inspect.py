"""What a person looks at: the workspace of a task, its change, its artifacts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from burnish.adapters.redaction import secrets_from_environment
from burnish.core.change import Change
from burnish.core.flow import RUNNING
from burnish.core.history import with_result
from burnish.core.journal import ReviewResult
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import BadInput, NotFound, Refused
from burnish.git.artifacts import read_artifact
from burnish.git.diff import SIZE_ARGS, read_size
from burnish.git.objects import read_objects
from burnish.git.owned_files import read_owned_file
from burnish.regular_files import read_below
from burnish.runtime.app import App


def workspace_path(app: App, task_id: int) -> Path:
    """The workspace, which is made again if it was released when the task was verified."""
    task = app.store.task(app.key, task_id)
    path = app.repository.path(task)
    if not task.branch or not (path.is_dir() or _make_again(app, task)):
        raise BadInput(f"Task {task_id} has no workspace yet.", hint=f"`burnish run {task_id}` creates it.")
    return path


def _make_again(app: App, task: Task) -> bool:
    if task.status in (*RUNNING, Status.BACKLOG) or not app.repository.make_workspace(task):
        return False
    # not set up: the next run of the task does it
    (app.task_folder(task) / "stamps" / "setup").unlink(missing_ok=True)
    return True


def diff_text(app: App, task_id: int, *, since_review: bool) -> bytes:
    return change_of(app, task_id, since_review=since_review).text().encode("utf-8", "surrogateescape")


def artifact(app: App, task_id: int, name: str) -> bytes:
    task = app.store.task(app.key, task_id)
    file = app.task_folder(task) / "artifacts" / Path(name).name
    if file.is_file():
        return file.read_bytes()
    content = read_artifact(app.repo, f"refs/burnish/artifacts/{task.name}", f"{task.name}/{Path(name).name}")
    if content is None and task.branch:
        path = f".burnish/tasks/{task.name}/{Path(name).name}"
        content = read_owned_file(app.repo, f"refs/heads/{task.branch}", path)
    if content is None:
        raise NotFound(f"Task {task_id} has no artifact {name!r}.", hint=f"`burnish show {task_id}` lists them.")
    return content


def spec_kitty_feedback(app: App, place: str) -> bytes:
    """The file that `feedback://feature/WP01/file.md` points to: spec-kitty stores these in the git folder."""
    file = app.repo.common_dir / "spec-kitty" / "feedback" / place
    content = read_below(app.repo.common_dir, file.relative_to(app.repo.common_dir))
    if content is None:
        raise NotFound(
            f"There is no regular file {file}.",
            hint="The pointer is spec-kitty's, and its file is not in this clone. Symbolic links are not followed.",
        )
    return content


# -- changes --------------------------------------------------------------------------------------
# The change of a task as data, and the text of the files in it.


def change_of(app: App, task_id: int, *, since_review: bool) -> Change:
    """Base to the newest commit; or only what came after the last review of an earlier cycle."""
    return change_between(app, task_id, *change_ends(app, task_id, since_review=since_review))


def change_between(app: App, task_id: int, old: str, new: str) -> Change:
    """The same of two trees that are known."""
    return app.repository.workspace(app.store.task(app.key, task_id)).changes(old, new)


def change_ends(app: App, task_id: int, *, since_review: bool) -> tuple[str, str]:
    """The two trees that the change lies between."""
    task = app.store.task(app.key, task_id)
    if task.branch and task.commit and (damage := app.repository.lost_branch(task)):
        raise Refused(
            f"The branch {task.branch} of task {task_id} {damage.description}.",
            hint=f"`burnish retry {task_id}` restores it, or continues from the last readable commit.",
        )
    head = app.repository.workspace(task).head() if task.branch else None
    if head is None or not task.base:
        raise BadInput(f"Task {task_id} has no change yet.", hint=f"`burnish run {task_id}` starts it.")
    old = last_reviewed(app, task) if since_review else None
    return old or app.repository.base_now(task, head.sha).tree, head.tree


def change_size(app: App, task_id: int) -> tuple[int, int, int]:
    """How many files the change has, and how many lines it adds and removes, without reading them."""
    trees = change_ends(app, task_id, since_review=False)
    return read_size(app.repo.git(*SIZE_ARGS, "--end-of-options", *trees).stdout)


def last_reviewed(app: App, task: Task) -> str | None:
    """The tree of the last review before the newest cycle."""
    reviews = with_result(app.store.history(app.key, task.id).phases, ReviewResult)
    trees = [p.result.tree for p in reviews if p.cycle < task.cycle and p.result.tree]
    return trees[-1] if trees else None


def cycle_trees(app: App, task: Task) -> dict[int, str]:
    """The tree at the end of each cycle of the current run."""
    history = app.store.history(app.key, task.id)
    tips = {cycle: history.tip(cycle) for cycle in range(1, history.cycle + 1)}
    return {cycle: tip.result.tree for cycle, tip in tips.items() if tip and tip.result.tree}


def without_secrets(change: Change) -> Change:
    """Redacted for display, even if the secrets are in the user's own files."""
    hide = secrets_from_environment().redact
    files = [replace(f, hunks=tuple(replace(h, text=hide(h.text)) for h in f.hunks)) for f in change.files]
    return replace(change, files=tuple(files))


def file_texts(app: App, blobs: Sequence[str]) -> dict[str, str]:
    """The redacted texts of the blobs, without submodules and missing objects."""
    hide = secrets_from_environment().redact
    blob_ids = [blob for blob in dict.fromkeys(blobs) if blob.strip("0")]
    found = zip(blob_ids, read_objects(app.repo, blob_ids), strict=True) if blob_ids else ()
    return {
        blob: hide(git_object[1].decode("utf-8", "replace"))
        for blob, git_object in found
        if git_object and git_object[0] == "blob"
    }


def masked_line(app: App, task: Task, path: str, number: int) -> str:
    """One line of a file in the workspace, of which only a name before a value is shown."""
    place = Path(path)
    content = None if ".." in place.parts else read_below(app.repository.path(task), place)
    lines = content.decode("utf-8", "replace").split("\n") if content else []
    if not 1 <= number <= len(lines):
        return ""
    # a name without digits: a token would have some
    name = re.match(r"\s*[\"']?[A-Za-z_][A-Za-z_.\- ]{0,40}[\"']?\s*[=:]", lines[number - 1])
    return f"{secrets_from_environment().redact(name[0]) if name else ''} ••••••••"


def base_tree(app: App, task: Task) -> str:
    """What the baseline was measured on; nothing where the task has no base yet."""
    return app.repository.base_of(task).tree if task.base else ""

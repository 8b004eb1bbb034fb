"""What a person looks at: the workspace of a task, its change, its artifacts."""

from __future__ import annotations

from pathlib import Path

from burnish.errors import BadInput, NotFound
from burnish.features.tasks.changes import change_of
from burnish.git.artifacts import read_artifact
from burnish.git.owned_files import read_owned_file
from burnish.regular_files import read_below
from burnish.runtime.app import App


def workspace_path(app: App, task_id: int) -> Path:
    task = app.store.task(app.key, task_id)
    path = app.repository.path(task)
    if not task.branch or not path.is_dir():
        raise BadInput(f"Task {task_id} has no workspace yet.", hint=f"`burnish run {task_id}` creates it.")
    return path


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

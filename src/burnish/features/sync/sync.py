"""`burnish sync`: tasks, reviews and events of this machine go to the git remote; those of others come back, to read.

Each machine writes one ref alone, `refs/burnish/MACHINE/story`. So two machines never write over each other, and the
database of each one stays the only authority on its own tasks.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.core.task import Task
from burnish.engine.archive import WHOLE, for_the_ref, story_of, task_file
from burnish.errors import BadInput, BurnishError, NotFound
from burnish.git.artifacts import path_parts, put_files
from burnish.git.files import write_whole
from burnish.git.objects import list_files, read_commit, read_files, write_commit
from burnish.git.publishing import publish
from burnish.git.refs import list_refs, read_ref, update_ref
from burnish.git.remotes import choose_remote, fetch
from burnish.git.target_branch import git_failure, user_git
from burnish.proc.slots import slot
from burnish.regular_files import read_regular
from burnish.runtime.reader import refuse_inside_phase
from burnish.sanitize import clean_text
from burnish.store.machine import machine_id, read_machine
from burnish.views.status import task_json

if TYPE_CHECKING:
    from burnish.runtime.app import App

_CHECK_REMOTE = "Check its address (`git remote -v`), your access and the network; then run `burnish sync` again."
# stories of machines, this one among them, as they are on the remote
FETCHED = "refs/burnish/others/"
INDEX = "tasks.json"
MAX_INDEX_BYTES = 16 * 1024 * 1024
MAX_FILE_BYTES = 1024 * 1024
_MACHINE = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")


@dataclass(frozen=True, slots=True)
class SharedTask:
    """A task of another machine, which can only be read here. Its texts are not trusted."""

    machine: str
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The id with the machine, because each home counts its ids itself."""
        return f"{self.machine}/{self.text('id')}"

    def text(self, key: str) -> str:
        value = self.values.get(key)
        return " ".join(clean_text(str(value)).split()) if isinstance(value, str | int) else ""

    def as_json(self) -> dict[str, Any]:
        keys = ("id", "title", "type", "status", "reason", "final_verdict", "branch", "commit", "updated_at")
        return {"machine": self.machine, **{key: self.text(key) or None for key in keys}}


@dataclass(frozen=True, slots=True)
class SyncReport:
    machine: str
    remote: str
    # tasks of this machine in its story, and whether something was new
    tasks: int
    is_new: bool
    others: tuple[SharedTask, ...]

    def as_json(self) -> dict[str, Any]:
        machines = sorted({task.machine for task in self.others})
        facts = {"machine": self.machine, "remote": self.remote, "tasks": self.tasks, "pushed": self.is_new}
        counts = [{"machine": one, "tasks": sum(task.machine == one for task in self.others)} for one in machines]
        return {**facts, "others": counts}


def sync(app: App, remote: str | None = None, *, fetch_only: bool = False) -> SyncReport:
    """Fetch the stories of all machines, then push the one of this machine if it changed."""
    refuse_inside_phase()
    app.trust.require()  # the git dir names the remote, and programs that reach it
    machine = machine_name(app)
    remote = remote or choose_remote(
        app.repo.root, to="share tasks through", hint="Name it: burnish sync --remote NAME"
    )
    with slot(app.locks, f"{app.key}-sync", 1):
        _fetch(app, remote)
        tasks = app.store.tasks(app.key)
        is_new = not fetch_only and _push(app, remote, machine, tasks)
    return SyncReport(machine, remote, len(tasks), is_new, shared_tasks(app))


def shared_tasks(app: App) -> tuple[SharedTask, ...]:
    """The tasks of other machines, as they were at the last sync."""
    own, found = _known_name(app), list_refs(app.repo, FETCHED)
    stories = {ref.removeprefix(FETCHED).removesuffix("/story"): commit for ref, commit in sorted(found.items())}
    return tuple(
        SharedTask(machine, values)
        for machine, commit in stories.items()
        if machine != own and _MACHINE.fullmatch(machine)
        for values in _tasks(_index(app, commit))
    )


def shared_task(app: App, name: str) -> tuple[SharedTask, dict[str, str]]:
    """A task of another machine with the texts of its reviews."""
    for task in shared_tasks(app):
        if task.name == name:
            commit = read_ref(app.repo, f"{FETCHED}{task.machine}/story")
            assert commit
            return task, _reviews(app, commit, task)
    raise NotFound(f"No task {name!r} of another machine is known here.", hint="`burnish sync list` lists them.")


def machine_name(app: App) -> str:
    """The host name with letters that differ for each home and project: ids of tasks count per project and home."""
    machine_id(app.home)
    return _known_name(app)


def _known_name(app: App) -> str:
    """The name; "" before the first sync."""
    try:
        host, id = read_machine(app.home)
    except (OSError, ValueError):
        return ""
    return f"{host}-{hashlib.sha256(f'{id} {app.key}'.encode()).hexdigest()[:6]}"


def _fetch(app: App, remote: str) -> None:
    if remote.startswith("-"):
        raise BadInput(f"{remote!r} is not the name of a remote.", hint="`git remote` lists them.")
    refs = f"+refs/burnish/*/story:{FETCHED}*/story"
    result = fetch(app.repo.root, "--prune", remote, refs)
    if result.exit_code:
        raise git_failure(result, f"git fetch from {remote}", hint=_CHECK_REMOTE)


def _push(app: App, remote: str, machine: str, tasks: list[Task]) -> bool:
    """Add what is new to this machine's story; False if nothing is."""
    ref = f"{FETCHED}{machine}/story"
    tip = read_ref(app.repo, ref)
    # anybody who can push may have replaced it: only what this machine wrote says what is shared already
    before = _index(app, tip) if tip and tip == _last_pushed(app) else {}
    since = before.get("last_event")
    last_event, new_events = app.store.last_event(app.key), app.store.events(app.key, since=_number(since))
    changed_ids = {event.task for event in new_events}
    if not changed_ids:
        return False
    changed = [task for task in tasks if task.id in changed_ids]
    entries = {str(task.id): task_json(task) for task in changed}
    known = {str(one.get("id")): one for one in _tasks(before)}
    # removed tasks stay in the story
    index = {"machine": machine, "last_event": last_event, "tasks": [*(known | entries).values()]}
    files = {INDEX: json.dumps(index, indent=1, sort_keys=True).encode()}
    for task in changed:
        files |= _files(app, task)
    tree = put_files(
        app.repo,
        read_commit(app.repo, tip).tree if tip and before else None,
        {path_parts(name): files[name] for name in files},
    )
    commit = write_commit(app.repo, tree, (tip,) if tip else (), f"Tasks of {machine}")
    publish(app.repo, commit)
    update_ref(app.repo, ref, commit, tip or app.repo.zero)
    # without the user's hooks, which are for branches
    result = user_git(app.repo.root, "push", "--quiet", "--no-verify", remote, f"{commit}:refs/burnish/{machine}/story")
    if result.exit_code:
        # the next sync begins at what the remote has
        _fetch_quietly(app, remote)
        raise git_failure(result, f"git push to {remote}", hint=_CHECK_REMOTE)
    write_whole(_pushed_file(app), f"{commit}\n".encode())
    return True


def _pushed_file(app: App) -> Path:
    return app.home / "projects" / app.key / "shared-story"


def _last_pushed(app: App) -> str:
    """The commit of the last push of this machine; "" before it."""
    return (read_regular(_pushed_file(app), longest=200) or b"").decode(errors="replace").strip()


def _fetch_quietly(app: App, remote: str) -> None:
    try:
        _fetch(app, remote)
    except BurnishError:
        return


def _files(app: App, task: Task) -> dict[str, bytes]:
    folder = app.task_folder(task) / "artifacts"
    found = {file.name: file for file in sorted(folder.glob("*.md")) if file.is_file() and not file.is_symlink()}
    link = f"{task.name}/artifacts in the burnish home of the machine"
    files = {name: for_the_ref(file.read_bytes(), link=link) for name, file in found.items() if name not in WHOLE}
    history = app.store.history(app.key, task.id)
    files["task.json"] = task_file(history, app.store.approval(app.key, task.id))
    files["events.jsonl"] = story_of(app.store.events(app.key, task=task.id))
    return {f"{task.name}/{name}": data for name, data in files.items()}


def _index(app: App, commit: str) -> dict[str, Any]:
    data = _read(app, commit, INDEX, MAX_INDEX_BYTES)
    try:
        index = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return index if isinstance(index, dict) else {}


def _tasks(index: Mapping[str, Any]) -> list[dict[str, Any]]:
    tasks = index.get("tasks")
    return [one for one in tasks if isinstance(one, dict)] if isinstance(tasks, list) else []


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _reviews(app: App, commit: str, task: SharedTask) -> dict[str, str]:
    pattern = re.compile(rf"{re.escape(task.text('id'))}-[^/]*/(review-cycle-[0-9]+\.md)")
    paths = [path for path in list_files(app.repo, commit) if pattern.fullmatch(path)]
    texts = {Path(path).name: _read(app, commit, path, MAX_FILE_BYTES) for path in sorted(paths)}
    return {name: clean_text(data.decode(errors="replace")) for name, data in texts.items() if data is not None}


def _read(app: App, commit: str, path: str, longest: int) -> bytes | None:
    """A file of a story; None if it is missing or too large to be one of burnish."""
    answer = app.repo.git("cat-file", "--batch-check=%(objectsize)", stdin=f"{commit}:{path}\n".encode()).stdout
    size = answer.strip()
    return read_files(app.repo, commit, [path])[path] if size.isdigit() and int(size) <= longest else None

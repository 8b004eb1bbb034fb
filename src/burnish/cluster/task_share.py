"""What a task has in git goes to the remote before it is on record, and comes from there before it is worked on."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from burnish.cluster.shared_refs import (
    ARTIFACTS,
    BASES,
    BRANCHES,
    PushRejected,
    RemoteAway,
    SharedRefs,
    fetch_image,
    push_image,
)
from burnish.core.event import Event
from burnish.core.images import MAX_BYTES, image_kind, image_name, image_names
from burnish.core.journal import read
from burnish.core.journal_events import RunStarted
from burnish.core.status import ErrorCode
from burnish.core.task import Task
from burnish.errors import BurnishError, PhaseFailed
from burnish.git.base import is_ancestor
from burnish.git.files import write_whole
from burnish.git.objects import list_files, read_files
from burnish.git.refs import list_refs, read_ref
from burnish.git.rescue import PREFIX as RESCUES
from burnish.git.rescue import keep
from burnish.proc.folders import private_folder

# With these events, a commit is on record that other machines must be able to get.
SENT_BEFORE = frozenset({"run.started", "phase.finished", "phase.failed", "phase.rescued", "review.approved"})
# as burnish names artifacts
_ARTIFACT_NAME = r"[A-Za-z0-9][A-Za-z0-9._+@-]{0,199}"
# seconds until the remote is tried again
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)


def _never_stopping(task_id: int, seconds: float) -> bool:
    return threading.Event().wait(seconds)


@dataclass(frozen=True, slots=True)
class TaskShare:
    """The remote of one project, for a runner. While the remote is away, the task waits and nothing is lost."""

    refs: SharedRefs
    # the folder in the burnish home with a folder for each task
    tasks_folder: Path
    # the folder in the burnish home with the images of descriptions
    images_folder: Path
    note: Callable[[str], None] = lambda text: None
    # waits so many seconds; True: the task is to be stopped
    wait: Callable[[int, float], bool] = _never_stopping
    # called with the reason why a task waits, and with "" when it goes on
    waits: Callable[[int, str], None] = lambda task_id, why: None
    # called at the places where tests end or stop the process
    failpoint: Callable[[str], None] = lambda name: None
    _fetching: threading.Lock = field(default_factory=threading.Lock)

    def bring(self, task: Task, tasks: Iterable[Task], branches: Iterable[str]) -> None:
        """Before a machine works on the task: its refs and artifacts, and those of the tasks that it builds on."""
        numbers = {task.id, *(one.id for one in tasks), *(int(one) for one in _branch_owner(task))}

        def fetch() -> None:
            with self._fetching:
                self.refs.fetch(numbers, branches)
                for note in self.refs.bring(numbers):
                    self.note(f"Task {task.id}: {note}")

        self._until_done(task.id, fetch)
        if task.branch and task.commit and _is_behind(self.refs, task.branch, task.commit):
            self.note(
                f"Task {task.id}: the remote {self.refs.remote} does not have the recorded commit {task.commit[:12]} "
                f"of {task.branch}. Somebody moved the branch there; its present content is reviewed again."
            )
        restore_artifacts(self.refs, task, self.tasks_folder)
        for name in bring_images(self.refs, self.images_folder, task.spec.description):
            self.note(f"Task {task.id}: the image {name} of its description is not on the remote. Add it again there.")

    def send(self, task: Task, events: Iterable[Event], require_claim: Callable[[], None]) -> None:
        """Push what the events refer to. Raises if the claim was lost meanwhile, or the task is stopped."""
        starts = [read(RunStarted, event.data) for event in events if event.type == "run.started"]
        bases = [start.base for start in starts if start.base]

        def push() -> None:
            require_claim()
            self.failpoint("share-claimed")
            try:
                self.refs.push(self._refs_of(task, bases))
            except PushRejected:
                self._give_way(task)
                require_claim()
                self.refs.push(self._refs_of(task, bases))

        self._until_done(task.id, push)
        self.failpoint("share-pushed")

    def _refs_of(self, task: Task, bases: list[str]) -> dict[str, str | None]:
        project = self.refs.project
        names = [f"refs/heads/{task.branch}"] if task.branch else []
        names.append(f"{ARTIFACTS}{task.name}")
        found: dict[str, str | None] = {name: sha for name in names if (sha := read_ref(project, name))}
        found |= {
            ref: sha for ref, sha in list_refs(project, RESCUES).items() if ref.startswith(f"{RESCUES}{task.id}-")
        }
        # a base that only this clone has: the branch, which has it in its history, comes later
        found |= {f"{BASES}{task.id}-{sha[:12]}": sha for sha in bases if not self._is_on_remote(sha)}
        return found

    def _is_on_remote(self, commit: str) -> bool:
        tips = list_refs(self.refs.project, f"refs/remotes/{self.refs.remote}/")
        return any(is_ancestor(self.refs.project, commit, tip) for tip in set(tips.values()))

    def _give_way(self, task: Task) -> None:
        """Another machine pushed although this one holds the task: keep what it pushed, then go on from there."""
        with self._fetching:
            self.refs.fetch({task.id, *map(int, _branch_owner(task))})
            for ref, there in self.refs.commits_of(self.refs.on_remote()).items():
                here = read_ref(self.refs.project, ref)
                if here and here != there and not is_ancestor(self.refs.project, there, here):
                    keep(self.refs.project, f"{task.name}-elsewhere", there)

    def _until_done(self, task_id: int, act: Callable[[], None]) -> None:
        tries = 0
        try:
            while not self._is_done(task_id, act, tries):
                tries += 1
        finally:
            if tries:
                self.waits(task_id, "")
        if tries:
            self.note(f"Task {task_id}: the git remote {self.refs.remote} is there again.")

    def _is_done(self, task_id: int, act: Callable[[], None], tries: int) -> bool:
        try:
            act()
        except RemoteAway as error:
            if tries == 0:
                self.waits(task_id, error.what)
                self.note(f"Task {task_id}: {error.what.rstrip('.')}. The task waits for it, and nothing is lost.")
            if self.wait(task_id, PAUSES[min(tries, len(PAUSES) - 1)]):
                self.waits(task_id, "")
                raise PhaseFailed(ErrorCode.INTERRUPTED, f"Stopped while it waited. {error.what}") from error
            return False
        return True


def refresh(refs: SharedRefs, branches: Iterable[tuple[str, str]]) -> bool:
    """Fetch if a recorded commit of a branch is not in this clone; False if it should have been, and could not."""
    missing = [(branch, commit) for branch, commit in branches if _is_behind(refs, branch, commit)]
    if not missing:
        return True
    try:
        refs.fetch_all()
        refs.bring(int(number) for branch, _ in missing if (number := _number(branch)))
    except BurnishError:
        return False
    return True


def _is_behind(refs: SharedRefs, branch: str, commit: str) -> bool:
    tip = read_ref(refs.project, f"refs/heads/{branch}")
    if tip == commit:
        return False
    answer = refs.project.git("cat-file", "--batch-check", stdin=f"{commit}\n".encode()).stdout
    return tip is None or b" commit " not in answer


def drop_copies(refs: SharedRefs, numbers: Collection[int]) -> str:
    """Remove what the remote has of tasks that are over, after this clone got it. Returns why it could not be done."""
    try:
        refs.fetch(numbers)
        refs.bring(numbers)
        own = refs.of_tasks(numbers)
        refs.push(dict.fromkeys(own))
    except BurnishError as error:
        return f"The copies of {len(numbers)} finished tasks stay on the remote. {error.what}"
    return ""


def restore_artifacts(refs: SharedRefs, task: Task, tasks_folder: Path) -> None:
    """Write the files of the task's artifacts that only another machine has had so far."""
    tip = read_ref(refs.project, f"{ARTIFACTS}{task.name}")
    place = tasks_folder / task.name / "artifacts"
    own_name = re.compile(re.escape(f"{task.name}/") + _ARTIFACT_NAME)
    # anyone who can push chooses the names on the remote
    names = [name for name in list_files(refs.project, tip) if own_name.fullmatch(name)] if tip else []
    missing = [name for name in names if not (place / name.partition("/")[2]).exists()]
    if not tip or not missing:
        return
    private_folder(place)
    for name, data in read_files(refs.project, tip, missing).items():
        if data is not None:
            write_whole(place / name.partition("/")[2], data)


def send_images(refs: SharedRefs, folder: Path, text: str) -> None:
    """Give other machines the images that a description refers to. A worker that misses one reports it."""
    with suppress(BurnishError):
        for file in (folder / name for name in image_names(text)):
            if file.is_file():
                push_image(refs.project.root, refs.remote, file)


def bring_images(refs: SharedRefs, folder: Path, text: str) -> list[str]:
    """Get the images of a description that this machine does not have; returns those that the remote does not have."""
    missing = []
    for name in image_names(text):
        if (folder / name).exists():
            continue
        data = fetch_image(refs.project.root, refs.remote, name, MAX_BYTES)
        # anyone who can push chooses the content
        kind = image_kind(data) if data else None
        if data is None or kind is None or image_name(data, kind) != name:
            missing.append(name)
            continue
        private_folder(folder)
        write_whole(folder / name, data)
    return missing


def _branch_owner(task: Task) -> list[str]:
    """The number of the task whose branch this one continues."""
    number = _number(task.branch or "")
    return [number] if number else []


def _number(branch: str) -> str:
    number = branch.removeprefix(BRANCHES.removeprefix("refs/heads/")).partition("-")[0]
    return number if number.isdecimal() else ""

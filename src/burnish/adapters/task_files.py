"""The files of a task in the burnish home: calls, outputs, artifacts, stamps."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from burnish.adapters.redaction import secrets_from_environment
from burnish.core.images import image_names
from burnish.core.secrets import Secrets
from burnish.core.task import Task
from burnish.errors import BurnishError
from burnish.git.files import write_whole
from burnish.proc.folders import private_folder
from burnish.proc.run import StopToken, finished_call, wait_for_orphans
from burnish.proc.slots import slot
from burnish.review.contract import new_number

# between the name of a folder of outputs and the number of a later attempt
ATTEMPT = "@"
MAX_ATTEMPTS = 100
# the folder in the burnish home for images of descriptions
IMAGES = "images"


@dataclass(frozen=True, slots=True)
class HomeCallDir:
    """One agent call's directory."""

    path: Path

    def number(self) -> str:
        file_path = self.path / "number"
        try:
            fd = os.open(file_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            old_number = file_path.read_text()
            if old_number:
                return old_number
            fd = os.open(file_path, os.O_WRONLY)
        number = new_number(secrets.token_bytes(8))
        with os.fdopen(fd, "w") as file:
            file.write(number)
        return number

    def prompt(self) -> str | None:
        try:
            return (self.path / "prompt.md").read_bytes().decode("utf-8", "surrogateescape") or None
        except FileNotFoundError:
            return None

    def finished(self) -> bool:
        """True if the newest try exited with code 0."""
        tries = sorted(self.path.glob("try-*"), key=lambda p: int(p.name[4:]) if p.name[4:].isdigit() else 0)
        exit_record = finished_call(tries[-1]) if tries else None
        return exit_record is not None and exit_record.exit_code == 0


def _call_name(task: Task, cycle: int, phase: str, attempt: int, label: str) -> str:
    return f"run-{task.run}-cycle-{cycle}-{phase}-{attempt}" + (f"-{label}" if label else "")


@dataclass(frozen=True, slots=True)
class HomeTaskFiles:
    """Files below `$BURNISH_HOME/projects/<project>/tasks/<task>/`."""

    root: Path
    locks: Path
    stop: StopToken
    secrets: Secrets = field(default_factory=secrets_from_environment)

    def folder(self, task: Task, *parts: str) -> Path:
        place = self.root.joinpath(task.name, *parts)
        private_folder(place)
        return place

    def agent_lock(self, task: Task) -> Path:
        """Held by every shim of the task until all its processes ended."""
        private_folder(self.locks)
        return self.locks / f"shims-{self.root.parent.name}-{task.id}"

    def call(self, task: Task, cycle: int, phase: str, attempt: int, label: str = "") -> HomeCallDir:
        return HomeCallDir(self.folder(task, "calls", _call_name(task, cycle, phase, attempt, label)))

    def known_call(self, task: Task, cycle: int, phase: str, attempt: int, label: str) -> HomeCallDir | None:
        """The folder of an existing call; None if there was none. Creates nothing."""
        place = self.root / task.name / "calls" / _call_name(task, cycle, phase, attempt, label)
        return HomeCallDir(place) if place.is_dir() else None

    def session_dir(self, task: Task) -> Path:
        # programs keep more there than sessions, e.g. notes for later ones, which a new start must not read
        return self.folder(task, "sessions", f"run-{task.run}")

    def images(self, task: Task) -> tuple[Path, ...]:
        """The stored images that the task's description refers to."""
        folder = self.locks.parent / IMAGES
        paths = (folder / name for name in image_names(task.spec.description))
        return tuple(path for path in paths if path.is_file() and not path.is_symlink())

    def out_dir(self, task: Task, cycle: int, name: str) -> Path:
        """A new folder for output; the output of earlier attempts stays beside it."""
        label = f"run-{task.run}-cycle-{cycle}-{name}"
        for number in itertools.count(1):
            place = self.folder(task, "outputs", label if number == 1 else f"{label}{ATTEMPT}{number}")
            if number == MAX_ATTEMPTS or not any(place.iterdir()):
                break
        return place

    def write(self, task: Task, name: str, data: bytes) -> Path:
        target = self.folder(task, "artifacts") / name
        data = self.secrets.redact(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        # Synced, because an event that names it may be recorded next.
        write_whole(target, data)
        return target

    def read(self, task: Task, name: str) -> bytes | None:
        try:
            return (self.folder(task, "artifacts") / name).read_bytes()
        except FileNotFoundError:
            return None

    def read_all(self, task: Task) -> dict[str, bytes]:
        files = self.folder(task, "artifacts").iterdir()
        return {p.name: p.read_bytes() for p in sorted(files) if p.is_file() and not p.name.startswith(".")}

    def wait_for_orphans(self, task: Task) -> None:
        if wait_for_orphans(self.agent_lock(task)):
            return
        raise BurnishError(
            f"An agent of an earlier run still works on task {task.id} and does not end.",
            hint="Look for its process (`ps -ef | grep shim.py`), end it, then run again.",
        )

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        with slot(self.locks, f"{self.root.parent.name}-{name}", 1, self.stop):
            yield

    def stamp(self, task: Task, name: str, value: str | None = None) -> str | None:
        place = self.folder(task, "stamps") / name
        if value is not None:
            write_whole(place, self.secrets.redact(value).encode("utf-8", "surrogateescape"))
            return value
        try:
            return place.read_text("utf-8", "surrogateescape")
        except FileNotFoundError:
            return None

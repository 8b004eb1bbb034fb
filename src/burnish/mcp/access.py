"""The project that a server works on: the repository of a folder, or a project of `burnish serve`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from burnish import runtime
from burnish.runtime.requests import RunRequest
from burnish.store import Store

# Imported where they are used: a client that only reads waits half as long for its first answer.
if TYPE_CHECKING:
    from burnish.features.server.registry import ProjectRegistry
    from burnish.runtime.app import App


@dataclass(frozen=True, slots=True)
class ReadableProject:
    store: Store
    # None: burnish has no tasks for the repository yet
    key: str | None
    alive: Callable[[str], bool]


class Access(Protocol):
    def read(self) -> AbstractContextManager[ReadableProject]: ...

    def write(self) -> AbstractContextManager[App]: ...

    def folder(self) -> Path:
        """A folder of the repository."""
        ...

    def start_review(self, app: App, task: int) -> None:
        """Have the last commit of the task reviewed in the background."""
        ...


@dataclass(frozen=True, slots=True)
class FolderAccess:
    """Opens the repository of a folder for each call, so that the settings of that moment count."""

    start: Path

    @contextmanager
    def read(self) -> Iterator[ReadableProject]:
        reader = runtime.open_reader(self.start)
        try:
            yield ReadableProject(reader.store, reader.project.key if reader.project else None, reader.alive)
        finally:
            reader.store.close()

    @contextmanager
    def write(self) -> Iterator[App]:
        app = runtime.open_app(self.start)
        try:
            yield app
        finally:
            app.store.close()

    def folder(self) -> Path:
        return self.start

    def start_review(self, app: App, task: int) -> None:
        from burnish.features.run.detach import start_detached
        from burnish.features.tasks.edit import review_again

        review_again(app, task)
        # in a process of its own: the client may end this one at any moment
        start_detached(app, ["run", str(task), "--quiet"])


@dataclass(frozen=True, slots=True)
class ServedAccess:
    """A project of a running server, which also runs its tasks."""

    registry: ProjectRegistry
    key: str

    @contextmanager
    def read(self) -> Iterator[ReadableProject]:
        yield ReadableProject(self.registry.store, self.registry.project(self.key).key, self.registry.alive)

    @contextmanager
    def write(self) -> Iterator[App]:
        yield self.registry.open(self.key)

    def folder(self) -> Path:
        return self.registry.project(self.key).root

    def start_review(self, app: App, task: int) -> None:
        from burnish.features.tasks.edit import review_again

        review_again(app, task)
        if not self.registry.runs.queue()(app.store.task(app.key, task)):
            self.registry.begin(app, RunRequest(ids=(task,)))

"""Runs in the background of a server: they end with it, and go on when it is started again."""

from __future__ import annotations

import json
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from burnish.core.event import Recorded
from burnish.core.task import Task
from burnish.errors import BurnishError, NotFound, Refused
from burnish.wiring import running
from burnish.wiring.app import App
from burnish.wiring.helpers import Stops
from burnish.wiring.keeping import keep
from burnish.wiring.requests import RunRequest

MOST_NOTICES = 200
# how long a server that is stopped waits for its agents to be ended
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for whoever watches."""

    at: str
    project: str
    text: str


@dataclass(frozen=True, slots=True)
class _Watcher:
    """The progress of a run nobody sits in front of: the board reads events, and logs from their files."""

    project: str
    changed: Callable[[], None]
    tell: Callable[[str, str], None]

    def event(self, task: Task, event: Recorded) -> None:
        self.changed()

    def output(self, task_id: int, line: str) -> None:
        return

    def note(self, text: str) -> None:
        self.tell(self.project, text)


@dataclass
class _Run:
    app: App
    request: RunRequest
    stops: Stops = field(default_factory=Stops)
    thread: threading.Thread | None = None


class Runs:
    """What this process runs; kept in a file, so that a restart goes on with it."""

    def __init__(self, file: Path, open_project: Callable[[str], App], changed: Callable[[], None]) -> None:
        self._file = file
        self._open = open_project
        self._changed = changed
        self._runs: dict[str, _Run] = {}
        self._guard = threading.Lock()
        self._notices: deque[Notice] = deque(maxlen=MOST_NOTICES)
        self._closing = False

    def start(self, app: App, request: RunRequest) -> None:
        running.check(app, request)
        self._begin(uuid.uuid4().hex, app, request)

    def stop(self, key: str, task: int) -> bool:
        with self._guard:
            mine = [run for run in self._runs.values() if run.app.key == key and task in run.stops.tokens]
        for run in mine:
            run.stops.of(task).request()
        return bool(mine)

    def running(self, key: str) -> int:
        with self._guard:
            return sum(run.app.key == key for run in self._runs.values())

    def notices(self) -> list[Notice]:
        return list(self._notices)

    def resume(self) -> int:
        """Go on with what an earlier server was running when it ended; how many runs that is."""
        kept = list(self._kept())
        for name, key, request in kept:
            try:
                app = self._open(key)
                running.check(app, request)
            except (NotFound, Refused):
                continue  # removed, cancelled, or somebody else has taken it up
            except BurnishError as error:
                self._tell(key, f"{error.what} {error.hint}".rstrip())
                continue
            with suppress(BurnishError):
                self._begin(name, app, request)
        with suppress(BurnishError):
            self._keep()
        return len(self._runs)

    def close(self) -> None:
        """Ask all to stop and wait for them; what is cut stays on the list."""
        self._closing = True
        with self._guard:
            runs = list(self._runs.values())
        for run in runs:
            run.stops.request()
        for run in runs:
            if run.thread:
                run.thread.join(PATIENCE)

    def _begin(self, name: str, app: App, request: RunRequest) -> None:
        run = _Run(app, request)
        run.thread = threading.Thread(target=self._work, args=(name, run), name=f"run-{app.key}", daemon=True)
        with self._guard:
            self._runs[name] = run
            try:
                self._keep()
            except BurnishError:
                # a run that a restart would forget is not begun
                del self._runs[name]
                raise
        run.thread.start()

    def _work(self, name: str, run: _Run) -> None:
        watcher = _Watcher(run.app.key, self._changed, self._tell)
        try:
            running.run(run.app, run.request, watcher, stops=run.stops)
        except BurnishError as error:
            self._tell(run.app.key, f"{error.what} {error.hint}".rstrip())
        except Exception as error:
            # one run must not take the server with it; the text is all that anybody will see of it
            self._tell(run.app.key, f"This is a bug in burnish: {type(error).__name__}: {error}")
            raise
        finally:
            with self._guard:
                self._runs.pop(name, None)
                if not self._closing:
                    # at worst a restart looks at a task once more that has come to rest
                    with suppress(BurnishError):
                        self._keep()
            self._changed()

    def _tell(self, project: str, text: str) -> None:
        self._notices.append(Notice(datetime.now(UTC).isoformat(timespec="seconds"), project, text))
        self._changed()

    # the list on disk

    def _keep(self) -> None:
        entries = {name: {"project": run.app.key, **asdict(run.request)} for name, run in self._runs.items()}
        keep(self._file, json.dumps(entries))

    def _kept(self) -> Iterator[tuple[str, str, RunRequest]]:
        try:
            found: dict[str, dict[str, Any]] = json.loads(self._file.read_text("utf-8"))
            for name, entry in found.items():
                key = str(entry.pop("project"))
                yield name, key, RunRequest(**{**entry, "ids": tuple(int(i) for i in entry.get("ids", ()))})
        except FileNotFoundError:
            return
        except (ValueError, TypeError, KeyError, AttributeError):
            # nothing is lost by a damaged list: the tasks themselves say that they were interrupted
            self._tell("", "The list of runs could not be read: `burnish run` goes on with what was interrupted.")

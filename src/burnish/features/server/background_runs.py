"""Runs in the background of a server: they end with it, and go on when it is started again."""

from __future__ import annotations

import json
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from burnish.adapters.agents import StopTokens
from burnish.core.agent import Use
from burnish.core.event import RecordedEvent
from burnish.core.status import Status
from burnish.core.task import Task
from burnish.errors import BurnishError, NotFound, Refused, Untrusted
from burnish.features.run import run as running
from burnish.git.files import write_whole
from burnish.proc.folders import private_folder
from burnish.runtime.app import App
from burnish.runtime.ports import agent_costs
from burnish.runtime.requests import RunRequest
from burnish.views.status import UNDER_WAY, was_cut

MAX_NOTICES = 200
# how long a server that is stopped waits for its agents to be ended
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the user."""

    at: str
    project: str
    text: str


@dataclass(frozen=True, slots=True)
class _Watcher:
    """The progress of a background run: the board reads events, and logs from their files."""

    project: str
    changed: Callable[[], None]
    tell: Callable[[str, str], None]

    def event(self, task: Task, event: RecordedEvent) -> None:
        self.changed()

    def output(self, task_id: int, line: str) -> None:
        return

    def spent(self, task_id: int, use: Use) -> None:
        return

    def note(self, text: str) -> None:
        self.tell(self.project, text)


@dataclass
class BackgroundRun:
    """What was asked for at once; it is over when none of it can be begun any more."""

    id: str
    app: App
    request: RunRequest
    since: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    stops: StopTokens = field(default_factory=StopTokens)
    thread: threading.Thread | None = None

    def wants(self, task: Task) -> bool:
        """True if this run will start the task later."""
        if task.project != self.app.key or self.stops.is_closed or task.id in self.stops.tokens:
            return False
        is_named = task.id in self.request.ids and task.status in UNDER_WAY
        anyway = self.request.everything or self.request.watch or task.id in self.request.ids
        return is_named or (anyway and (task.status is Status.BACKLOG or was_cut(task)))

    def has(self, task: Task) -> bool:
        return task.project == self.app.key and (task.id in self.stops.tokens or self.wants(task))

    def to_resume(self) -> RunRequest:
        """What the next server goes on with: of a run that takes up nothing more, the tasks at work."""
        if not self.stops.is_draining:
            return self.request
        tasks = self.app.store.tasks(self.app.key, ids=sorted(self.stops.tokens), statuses=UNDER_WAY, brief=True)
        return replace(self.request, ids=tuple(task.id for task in tasks), everything=False, watch=False)


class BackgroundRuns:
    """What this process runs; kept in a file, so that a restart goes on with it."""

    def __init__(self, file: Path, open_project: Callable[[str], App], on_change: Callable[[], None]) -> None:
        self._file = file
        self._open = open_project
        self._changed = on_change
        self._runs: dict[str, BackgroundRun] = {}
        self._guard = threading.Lock()
        # between the question whether a task is queued and its being so
        self._starting = threading.Lock()
        self._notices: deque[Notice] = deque(maxlen=MAX_NOTICES)
        self._closing = False

    def start(self, app: App, request: RunRequest) -> None:
        with self._starting:
            self._refuse_twice(app, request)
            running.check(app, request)
            request = replace(request, spent_before=app.store.spent(app.key), agents_before=agent_costs(app))
            self._begin(BackgroundRun(uuid.uuid4().hex, app, request))

    def stop(self, task: Task) -> bool:
        """End its agents, or take it out of the queue; False where no run has it."""
        mine = [run for run in self.active(task.project) if run.has(task)]
        for run in mine:
            run.stops.of(task.id).request()
        with self._guard, suppress(BurnishError):
            if not self._closing:
                self._keep()
        return bool(mine)

    def requeue(self, task: Task) -> bool:
        """Put a task back into the run whose queue it was taken out of; False where no such run goes on."""
        going_on = [run for run in self.active(task.project) if not run.stops.is_closed]
        earlier = [run for run in going_on if task.id in run.stops.stopped()]
        for run in earlier:
            run.stops.forget(task.id)
        with self._guard, suppress(BurnishError):
            if not self._closing:
                self._keep()
        return any(run.wants(task) for run in earlier)

    def auto(self, key: str) -> BackgroundRun | None:
        """The run that takes up every task of the project as it becomes ready; None if Auto is off."""
        return next((run for run in self.active(key) if run.request.watch and not run.stops.is_closed), None)

    def end_auto(self, key: str) -> None:
        """Switch Auto off: no further task starts; what is at work goes on to its end."""
        run = self.auto(key)
        if run is not None:
            run.stops.is_draining = True
            with self._guard:
                self._keep()
            self._changed()

    def stop_all(self, key: str) -> list[str]:
        """Every run of a project: what is at work is ended, what is queued is not begun."""
        mine = self.active(key)
        for run in mine:
            run.stops.request()
        return [run.id for run in mine]

    def active(self, key: str | None = None) -> list[BackgroundRun]:
        """Of one project or of all, oldest first."""
        with self._guard:
            return [run for run in self._runs.values() if key in (None, run.app.key)]

    def running(self, key: str) -> int:
        return len(self.active(key))

    def queue(self) -> Callable[[Task], bool]:
        """Is a task going to be begun here? As it is now."""
        runs = self.active()
        return lambda task: any(run.wants(task) for run in runs)

    def notices(self) -> list[Notice]:
        return list(self._notices)

    def resume(self) -> int:
        """Go on with what an earlier server was running when it ended; how many runs that is."""
        stored_runs = list(self._kept())
        for name, key, request, out in stored_runs:
            try:
                app = self._open(key)
                running.check(app, request)
            except Untrusted as error:
                self._tell(key, f"{error.what} {error.hint}")
                continue
            except (NotFound, Refused):
                continue  # removed, cancelled, or somebody else has taken it up
            except BurnishError as error:
                self._tell(key, f"{error.what} {error.hint}".rstrip())
                continue
            with suppress(BurnishError):
                self._begin(self._again(name, app, request, out))
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

    def _refuse_twice(self, app: App, request: RunRequest) -> None:
        is_queued = self.queue()
        for number in request.ids:
            if is_queued(app.store.task(app.key, number)):
                raise Refused(
                    f"Task {number} is queued already: it starts when it is its turn.",
                    hint="Take it out of the queue (stop it) to have it run in another way.",
                )
        if (request.watch or request.everything) and self.auto(app.key):
            raise Refused(
                "Auto is on: it runs every task that is ready.", hint="Switch Auto off to run them otherwise."
            )
        if request.everything and any(r.request.everything and not r.stops.asked for r in self.active(app.key)):
            raise Refused("All that is ready is being run already.", hint="Stop that run to begin another one.")

    @staticmethod
    def _again(name: str, app: App, request: RunRequest, out: Iterable[int]) -> BackgroundRun:
        run = BackgroundRun(name, app, request)
        for number in out:
            run.stops.of(number).request()
        return run

    def _begin(self, run: BackgroundRun) -> None:
        run.thread = threading.Thread(target=self._work, args=(run,), name=f"run-{run.app.key}", daemon=True)
        with self._guard:
            self._runs[run.id] = run
            try:
                self._keep()
            except BurnishError:
                # a run that a restart would forget is not begun
                del self._runs[run.id]
                raise
        run.thread.start()

    def _work(self, run: BackgroundRun) -> None:
        watcher = _Watcher(run.app.key, self._changed, self._tell)
        try:
            running.run_tasks(run.app, run.request, watcher, stops=run.stops)
        except BurnishError as error:
            self._tell(run.app.key, f"{error.what} {error.hint}".rstrip())
        except Exception as error:
            # A failed run must not stop the server; this text is the only report of it.
            self._tell(run.app.key, f"This is a bug in burnish: {type(error).__name__}: {error}")
            raise
        finally:
            with self._guard:
                self._runs.pop(run.id, None)
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
        entries = {
            run.id: {"project": run.app.key, "out": sorted(run.stops.stopped()), **asdict(run.to_resume())}
            for run in self._runs.values()
        }
        keep(self._file, json.dumps(entries))

    def _kept(self) -> Iterator[tuple[str, str, RunRequest, list[int]]]:
        try:
            found: dict[str, dict[str, Any]] = json.loads(self._file.read_text("utf-8"))
            for name, entry in found.items():
                key, out = str(entry.pop("project")), [int(i) for i in entry.pop("out", ())]
                usd, tokens = entry.get("spent_before") or (None, 0)
                before = None if usd is None else (float(usd), int(tokens))
                ids = tuple(int(i) for i in entry.get("ids", ()))
                agents = {str(agent): float(usd) for agent, usd in (entry.get("agents_before") or {}).items()}
                facts = {"ids": ids, "spent_before": before, "agents_before": agents}
                yield name, key, RunRequest(**{**entry, **facts}), out
        except FileNotFoundError:
            return
        except (ValueError, TypeError, KeyError, AttributeError):
            # nothing is lost by a damaged list: the tasks themselves say that they were interrupted
            self._tell("", "The list of runs could not be read: `burnish run` goes on with what was interrupted.")


def keep(file: Path, text: str) -> None:
    try:
        private_folder(file.parent)
        write_whole(file, text.encode())
    except OSError as error:
        raise BurnishError(
            f"Cannot write {file}: {error.strerror}.", hint="Make room there, or check who may write it, and try again."
        ) from error

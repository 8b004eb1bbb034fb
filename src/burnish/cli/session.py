"""The options of every verb, and functions that open the project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from burnish.cli.parameters import Argument, Option
from burnish.errors import BadInput

if TYPE_CHECKING:
    from burnish.runtime import App, Reader
    from burnish.store import Store
    from burnish.views.status import LimitOf


@dataclass(slots=True)
class CliSession:
    """The shared options of one call of `main`."""

    start: str | None = None
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    plain: bool = False

    def reset(self) -> None:
        self.start, self.quiet, self.verbose, self.debug, self.plain = None, False, False, False, False


SESSION = CliSession()


LogFormat = Annotated[
    str | None,
    Option("--log-format", metavar="text|json", help="Print progress as text, or as one JSON object per line."),
]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]


def offer_tasks(incomplete: str) -> list[tuple[str, str]]:
    from burnish.cli.complete import tasks

    return tasks(incomplete)


TaskId = Annotated[
    str,
    Argument(metavar="TASK", help="The task, e.g. 29 or T29.", show_default=False, autocompletion=offer_tasks),
]


def start_dir() -> Path:
    start = Path(SESSION.start) if SESSION.start else Path.cwd()
    if not start.is_dir():
        raise BadInput(f"Directory not found: {start}.", hint="Give an existing directory after -C.")
    return start


def write_output(file: Path, text: str) -> None:
    """Write the file that `-o` names."""
    try:
        (start_dir() / file).write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        hint = "Name a file in a folder that exists."
        raise BadInput(f"Cannot write {file}: {error.strerror}.", hint=hint) from error


def open_reader() -> Reader:
    """Open what a reading command needs: the store and the project."""
    from burnish import runtime

    reader = runtime.open_reader(start_dir())
    _report_move(reader.note)
    _tell_obstacle(reader.store)
    if reader.project:
        runtime.void_lost_approvals(reader.home, reader.store, [reader.project], is_here=True, only_shows=True)
    return reader


def open_app(*, reading: bool = False) -> App:
    """Open everything: settings, git, agents. `reading`: for a command that changes nothing."""
    from burnish import runtime

    app = runtime.open_app(start_dir(), reading=reading)
    _report_move(app.note)
    _tell_obstacle(app.store)
    return app


def limits_of_tasks(reader: Reader) -> LimitOf | None:
    """Finds the usage limit that a task waits for; None if there is none: a reading command must start fast."""
    from burnish.proc import clock

    limits = reader.store.limits.current_limits(clock.now())
    if not limits:
        return None
    from burnish import runtime
    from burnish.runtime.tasks import LimitFinder

    return LimitFinder(
        reader.store, limits, lambda key: runtime.open_app(start_dir(), reading=True), reader.alive
    ).limit_of


def follow_move() -> None:
    """Relink a moved repository, for commands that call neither open_reader nor open_app."""
    from burnish.adapters.stores import has_store
    from burnish.runtime.reader import home_of

    if has_store(home_of()):
        open_reader().store.close()


def _report_move(note: str) -> None:
    if note:
        from burnish.cli.output import one_line, tell

        tell(one_line(note))


def _tell_obstacle(store: Store) -> None:
    """Print why the store is read-only."""
    if store.obstacle:
        from burnish.cli.output import tell

        tell(f"note: read-only. {store.obstacle.what}")


def tell_approval_cost() -> None:
    """Print which approvals a changed setting voids."""
    from burnish.cli.output import tell
    from burnish.errors import BurnishError
    from burnish.features.prompts.approval_cost import NOTICED, cost_so_far

    try:
        found = cost_so_far(open_app(reading=True))
    except BurnishError:
        # no repository, or settings that do not load: the command itself reports that
        return
    for line in found.words(NOTICED):
        tell(line)

"""burnish status, burnish list"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import (
    BY_STATUS,
    MAX_TITLE_LENGTH,
    coloured,
    columns,
    cut,
    mark,
    one_line,
    pad,
    paint,
    say,
    say_json,
    tell,
    width,
)
from burnish.cli.parameters import Option
from burnish.cli.session import AsJson, limits_of_tasks, open_reader, tell_approval_cost

if TYPE_CHECKING:
    from burnish.core.task import Task
    from burnish.runtime import Reader
    from burnish.views.status import StatusLine, StatusView
    from burnish.views.status_excerpt import StatusExcerpt

_LEAST_TITLE = 12
# of the columns, however much is told behind it
_TITLE_SHARE = 0.2
# where most lines leave room for it, so that similar titles can be told apart
_WIDE_TITLE_SHARE = 0.3
NO_TASKS = 'No tasks yet. Add one: burnish add "TITLE"'


def status(
    everything: Annotated[bool, Option("--all", help="Show every task, even if there are more than 200.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show all tasks, one per line, and what to do next.

    If there are more than 200, show the 200 that matter now. Use `burnish list` to filter tasks, `burnish show`
    for one task and `burnish inbox` for what waits for you.
    """
    if as_json:
        _say_tasks(*_tasks())
        return
    reader = open_reader()
    excerpt = _excerpt(reader, everything=everything) if reader.project else None
    if excerpt is None or not excerpt.view.tasks:
        say(_no_tasks(reader))
        _tell_other_machines(reader)
        return
    view = _with_conflicts(reader, _with_limits(reader, excerpt.view))
    _say_board(view)
    say("")
    if excerpt.words:
        say(excerpt.words)
    words = view.summary.words
    if sys.stdout.isatty() and width(words) > columns(sys.stdout):
        # the command stays whole
        words = words.replace(" Next: ", "\nNext: ")
    say(words)
    _say_limits(reader)
    _say_unserved(reader, view.tasks)
    _tell_changed_settings(reader)
    _tell_cleaning(reader)


def _no_tasks(reader: Reader) -> str:
    return " ".join(reader.untrusted_clone or (NO_TASKS,))


def _tell_other_machines(reader: Reader) -> None:
    """Branches of burnish that came with a clone: the tasks behind them are in the home of another machine."""
    from burnish.git.discovery import has_remote_branches

    if has_remote_branches(reader.found):
        tell("  There are branches of burnish from another machine. Its tasks and reviews: burnish sync --fetch")


def _say_limits(reader: Reader) -> None:
    from burnish.proc import clock

    now = clock.now()
    for limit in reader.store.limits.current_limits(now):
        say(f"{one_line(limit.words(now))}; its tasks wait (burnish limits).")


def _say_unserved(reader: Reader, tasks: Sequence[Task]) -> None:
    from burnish.views.status import unserved_words, waiting_words

    for words in (
        *unserved_words(reader.store, tasks, reader.alive),
        *waiting_words(reader.store, tasks, reader.alive),
    ):
        say(one_line(words))


def _tell_cleaning(reader: Reader) -> None:
    from burnish.features.clean.record import read_record

    record = read_record(reader.home, reader.key)
    if record and record.words:
        tell(record.words)


def _excerpt(reader: Reader, *, everything: bool) -> StatusExcerpt:
    from burnish.views.status_excerpt import status_excerpt

    # a runner that is dead was interrupted
    return status_excerpt(reader.store, reader.key, datetime.now(UTC), alive=reader.alive, everything=everything)


def _tell_changed_settings(reader: Reader) -> None:
    """Load settings only if they changed after the last approval: a reading command must start fast."""
    from burnish.features.settings.age import settings_are_newer

    if settings_are_newer(reader.store, reader.key, reader.found.root):
        tell_approval_cost()


def list_tasks(
    statuses: Annotated[
        list[str] | None, Option("--status", metavar="STATUS", help="Show only tasks with STATUS; repeatable.")
    ] = None,
    only_ready: Annotated[bool, Option("--ready", help="Show only tasks that `burnish run` would start now.")] = False,
    only_blocked: Annotated[bool, Option("--blocked", help="Show only tasks that need a person.")] = False,
    agent: Annotated[str | None, Option("--agent", metavar="AGENT", help="Show only tasks of AGENT.")] = None,
    tags: Annotated[
        list[str] | None, Option("--tag", metavar="TAG", help="Show only tasks with TAG; repeatable: all of them.")
    ] = None,
    text: Annotated[
        str, Option("--search", metavar="WORDS", help="Show only tasks with all WORDS in their title or texts.")
    ] = "",
    types: Annotated[
        list[str] | None, Option("--type", metavar="TYPE", help="Show only tasks of TYPE; repeatable.")
    ] = None,
    since: Annotated[
        str | None, Option("--since", metavar="TIME", help="Show only tasks changed since TIME: 12h, 7d or a date.")
    ] = None,
    reasons: Annotated[
        list[str] | None,
        Option("--reason", metavar="REASON", help="Show only tasks that stopped for REASON; repeatable."),
    ] = None,
    in_archive: Annotated[
        bool, Option("--archived", help="Show archived tasks, which are left out otherwise.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List tasks, filtered by status, agent, tags, text or time.

    Use `burnish status` for a summary with the next step.
    """
    from burnish.views.filters import TaskFilter, narrow, pick, since_when
    from burnish.views.status import can_go_on

    begin = since_when(since, datetime.now(UTC)) if since else None
    criteria = TaskFilter(tuple(tags or ()), tuple(types or ()), tuple(reasons or ()), begin, text, in_archive)
    reader, everything = _tasks(brief=not text)
    tasks = pick(
        narrow(everything, criteria),
        among=everything,
        statuses=statuses or [],
        ready=only_ready,
        only_blocked=only_blocked,
        agent=agent,
        can_go_on=lambda task: can_go_on(task, reader.alive),
    )
    if as_json:
        _say_tasks(reader, tasks)
    elif tasks:
        _say_board(_with_conflicts(reader, _with_limits(reader, _view(reader, tasks, everything))))
    else:
        say("No task matches. `burnish list` shows all tasks." if everything else _no_tasks(reader))


def _tasks(*, brief: bool = True) -> tuple[Reader, list[Task]]:
    reader = open_reader()
    return reader, reader.store.tasks(reader.key, brief=brief) if reader.project else []


def _view(reader: Reader, tasks: list[Task], among: Sequence[Task] = ()) -> StatusView:
    from burnish.views.status import status_view

    # a runner that is dead was interrupted
    return status_view(tasks, datetime.now(UTC), among=among, alive=reader.alive)


def _with_limits(reader: Reader, view: StatusView) -> StatusView:
    limit_of = limits_of_tasks(reader)
    if limit_of is None:
        return view
    from burnish.proc import clock
    from burnish.views.status import with_limits

    return with_limits(view, limit_of, clock.now())


def _with_conflicts(reader: Reader, view: StatusView) -> StatusView:
    """Look for conflicts only if a task could be merged: a reading command must start fast."""
    if reader.project is None or not any(task.status == "verified" for task in view.tasks):
        return view
    from burnish.runtime.target_conflicts import find_conflicts
    from burnish.views.status import with_conflicts

    view = with_conflicts(view, find_conflicts(reader.home, reader.store, [reader.project], is_here=True))
    # names of files are text of the repository
    lines = (replace(line, conflict=one_line(line.conflict)) if line.conflict else line for line in view.lines)
    return replace(view, lines=tuple(lines))


def _say_board(view: StatusView) -> None:
    for line in board(view.lines, room=columns(sys.stdout), colour=coloured(sys.stdout)):
        say(line)


def _say_tasks(reader: Reader, tasks: list[Task]) -> None:
    from burnish.views.status import task_json

    limit_of = limits_of_tasks(reader) or (lambda task: None)
    say_json({"tasks": [task_json(task, reader.alive, limit_of(task)) for task in tasks]})


def board(lines: Sequence[StatusLine], *, room: int, colour: bool) -> list[str]:
    """One aligned line a task, of at most `room` columns."""
    titles = [one_line(line.title) for line in lines]
    ids = max((len(line.id) for line in lines), default=1)
    # A status followed by brackets stands outside the column: "in_progress (cycle 2/3 …" needs no alignment.
    states = max([10, *(len(line.status) for line in lines if line.words[:1] not in ("", "("))])
    tails = [f"{line.status:<{states}} {line.words}".rstrip() for line in lines]
    signs = max((len(mark(line.mark)) for line in lines), default=1)
    tail_widths = sorted(map(width, tails)) or [0]
    tail_room = room - (2 + signs + 1 + ids + 1 + 3)
    wide = min(
        MAX_TITLE_LENGTH,
        max(map(width, titles), default=0),
        max(
            _LEAST_TITLE,
            int(room * _TITLE_SHARE),
            tail_room - tail_widths[-1],
            min(int(room * _WIDE_TITLE_SHARE), tail_room - tail_widths[len(tail_widths) // 2]),
        ),
    )
    return [
        f"{_sign(line, signs, colour)} {line.id:>{ids}} {pad(cut(title, wide), wide)}   "
        + _tail(line, cut(tail, tail_room - wide), colour)
        for line, title, tail in zip(lines, titles, tails, strict=True)
    ]


def _sign(line: StatusLine, room: int, colour: bool) -> str:
    return "  " + paint(f"{mark(line.mark):<{room}}", BY_STATUS[line.status], on=colour)


def _tail(line: StatusLine, text: str, colour: bool) -> str:
    split = len(line.status)
    return paint(text[:split], BY_STATUS[line.status], on=colour) + text[split:]

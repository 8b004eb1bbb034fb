"""burnish inbox"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated

from burnish.cli.output import (
    BY_STATUS,
    coloured,
    columns,
    count,
    cut,
    mark,
    one_line,
    paint,
    say,
    say_json,
    width,
    wrap,
)
from burnish.cli.parameters import Option
from burnish.cli.projects import ago
from burnish.cli.session import AsJson, open_reader
from burnish.views.status import MARKS

if TYPE_CHECKING:
    from pathlib import Path

    from burnish.features.hooks.news import CommitNews
    from burnish.store import Store
    from burnish.views.inbox import InboxEntry

NOTHING = "Nothing waits for you."
_LINES = 3
# files that no reviewer saw, of one entry
_FILES = 10


def inbox(
    everywhere: Annotated[bool, Option("--all", help="Include every project.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what waits for you, with the command that answers it.

    The oldest entry comes first. Use `burnish status` for all tasks.
    """
    from burnish.adapters.task_locks import is_runner_dead
    from burnish.core.status import Status
    from burnish.runtime.target_conflicts import find_conflicts
    from burnish.views.inbox import inbox as look
    from burnish.views.status import unserved_words

    home, store, folders, news = _everything() if everywhere else _here()
    today, locks = date.today().isoformat(), home / "locks"
    rows = [row for row in store.projects() if row.key in folders]
    conflicts = find_conflicts(home, store, rows, is_here=not everywhere)
    found = look(
        store, folders, today=today, alive=lambda runner: not is_runner_dead(store, locks, runner), conflicts=conflicts
    )
    if as_json:
        commits = [one.as_json() for one in news]
        say_json({"inbox": [entry.as_json() for entry in found], "commits": commits})
        return
    now, room, colour = datetime.now(UTC), columns(sys.stdout), coloured(sys.stdout)
    lines = [*page(found, folders, room=room, colour=colour, now=now)] if found or not news else []
    for one in news:
        lines += ["", *_commit(one, folders.get(one.project, ""), room, colour, now)]
    for line in lines if found or not news else lines[1:]:
        say(line)
    for row in rows if store.is_shared else ():
        backlog = store.tasks(row.key, statuses=(Status.BACKLOG,), brief=True)
        for words in unserved_words(store, backlog, lambda runner: not is_runner_dead(store, locks, runner)):
            say(words)


def _commit(news: CommitNews, folder: str, room: int, colour: bool, now: datetime) -> Iterator[str]:
    """A commit that the background hook reviewed; it belongs to no task."""
    where = f"  {one_line(folder)}" if folder else ""
    title = paint(one_line(news.title), "bold", on=colour)
    yield f"{paint('!', 'yellow', on=colour)} {title}{where}  {paint(ago(news.since, now), 'dim', on=colour)}"
    for line in _short(one_line(news.why), room - 4):
        yield f"    {line}"
    yield f"    {paint(_there(news.command, folder), 'cyan', on=colour)}"


def _short(text: str, room: int) -> list[str]:
    """The first lines of a text; what is left out is in `burnish show`."""
    lines = wrap(text, room)
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], cut(f"{lines[_LINES - 1]} …", room)]


def _here() -> tuple[Path, Store, dict[str, str], list[CommitNews]]:
    """This project, which needs no folder to be named."""
    from burnish.features.hooks.news import hook_news

    reader = open_reader()
    key = reader.project.key if reader.project else ""
    news = hook_news(reader.home, key, reader.found.common_dir)
    return reader.home, reader.store, {key: ""} if key else {}, news


def _everything() -> tuple[Path, Store, dict[str, str], list[CommitNews]]:
    from burnish.features.hooks.news import hook_news
    from burnish.runtime.lost_branches import void_lost_approvals
    from burnish.runtime.reader import open_store

    home, store = open_store()
    rows = store.projects()
    void_lost_approvals(home, store, rows, only_shows=True)
    news = [one for row in rows for one in hook_news(home, row.key, row.common_dir)]
    return home, store, {row.key: str(row.root) for row in rows}, news


def page(
    found: list[InboxEntry], folders: Mapping[str, str], *, room: int, colour: bool, now: datetime
) -> Iterator[str]:
    if not found:
        yield NOTHING
        return
    ready = [entry for entry in found if entry.kind == "ready"]
    wants = len(found) - len(ready)
    yield f"{count(wants, 'task')} waiting for you" + (f", {len(ready)} ready to merge" if ready else "")
    for entry in found:
        yield ""
        yield from _entry(entry, folders.get(entry.task.project, ""), room, colour, now)


def _entry(entry: InboxEntry, folder: str, room: int, colour: bool, now: datetime) -> Iterator[str]:
    from burnish.exchange.markdown_text import unmarked

    task = entry.task
    tone = BY_STATUS[task.status]
    since = ago(entry.since, now)
    where = f"  {one_line(folder)}" if folder else ""
    title_room = room - width(since) - width(where) - 8 - len(str(task.id))
    title = cut(one_line(task.spec.title), max(20, title_room))
    sign = paint(mark(MARKS[task.status]), tone, on=colour)
    yield f"{sign} {paint(f'T{task.id} {title}', 'bold', on=colour)}{where}  {paint(since, 'dim', on=colour)}"
    for line in _short(unmarked(one_line(entry.why)), room - 4):
        yield f"    {line}"
    for path, words in entry.unseen_files[:_FILES]:
        yield cut(f"      {one_line(path)}: {one_line(words)}", room)
    if len(entry.unseen_files) > _FILES:
        yield f"      and {len(entry.unseen_files) - _FILES} more: burnish show {task.id} --json"
    yield f"    {paint(_there(entry.command, folder), 'cyan', on=colour)}"


def _there(command: str, folder: str) -> str:
    from burnish.views.inbox import from_elsewhere

    return from_elsewhere(command, folder) if folder else command

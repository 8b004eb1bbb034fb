"""`burnish store move`: moves all tasks from SQLite to PostgreSQL, or back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from burnish.adapters.task_locks import is_runner_dead
from burnish.errors import BadInput, BurnishError, Refused
from burnish.git.discovery import discover
from burnish.git.files import write_whole
from burnish.runtime.project_identity import publish_project
from burnish.runtime.reader import home_of, refuse_inside_phase
from burnish.runtime.trust import examine
from burnish.store import Store
from burnish.store.copy import Content, has_rows
from burnish.store.sqlite import MOVED_NOTE
from burnish.store.store import look_at
from burnish.user_settings import DATABASE_SCHEMES, database_url, remote_name, user_folder

SQLITE = "sqlite"
_LATER = "Other machines find its tasks after the next command that changes one here."


@dataclass(frozen=True, slots=True)
class MoveReport:
    source: str
    target: str
    # rows of each table
    rows: Mapping[str, int]
    # what to do next
    next: str
    is_dry_run: bool = False
    # projects that other machines do not find yet, with the reason
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        return {
            "source": self.source,
            "target": self.target,
            "rows": dict(self.rows),
            "next": self.next,
            "dry_run": self.is_dry_run,
            "notes": list(self.notes),
        }


def move(to: str, *, dry_run: bool = False) -> MoveReport:
    """Copy all rows and compare them. The old database stays; a note beside an SQLite file names the new one."""
    refuse_inside_phase()
    home = home_of()
    if to == SQLITE:
        return _to_sqlite(home, dry_run)
    if to.startswith(DATABASE_SCHEMES):
        return _to_postgresql(home, to, dry_run)
    # not repeated: it may have a password
    raise BadInput("This is not a database.", hint="Use --to postgresql://user@host/name or --to sqlite.")


def _to_postgresql(home: Path, url: str, dry_run: bool) -> MoveReport:
    with Store.open_moved(home) as source:
        _refuse_active(source, home)
        if dry_run:
            name, has_tables = look_at(url)
            content = source.content()
            if has_tables:
                with Store.open(home, url=url) as target:
                    has_rows(name, target.content(), content)
            return _report(source, name, content, "", is_dry_run=True)
        with Store.open(home, url=url) as target:
            content = source.copy_to(target)
            write_whole(home / MOVED_NOTE, f"{target.name}\n".encode())
            line = f"Write in {user_folder() / 'config.yaml'}: database: {target.name}"
            report = _report(source, target.name, content, "" if database_url() == url else line)
            return replace(report, notes=tuple(_publish_projects(target, home)))


def _publish_projects(store: Store, home: Path) -> Iterator[str]:
    """Let clones on other machines find their projects; yields what could not be done.

    Only remotes of trusted checkouts are asked: `.git` names programs that reach them.
    """
    from burnish.cluster.shared_refs import has_remote

    remote = remote_name()
    for row in store.projects():
        if row.is_elsewhere or row.is_detached or not row.common_dir.is_dir() or not has_remote(row.root, remote):
            continue
        try:
            is_trusted = examine(discover(row.root), home).is_trusted
            problem = publish_project(store, row, remote) if is_trusted else f"{row.root} is not trusted. {_LATER}"
        except BurnishError as error:
            problem = f"{error.what} {_LATER}"
        if problem:
            yield f"{row.name}: {problem}"


def _to_sqlite(home: Path, dry_run: bool) -> MoveReport:
    url = database_url()
    if url is None:
        raise BadInput("The tasks are in SQLite already.", hint="`database` is not set in your config.yaml.")
    final, incoming = home / "burnish.db", home / "burnish.db.incoming"
    if final.exists() and not (home / MOVED_NOTE).exists():
        raise Refused(
            f"{final} has tasks of its own.", hint="Move the file aside first: burnish does not join two databases."
        )
    with Store.open(home, url=url) as source:
        _refuse_active(source, home)
        if dry_run:
            return _report(source, str(final), source.content(), "", is_dry_run=True)
        for rest in home.glob("burnish.db.incoming*"):
            rest.unlink()
        with Store.create_file(incoming) as target:
            content = source.copy_to(target)
        _put_in_place(home, incoming, final)
        return _report(source, str(final), content, "Remove `database` from your config.yaml, on every machine.")


def _put_in_place(home: Path, incoming: Path, final: Path) -> None:
    """Put the new file in the place of the one that was moved away before, which is kept under another name."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for suffix in ("", "-wal", "-shm"):
        old = final.with_name(final.name + suffix)
        if old.exists():
            old.rename(final.with_name(f"burnish-{stamp}.db{suffix}"))
    incoming.rename(final)
    (home / MOVED_NOTE).unlink(missing_ok=True)


def _refuse_active(store: Store, home: Path) -> None:
    """A run that goes on would write to the old database."""
    active = [card for card in store.runners() if not is_runner_dead(store, home / "locks", str(card["id"]))]
    if active:
        names = ", ".join(f"{card.get('user')}@{card.get('host')}, pid {card.get('pid')}" for card in active)
        raise Refused(f"A run is active: {names}.", hint="Wait for it, or stop it in its project: burnish stop")


def _report(source: Store, target: str, content: Content, next: str, *, is_dry_run: bool = False) -> MoveReport:
    return MoveReport(source.name, target, {name: one.rows for name, one in content.items()}, next, is_dry_run)

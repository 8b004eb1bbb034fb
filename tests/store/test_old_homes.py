"""Databases that earlier versions of burnish wrote, kept as SQL text: each opens, migrates, and goes on.

`homes/NNNN.sql` was written by the code that had NNNN as its newest migration. The first day left two more: 0001 before
it was edited in place, and with a 0002 that was withdrawn.
"""

from __future__ import annotations

import ast
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from burnish.core.event import Event
from burnish.core.status import Status
from burnish.core.task import Spec
from burnish.store import Store
from burnish.store.migrate import _apply, migrations, version
from tests.store.test_migrations import schema

HOMES = sorted((Path(__file__).parent / "homes").glob("*.sql"))
FIRST_DAY = [file for file in HOMES if file.stem in ("0001-before-edit", "0002-withdrawn")]


def lay(home: Path, fixture: Path) -> Path:
    home.mkdir()
    with closing(sqlite3.connect(home / "burnish.db")) as db:
        db.executescript(fixture.read_text("utf-8"))
        db.execute("PRAGMA journal_mode = WAL")
    return home


def columns(home: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(home / "burnish.db")) as db:
        return schema(db)


def test_there_is_a_home_of_every_earlier_schema() -> None:
    earlier = {file.name[:4] for _, file in migrations()[:-1]}
    assert earlier <= {file.stem for file in HOMES} and len(FIRST_DAY) == 2


@pytest.mark.parametrize("fixture", HOMES, ids=lambda file: file.stem)
def test_a_home_of_an_earlier_schema_opens_and_goes_on(tmp_path: Path, fixture: Path) -> None:
    check_home(lay(tmp_path / "old", fixture), tmp_path / "new")


@pytest.mark.parametrize("upto", [3, 4, 5])
@pytest.mark.parametrize("fixture", FIRST_DAY, ids=lambda file: file.stem)
def test_a_home_of_the_first_day_that_a_later_version_migrated_in_part_goes_on(
    tmp_path: Path, fixture: Path, upto: int
) -> None:
    """Later versions went by numbers alone, and stopped where a column was missing."""
    home = lay(tmp_path / "old", fixture)
    with closing(sqlite3.connect(home / "burnish.db", isolation_level=None)) as db:
        have = version(db)
        with suppress(sqlite3.OperationalError):
            for number, file in migrations():
                if have < number <= upto:
                    _apply(db, number, file)
    check_home(home, tmp_path / "new")


def check_home(home: Path, new: Path) -> None:
    with Store.open(home) as store:
        (project,) = store.projects()
        assert (project.root, project.repository_id) == (Path("/repo"), "")
        first, second = store.tasks(project.key)
        assert (first.spec.title, first.status, first.commit) == ("Add division", Status.CODE_REVIEW, "1" * 40)
        assert (first.cost_usd, second.spec.depends_on) == (0.25, (1,))
        assert len(store.events(project.key)) == 7 and len(store.history(project.key, 1).phases) == 1
        assert store.unarchived(project.key) == [1] and store.waiting(project.key)[0][0].id == 2
        store.record(project.key, 1, [Event("task.status", {"from": "code_review", "to": "verified"}, run=1, cycle=1)])
        assert store.add_task(project.key, Spec("Another"), max_cycles=3, auto_review=True).id == 3
        assert store.claim(project.key, "runner", ids=None, is_dead=lambda runner: True) is not None
    Store.open(new).close()
    extra = {"decided"}  # of the withdrawn migration: not used, and harmless
    assert [(name, _without(text, extra)) for name, text in columns(home)] == columns(new)


def _without(text: str, names: set[str]) -> str:
    return str([row for row in ast.literal_eval(text) if row[0] not in names])

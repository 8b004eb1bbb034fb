"""Runs the tests of a module with the state in SQLite and in PostgreSQL, counted in lines of their own.

`pytestmark = BOTH_STORES` (or as marks of one test). The variable that names the database reaches every process that a
test starts. With PostgreSQL, a test belongs to the long form, which `make torture` and `make test-all` run.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testing.postgresql import postgresql_server

FIXTURE = "database"
POSTGRESQL = "postgresql"
# as tables name them
SQLITE_NAME, POSTGRESQL_NAME, NO_STORE = "SQLite", "PostgreSQL", "—"

BOTH_STORES = [
    pytest.mark.usefixtures(FIXTURE),
    pytest.mark.parametrize(
        FIXTURE, ["sqlite", pytest.param(POSTGRESQL, marks=[pytest.mark.long, pytest.mark.slow])], indirect=True
    ),
]


@pytest.fixture(params=["sqlite", POSTGRESQL])
def database(request: pytest.FixtureRequest, hermetic: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[str | None]:
    """The address of the database that `open_store` opens, also in other processes; None: SQLite in the home."""
    if request.param == "sqlite":
        yield None
        return
    with postgresql_server().database() as url:
        monkeypatch.setenv("BURNISH__DATABASE", url)
        yield url


def store_of(item: pytest.Item) -> str:
    """The name of the database that the test is tried with; NO_STORE if that is not part of the test."""
    callspec = getattr(item, "callspec", None)
    parameter = callspec.params.get(FIXTURE) if callspec else None
    return {None: NO_STORE, POSTGRESQL: POSTGRESQL_NAME}.get(parameter, SQLITE_NAME)

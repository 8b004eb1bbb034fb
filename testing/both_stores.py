"""Runs the tests of a module with the state in SQLite and in PostgreSQL, counted in rows of their own.

`pytestmark = BOTH_STORES` (or as marks of one test). The variable that names the database reaches every process that a
test starts. With PostgreSQL, a test belongs to the long form, which `make torture` and `make test-all` run.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testing.postgresql import postgresql_server

FIXTURE = "database"
POSTGRESQL = "postgresql"

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


def with_store(kind: str, item: pytest.Item) -> str:
    """The kind of attack, with the database if it is not SQLite."""
    callspec = getattr(item, "callspec", None)
    is_postgresql = callspec is not None and callspec.params.get(FIXTURE) == POSTGRESQL
    return f"{kind} (PostgreSQL)" if is_postgresql else kind

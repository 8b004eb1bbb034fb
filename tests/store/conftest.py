"""A store in a fresh home, and a project in it: each test runs with SQLite and with PostgreSQL (`both_stores.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.adapters.stores import open_store
from burnish.store import Store


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "burnish-home"


@pytest.fixture
def store(home: Path, database: str | None) -> Iterator[Store]:
    with open_store(home) as opened:
        yield opened


@pytest.fixture
def project(store: Store, tmp_path: Path) -> str:
    row = store.project_for(tmp_path / "app" / ".git", tmp_path / "app", create=True)
    assert row is not None
    return row.key

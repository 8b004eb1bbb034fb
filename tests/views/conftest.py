"""A store with one task that has been through two cycles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "burnish-home") as opened:
        yield opened


@pytest.fixture
def project(store: Store, tmp_path: Path) -> str:
    row = store.project_for(tmp_path / "app" / ".git", tmp_path / "app", create=True)
    assert row is not None
    return row.key

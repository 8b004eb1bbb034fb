"""Opens the database that the user's settings name."""

from __future__ import annotations

from pathlib import Path

from burnish.store import Store
from burnish.user_settings import database_url


def open_store(home: Path, *, create: bool = True, reading: bool = False) -> Store:
    """The database of the settings, else SQLite in the burnish home. `reading`: also if it cannot be written."""
    url = database_url()
    return Store.open_reading(home, url=url) if reading else Store.open(home, url=url, create=create)


def has_store(home: Path) -> bool:
    """False if no command has created a database yet."""
    return (home / "burnish.db").exists() or database_url() is not None

"""A database of every earlier version opens; what was published is never edited."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from burnish.store import migrate
from burnish.store.migrate import migrate_database, migrations, version

# A migration that was applied somewhere is never applied there again: an edit would split the world in two.
PUBLISHED = {
    "0001_start": "7aaed6cc01df2290e60cbb80d273b1ca07e22839ec9bcaaf1aa630c318f95197",
    "0002_cost_source": "c1bc160257672c8290f6bed3f34b1948d417296e6865666cb1f2518dc8e9eb7f",
    "0003_baseline_environments": "7ac4abae39b143db4fba6cd53e0d0f80eea2660e6a5e4d75d03dd169797b05a1",
    "0004_baseline_origins": "57143b22317aeafb545c02812b96bb7720e76b433d0e305be89447bc2aaf2dfc",
    "0005_waiting": "7cdeeac54ae731d31bb8d28f83a362951b69728ad09a3f15023bf751198b5170",
    "0006_repository_ids": "4cca9ae231e5d86f3c71537a93b51020a0746fc581b4ac2c378cf3f7a48c311a",
    "0007_usage_limits": "0c25396ba03f384e34da75b55cc4addad3289dccf86b5a6b78f32e45b388fbf9",
    "0008_tasks_by_branch": "3399b6bd2aedb79ae616cb20fca1b293982302f38eea6469d4e4bade30b515c6",
    "0009_plan_windows": "0ac670c4fac98778d42637ab7bdc0a343be75d80cf868e88e13c70278a3904ee",
    "0010_leases": "ea851b3d82be48ab0cde04858798ca406335c97693f86fae272bb20eca8c36f5",
    "0011_checkouts": "7786b27117d8660a6d36f07d4c427d67cd0efe137f01b64fb257fc087d5952fb",
    "0012_people": "3d4ab17fa515660da8040755e04785fcdb58617d081bbef1f4c8d48fa9e985af",
}
# where a PostgreSQL database begins; the migrations after it are the same for both
POSTGRESQL_START = "987756e20994300df27b732dcc25e5a8ee978d7cce78eb5c37a09e529623213f"


def test_no_published_migration_was_edited() -> None:
    assert {file.stem: hashlib.sha256(file.read_bytes()).hexdigest() for _, file in migrations()} == PUBLISHED
    (start,) = Path(migrate.__file__).with_name("migrations").glob("postgresql/*.sql")
    assert hashlib.sha256(start.read_bytes()).hexdigest() == POSTGRESQL_START


def schema(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """Tables with their columns, whatever the order in which they came."""
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return [(name, str(sorted(row[1:] for row in db.execute(f"PRAGMA table_info({name})")))) for name in names]


def opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    migrate_database(db, path)
    return db


@pytest.mark.parametrize("known", range(1, len(PUBLISHED)))
def test_a_database_of_every_earlier_version_gets_the_same_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    every = migrations()
    with monkeypatch.context() as earlier:
        earlier.setattr(migrate, "migrations", lambda: every[:known])
        db = opened(tmp_path / "old.db")
        assert version(db) == known
        db.execute("INSERT INTO projects (key, dir_hash, info, created_at) VALUES ('repo-1', 'x', '{}', '')")
        db.close()
    old, new = opened(tmp_path / "old.db"), opened(tmp_path / "new.db")
    assert version(old) == every[-1][0]
    assert schema(old) == schema(new)
    assert old.execute("SELECT key FROM projects").fetchall() == [("repo-1",)]

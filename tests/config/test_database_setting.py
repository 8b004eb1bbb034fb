"""`database`: where the state is. Only the user's own settings name it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from burnish.config import load
from burnish.errors import BadInput
from burnish.user_settings import database_url, user_folder

URL = "postgresql://ann@db/team"


def write(text: str) -> None:
    user_folder().mkdir(parents=True)
    (user_folder() / "config.yaml").write_text(text)


def test_it_comes_from_the_environment_or_the_users_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert database_url() is None
    write(f"agent: claude\ndatabase: {URL}  # the team's\n")
    assert database_url() == URL == load(None).database
    monkeypatch.setenv("BURNISH__DATABASE", "postgres://bob@other/x")
    assert database_url() == "postgres://bob@other/x"
    monkeypatch.setenv("BURNISH__DATABASE", "")
    assert database_url() is None


@pytest.mark.parametrize("text", ["database:\n", "# database: postgresql://ann@db/team\n", "notify: {bell: true}\n"])
def test_without_a_value_the_state_is_in_the_home(text: str) -> None:
    write(text)
    assert database_url() is None


def test_another_kind_of_address_is_refused_with_its_place() -> None:
    write("agent: claude\ndatabase: mysql://ann@db/team\n")
    with pytest.raises(BadInput, match=r"config\.yaml:2") as caught:
        database_url()
    assert "postgresql://" in caught.value.hint


def test_all_projects_share_one_database(tmp_path: Path) -> None:
    write(f"projects: {{{tmp_path}: {{database: {URL}}}}}\n")
    assert database_url() is None
    with pytest.raises(BadInput, match="all projects share one database"):
        load(tmp_path)


def test_a_repository_cannot_name_it(tmp_path: Path) -> None:
    (tmp_path / "burnish.yaml").write_text(f"database: {URL}\n")
    assert load(tmp_path).database is None


def test_a_home_with_sqlite_loads_neither_yaml_nor_the_driver() -> None:
    write("# database: postgresql://ann@db/team\nagent: claude\n")
    code = "import sys, burnish.store, burnish.user_settings as user; user.database_url(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"psycopg", "yaml", "ruamel", "burnish.config", "pydantic"} & set(done.stdout.split())

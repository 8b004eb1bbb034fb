"""An index tells the folders of a checkout, and which files were written lately."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from burnish.git.files import indexed_paths
from testing.userrepo import UserRepo

LONG = "deep/" + "/".join(["x" * 200] * 21) + "/name"  # longer than the length in an entry can tell
FILES = {"a": "1", "b/c/d": "2", "b/e": "3", "b.txt": "4", "é/f": "5"}


def index_of(repo: UserRepo) -> Path:
    return repo.path / ".git" / "index"


@pytest.mark.parametrize("with_flags", [False, True], ids=["version 2", "version 3"])
def test_all_folders_and_the_files_of_that_second(user_repo: UserRepo, *, with_flags: bool) -> None:
    user_repo.commit(FILES)
    if with_flags:
        (user_repo.path / "intended").write_text("x")
        user_repo.git("add", "-N", "intended")
    written = (user_repo.path / "b" / "e").stat().st_ctime_ns
    os.utime(user_repo.path / "a")
    found = indexed_paths(index_of(user_repo), written, 20)
    assert found
    assert {"b", "b/c", "é"} <= set(found.folders) and "" not in found.folders
    assert set(FILES) <= set(found.recent_files)
    later = indexed_paths(index_of(user_repo), written + 3600 * 10**9, 20)
    assert later and later.recent_files == () and later.folders == found.folders


def test_a_name_that_is_longer_than_its_entry_can_tell(user_repo: UserRepo) -> None:
    blob = user_repo.git("rev-parse", "HEAD:app.py")
    user_repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{LONG}")
    user_repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},z/last")
    found = indexed_paths(index_of(user_repo), 0, 20)
    assert found and LONG in found.recent_files and {"deep", "z", os.path.dirname(LONG)} <= set(found.folders)  # noqa: PTH120


def test_an_unknown_form_tells_nothing(user_repo: UserRepo) -> None:
    user_repo.git("update-index", "--index-version", "4")
    assert indexed_paths(index_of(user_repo), 0, 20) is None

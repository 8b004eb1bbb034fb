"""Folders are walked as `os.walk` does it, at any depth."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from burnish.folder_walk import read_folder, walk_folders

SOURCES = Path(__file__).parents[1] / "src"


def test_it_yields_what_os_walk_yields(tmp_path: Path) -> None:
    for name in ("a/b/c/file", "a/x", "d/e/y", "z"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / "link").symlink_to(tmp_path / "d")
    (tmp_path / "broken").symlink_to("nowhere")
    assert list(walk_folders(tmp_path)) == list(os.walk(tmp_path))
    assert list(walk_folders(tmp_path / "missing")) == []


def test_a_folder_that_is_removed_from_the_list_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "top" / "skip" / "inner").mkdir(parents=True)
    (tmp_path / "top" / "enter").mkdir()
    seen = []
    for here, folders, _ in walk_folders(tmp_path / "top"):
        folders[:] = [name for name in folders if name != "skip"]
        seen.append(Path(here).name)
    assert seen == ["top", "enter"]


def test_several_walks_of_one_tree_read_each_folder_once(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "x").touch()
    read = cache(read_folder)
    for _, folders, _ in walk_folders(top, read):
        folders.clear()  # what one walk does not enter, the next one does
    assert read.cache_info().misses == 1
    assert list(walk_folders(top, read)) == list(walk_folders(top))
    assert read.cache_info().misses == 3


def test_no_module_walks_by_recursion() -> None:
    users = [path.name for path in SOURCES.rglob("*.py") if "os.walk(" in path.read_text()]
    assert users == [], "os.walk fails on a thousand nested folders before Python 3.12"

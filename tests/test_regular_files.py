"""Only regular files are read, whatever a program put in their place."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import pytest

from burnish.regular_files import read_below, read_regular


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    return tmp_path


def test_a_part_of_a_regular_file_is_read(folder: Path) -> None:
    assert read_regular(folder / "file", longest=3) == b"123"
    assert read_regular(folder / "file", longest=3, start=2) == b"345"
    assert read_below(folder, PurePath("file"), longest=3) == b"123"


@pytest.mark.parametrize("name", ["pipe", "directory", "missing"])
def test_anything_else_has_no_content(folder: Path, name: str) -> None:
    assert read_regular(folder / name) is None
    assert read_below(folder, PurePath(name)) is None


def test_a_link_is_followed_only_where_it_may_be(folder: Path) -> None:
    assert read_regular(folder / "link") == b"12345"
    assert read_regular(folder / "link", follow=False) is None
    assert read_below(folder, PurePath("link")) is None

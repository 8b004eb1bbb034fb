"""The changed files of a commit, laid without the rest of the tree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.change import Change
from burnish.git.checkout import write_changed_files
from testing.defects import changed_file


def test_plain_files_are_written_and_links_and_deleted_ones_are_not(tmp_path: Path) -> None:
    plain = changed_file("src/a.py", None, "x = 1\n")
    link = replace(changed_file("link", None, "/etc/passwd"), new_mode="120000")
    gone = replace(changed_file("gone.py", "x\n", ""), status="D")
    write_changed_files(Change("0", "1", (plain, link, gone)), {"src/a.py": b"x = 1\n"}.get, tmp_path / "new")
    files = [path for path in (tmp_path / "new").rglob("*") if path.is_file() or path.is_symlink()]
    assert [(path.name, path.read_bytes()) for path in files] == [("a.py", b"x = 1\n")]


@pytest.mark.parametrize("name", ["../out.py", "/tmp/out.py", "a/../../out.py", ".git/hooks/x", "a/.GIT/config"])
def test_a_name_that_leads_out_of_the_folder_or_into_a_git_directory_is_left_out(tmp_path: Path, name: str) -> None:
    write_changed_files(Change("0", "1", (changed_file(name, None, "x\n"),)), lambda path: b"x\n", tmp_path / "new")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_names_that_clash_or_are_too_long_do_not_stop_the_review(tmp_path: Path) -> None:
    names = ("a", "a/b", "x" * 300, "fine")
    change = Change("0", "1", tuple(changed_file(name, None, "x\n") for name in names))
    write_changed_files(change, lambda path: b"x\n", tmp_path / "new")
    assert (tmp_path / "new" / "fine").is_file()

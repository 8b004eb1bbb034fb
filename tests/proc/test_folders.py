"""Folders of the burnish home are their owner's alone, whatever the umask is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.features.server.background_runs import keep
from burnish.git.files import disk_usage
from burnish.proc.folders import private_folder, remove_folder
from testing.other_user import as_ordinary_user, open_directory


@pytest.fixture(autouse=True)
def open_handed() -> Iterator[None]:
    before = os.umask(0o000)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_every_folder_that_is_made_on_the_way_is_private_and_what_is_there_keeps_its_mode(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    place = there / "projects" / "app" / "tasks"
    private_folder(place)
    private_folder(place)
    assert [mode(one) for one in (there, place.parent.parent, place.parent, place)] == [0o755, 0o700, 0o700, 0o700]


def test_a_file_in_the_place_of_a_folder_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match=r"exists|[Nn]ot a directory"):
            private_folder(place)


def test_what_a_server_keeps_is_nobody_elses_to_read(tmp_path: Path) -> None:
    file = tmp_path / "made" / "serve" / "runs.json"
    keep(file, "{}")
    assert [mode(one) for one in (file, file.parent, file.parent.parent)] == [0o600, 0o700, 0o700]


def test_folders_nested_deeper_than_python_calls_itself_are_measured_and_removed(tmp_path: Path) -> None:
    """An agent can make them; `burnish clean` ended with an error."""
    top = tmp_path / "top"
    top.mkdir()
    (top / "removed-0").write_text("a name that is taken")
    (tmp_path / "outside").mkdir()
    handle = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.symlink(tmp_path / "outside", "link", dir_fd=handle)
    os.close(handle)
    assert disk_usage(top) > 0
    remove_folder(top)
    assert not top.exists() and (tmp_path / "outside").is_dir()


@pytest.mark.parametrize("depth", [1, 3000])
def test_nested_folders_without_rights_are_removed(depth: int) -> None:
    """An author can leave them in the copy of its login; the run ended with an error, or a part of the copy stayed."""
    with open_directory() as place:

        def left() -> list[str]:
            os.umask(0o022)
            top = place / "top"
            (top / "locked" / "below" / "deepest").mkdir(parents=True)
            (top / "locked" / "below" / "file").write_text("")
            handle = os.open(top, os.O_RDONLY)
            for _ in range(depth):
                os.mkdir("d", dir_fd=handle)
                below = os.open("d", os.O_RDONLY, dir_fd=handle)
                os.close(handle)
                handle = below
            os.mkdir("last", 0o000, dir_fd=handle)
            os.fchmod(handle, 0o500)
            os.close(handle)
            for folder in ("locked/below/deepest", "locked/below", "locked"):
                (top / folder).chmod(0o000)
            remove_folder(top)
            return [entry.name for entry in place.iterdir()]

        assert as_ordinary_user(left) == []

"""`burnish clean` ends soon and loses nothing, whatever an author left in its workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testing.lab import APPROVE, Lab

AUTHOR = 'app.write_text(app.read_text() + "x = 1\\n"); print("done")'
HUGE = 4 << 30


@pytest.fixture
def workspace(tmp_path: Path) -> tuple[Lab, Path]:
    lab = Lab.make(tmp_path, author=AUTHOR, judge=APPROVE)
    lab.add("Add a line")
    lab.burnish("run")
    return lab, Path(lab.burnish("path", "1").out.strip())


def make_sparse(file: Path) -> None:
    with file.open("wb") as opened:
        opened.write(b"first line\n")
        opened.truncate(HUGE)


def nest(folder: Path, depth: int) -> None:
    """Each level by its own name: the whole path is longer than the kernel takes."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)


@pytest.mark.long
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["data.bin", ".env", "app.py"])
def test_a_sparse_file_is_kept_as_a_sparse_file(workspace: tuple[Lab, Path], name: str) -> None:
    lab, place = workspace
    make_sparse(place / name)
    (removed,) = lab.burnish("clean", "1", "--json").json["removed"]
    (copy,) = place.parent.glob(f".withheld-*/{name}")
    assert not place.exists() and removed["name"] == place.name
    with copy.open("rb") as opened:
        assert opened.read(11) == b"first line\n"
    assert copy.stat().st_size == HUGE and copy.stat().st_blocks * 512 < 1 << 20
    assert copy.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
@pytest.mark.representatives(1)
@pytest.mark.parametrize("below", [".git/refs", ".git/objects", "inner", "."])
def test_folders_nested_deeper_than_python_calls_itself_are_removed(workspace: tuple[Lab, Path], below: str) -> None:
    lab, place = workspace
    if below == "inner":
        (place / below / ".git").mkdir(parents=True)
        (place / below / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    nest(place / below, 1500)
    lab.burnish("clean", "1")
    assert not place.exists() and not list(place.parent.glob(".aside-*"))

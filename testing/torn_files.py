"""Files of burnish's as a loss of power or a damaged disk may leave them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from testing.lab import Lab

# What is not state of burnish's own: the agents' files, locks, and the database, which has its own tests.
_LEFT_OUT = ("workspaces/", "snapshots/", "throwaway/", "locks/", "burnish.db", "trust")


def _empty(data: bytes) -> bytes:
    return b""


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _zeros(data: bytes) -> bytes:
    return b"\0" * len(data)


def _garbage(data: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in data)


WAYS: dict[str, Callable[[bytes], bytes]] = {"empty": _empty, "cut": _cut, "zeros": _zeros, "garbage": _garbage}


def tear(path: Path, way: str) -> None:
    """Overwrite it in place; whatever rights it had."""
    path.chmod(path.stat().st_mode | 0o200)
    path.write_bytes(WAYS[way](path.read_bytes()))


def user_objects(lab: Lab) -> set[str]:
    """Object files and packs of the repository before burnish has worked in it."""
    return {str(path) for path in _objects(lab)}


def own_files(lab: Lab, theirs: set[str]) -> list[Path]:
    """Every file that burnish wrote: in its home, and objects and refs in the user's repository."""
    home = Path(lab.env["BURNISH_HOME"])
    found = [p for p in _files(home) if not str(p.relative_to(home)).startswith(_LEFT_OUT) and p.parent.name != "turns"]
    git = lab.repo.path / ".git"
    for folder in (git / "refs" / "burnish", git / "refs" / "heads" / "burnish"):
        found += _files(folder)
    found += [path for path in _objects(lab) if str(path) not in theirs]
    return sorted(found)


def _objects(lab: Lab) -> list[Path]:
    return [p for p in _files(lab.repo.path / ".git" / "objects") if len(p.parent.name) == 2 or p.parent.name == "pack"]


def _files(folder: Path) -> Iterator[Path]:
    for here, _folders, names in os.walk(folder):
        yield from (Path(here) / name for name in names if not (Path(here) / name).is_symlink())

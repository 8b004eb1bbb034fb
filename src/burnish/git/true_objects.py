"""Refuses objects of the user's store whose content is not what their name, a hash, states.

git does not compare them when it reads. An agent can write below `.git`, so a review of a checkout compares them
itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from burnish.errors import BurnishError
from burnish.git.integrity import is_sound
from burnish.git.objects import portions, read_batch, sizes_of
from burnish.git.project import Project

_TREES = ("diff-tree", "-r", "-t", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
_SUBMODULE = "160000"


def check_objects(project: Project, tips: Sequence[str], start: str, trees: tuple[str, str] | None = None) -> None:
    """Compare every commit from `start` to `tips`, and every tree and file in which two trees differ.

    A chain of hashes proves that `start` is part of the history of the tips.
    """
    commits = project.git("rev-list", *tips, *([f"^{start}"] if start else [])).stdout.decode().split()
    _check(project, [*tips, start, *commits, *(_differing(project, *trees) if trees else ())])


def _differing(project: Project, old: str, new: str) -> list[str]:
    # the paths are read together with what stands before them
    fields = project.git(*_TREES, "--end-of-options", old, new).stdout.split(b"\0")
    names = [old, new]
    for old_mode, new_mode, old_name, new_name, _ in (field[1:].decode().split(" ") for field in fields[::2] if field):
        names += [name for mode, name in ((old_mode, old_name), (new_mode, new_name)) if mode != _SUBMODULE]
    return names


def _check(project: Project, names: Sequence[str]) -> None:
    unique = [name for name in dict.fromkeys(names) if name.strip("0")]
    for portion in portions(unique, sizes_of(project, unique)):
        for name, found in zip(portion, read_batch(project, portion), strict=True):
            if found is None:
                continue
            kind, data = found
            raw = f"{kind} {len(data)}".encode() + b"\0" + data
            # also the loose file where git reads a pack: what burnish reads itself, it takes from that file
            if _hash(project, raw) != name or not is_sound(project, name, project.user_objects / name[:2] / name[2:]):
                raise _forged(name, "does not have the content that its name, a hash, states")
            if kind == "tree" and not _is_sorted(project, data):
                raise _forged(name, "is a tree with two entries of one name, or in a wrong order")


def _hash(project: Project, raw: bytes) -> str:
    return hashlib.new(project.object_format, raw, usedforsecurity=False).hexdigest()


def _is_sorted(project: Project, data: bytes) -> bool:
    """Whether the entries are in git's order and each name is there once, as in every tree that git writes."""
    width = len(project.zero) // 2
    at, last = 0, b""
    names: set[bytes] = set()
    while at < len(data):
        end = data.index(b"\0", at)
        mode, _, name = data[at:end].partition(b" ")
        key = name + b"/" if mode.lstrip(b"0").startswith(b"4") else name
        if key <= last or name in names:
            return False
        names.add(name)
        at, last = end + 1 + width, key
    return True


def _forged(name: str, what: str) -> BurnishError:
    return BurnishError(
        f"The object {name} in the repository {what}, so this cannot be reviewed.",
        hint="`git fsck` lists such objects. Fetch or clone the repository again, and make the change there.",
    )

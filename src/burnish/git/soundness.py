"""Whether what refs and events name can still be read: a loss of power or a damaged disk may have taken it.

What counts is what the user's git sees; copies in burnish's own store are for putting that right.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from burnish.errors import PhaseFailed
from burnish.git.project import Project
from burnish.git.refs import OURS, find_torn, read_refs
from burnish.git.run import READ_FAILED

MANY = 200


class Damage(StrEnum):
    """What is wrong with a branch."""

    DELETED = "deleted"  # there is no such ref
    TORN = "torn"  # its file holds no name of a commit
    UNREADABLE = "unreadable"  # its commit, or the tree of that, cannot be read


@dataclass(frozen=True, slots=True)
class BranchDamage:
    """A branch that does not lead to a commit that can be read. `commit`: where it points, if it does."""

    ref: str
    damage: Damage
    commit: str = ""


def find_damage(
    project: Project, refs: Sequence[str], tips: Mapping[str, str | None] | None = None
) -> dict[str, BranchDamage]:
    """Those of the branches that do not lead to a readable commit and tree; two processes at most for all of them.

    `tips`: where they point, if that was read already.
    """
    tips = read_refs(project, refs) if tips is None else tips
    nowhere = [ref for ref, sha in tips.items() if sha is None]
    torn = find_torn(project, nowhere)
    found = {ref: BranchDamage(ref, Damage.TORN if ref in torn else Damage.DELETED) for ref in nowhere}
    wrong = find_unreadable(project, [sha for sha in tips.values() if sha], with_trees=True)
    found |= {ref: BranchDamage(ref, Damage.UNREADABLE, sha) for ref, sha in tips.items() if sha and sha in wrong}
    return found


def find_unreadable(project: Project, commits: Sequence[str], *, with_trees: bool = False) -> set[str]:
    """Those that cannot be read; `with_trees`: they must be commits, and their trees are read, too."""
    is_loose = _loose_among(project, commits)
    contents = {sha: _read_sound(project, sha) if sha in is_loose else None for sha in dict.fromkeys(commits)}
    packed = [sha for sha, content in contents.items() if content is None]
    # the caller learns of a missing tree under the name of its commit, which is read for it
    names = {sha: [f"{sha}^{{tree}}" if with_trees else sha] for sha in packed}
    trees = {sha: _tree_of(content) for sha, content in contents.items() if content is not None}
    if with_trees:
        names |= {sha: [tree] for sha, tree in trees.items() if tree and _read_sound(project, tree) is None}
    wrong = {sha for sha, tree in trees.items() if with_trees and not tree}
    asked = [name for group in names.values() for name in group]
    missing = _missing_by_git(project, asked) if asked else set()
    return wrong | {sha for sha, group in names.items() if missing & set(group)}


def is_whole(project: Project, commit: str, base: str | None) -> bool:
    """Can every object that came with the commit since `base` be read? Contents are compared with their names."""
    return not _objects_missing(project, commit, base)


def find_unsound(project: Project, tips: Mapping[str, str]) -> set[str]:
    """Those of the refs that lead to anything unreadable which the user's own refs do not lead to as well."""
    theirs = [*_theirs(), "--branches", "--tags"]
    limits = ["--not", *theirs]
    if not tips or not _lacks_objects(project, list(tips.values()), limits):
        return set()
    wrong = find_unreadable(project, list(tips.values()))
    if project.user_git("rev-list", "--count", *theirs, ok=(0, *READ_FAILED)).exit_code:
        # the user's own history is damaged: nothing is told by what lies beyond it
        return {ref for ref, sha in tips.items() if sha in wrong}
    return {ref for ref, sha in tips.items() if sha in wrong or _lacks_objects(project, [sha], limits)}


def _theirs() -> list[str]:
    """Branches and tags that follow are those of the user's alone."""
    return [f"--exclude={prefix.removeprefix('refs/heads/')}*" for prefix in OURS]


def _objects_missing(project: Project, commit: str, base: str | None) -> bool:
    known = [f"^{base}"] if base and base not in find_unreadable(project, [base]) else []
    return _lacks_objects(project, [commit], known)


def _lacks_objects(project: Project, commits: Sequence[str], limits: Sequence[str]) -> bool:
    args = ("rev-list", "--objects", "--no-object-names", *commits, *limits)
    try:
        listing = project.user_git(*args)
    except PhaseFailed:
        return True
    names = listing.stdout.decode().split()
    packed = [sha for sha in names if _read_sound(project, sha) is None]
    return bool(packed) and bool(_missing_by_git(project, packed, whole=True))


def _read_sound(project: Project, sha: str) -> bytes | None:
    """A loose object of the user's store with its head, if its content is what its name says."""
    try:
        # a file object for each of thousands that are packed would cost more than all the rest
        with open(f"{project.common_dir}/objects/{sha[:2]}/{sha[2:]}", "rb", buffering=0) as file:  # noqa: PTH123
            raw = zlib.decompress(file.readall())
    except (OSError, zlib.error):
        return None
    right = hashlib.new(project.object_format, raw, usedforsecurity=False).hexdigest() == sha
    return raw if right else None


def _loose_among(project: Project, names: Collection[str]) -> Collection[str]:
    """Those that may be loose objects. Of many most are packed, and to list 256 folders costs less than to try each."""
    if len(names) < MANY:
        return names
    found: set[str] = set()
    for folder in {name[:2] for name in names}:
        with suppress(OSError):
            found.update(folder + rest for rest in os.listdir(f"{project.common_dir}/objects/{folder}"))  # noqa: PTH208
    return found


def _tree_of(raw: bytes) -> str:
    """The tree that a commit names; nothing where the object is not a commit."""
    head, _, body = raw.partition(b"\0")
    first = body.partition(b"\n")[0]
    return first.removeprefix(b"tree ").decode() if head.startswith(b"commit ") and first.startswith(b"tree ") else ""


def _missing_by_git(project: Project, names: Sequence[str], *, whole: bool = False) -> set[str]:
    """What git cannot find either. `whole`: have it read the contents, not only their heads."""
    how = "--batch" if whole else "--batch-check"
    asked = "".join(f"{name}\n" for name in names).encode()
    # buffered: without it git writes each line by itself
    done = project.user_git("cat-file", how, "--buffer", stdin=asked, ok=(0, *READ_FAILED))
    if done.exit_code:
        # it ends at the first one that is damaged: each is asked for by itself
        checks = {name: project.user_git("cat-file", "-p", name, ok=(0, 1, *READ_FAILED)).exit_code for name in names}
        return {name for name, code in checks.items() if code}
    lines = set(done.stdout.split(b"\n"))
    return {name for name in names if f"{name} missing".encode() in lines}

"""Checks whether the objects that refs and events name can be read: a power failure or a damaged disk may destroy them.

Only the user's store counts; copies in burnish's own store serve to repair it.
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
    """Kinds of damage of a branch."""

    DELETED = "deleted"  # the ref does not exist
    TORN = "torn"  # its file contains no commit hash
    UNREADABLE = "unreadable"  # its commit or tree cannot be read


@dataclass(frozen=True, slots=True)
class BranchDamage:
    """A branch without a readable commit. `commit`: where it points, if known."""

    ref: str
    damage: Damage
    commit: str = ""


def find_damage(
    project: Project, refs: Sequence[str], tips: Mapping[str, str | None] | None = None
) -> dict[str, BranchDamage]:
    """Branches without a readable commit and tree; at most two processes.

    `tips`: their commits, if already known.
    """
    tips = read_refs(project, refs) if tips is None else tips
    nowhere = [ref for ref, sha in tips.items() if sha is None]
    empty_refs = find_torn(project, nowhere)
    found = {ref: BranchDamage(ref, Damage.TORN if ref in empty_refs else Damage.DELETED) for ref in nowhere}
    unreadable = find_unreadable(project, [sha for sha in tips.values() if sha], with_trees=True)
    found |= {ref: BranchDamage(ref, Damage.UNREADABLE, sha) for ref, sha in tips.items() if sha and sha in unreadable}
    return found


def find_unreadable(project: Project, commits: Sequence[str], *, with_trees: bool = False) -> set[str]:
    """Unreadable objects; `with_trees`: they must be commits, and their root trees must be readable, too."""
    is_loose = _loose_among(project, commits)
    contents = {sha: _read_sound(project, sha) if sha in is_loose else None for sha in dict.fromkeys(commits)}
    not_loose = [sha for sha, content in contents.items() if content is None]
    # a missing tree is reported under the hash of its commit
    names = {sha: [f"{sha}^{{tree}}" if with_trees else sha] for sha in not_loose}
    trees = {sha: _tree_of(content) for sha, content in contents.items() if content is not None}
    if with_trees:
        names |= {sha: [tree] for sha, tree in trees.items() if tree and _read_sound(project, tree) is None}
    not_commits = {sha for sha, tree in trees.items() if with_trees and not tree}
    queries = [name for group in names.values() for name in group]
    missing = _missing_by_git(project, queries) if queries else set()
    return not_commits | {sha for sha, group in names.items() if missing & set(group)}


def is_whole(project: Project, commit: str, base: str | None) -> bool:
    """Whether every object that the commit adds to `base` is readable and matches its hash."""
    return not _objects_missing(project, commit, base)


def find_unsound(project: Project, tips: Mapping[str, str]) -> set[str]:
    """Refs that reach unreadable objects which the user's own refs do not reach."""
    theirs = [*_theirs(), "--branches", "--tags"]
    limits = ["--not", *theirs]
    if not tips or not _lacks_objects(project, list(tips.values()), limits):
        return set()
    unreadable = find_unreadable(project, list(tips.values()))
    if project.user_git("rev-list", "--count", *theirs, ok=(0, *READ_FAILED)).exit_code:
        # the user's own history is damaged, so only the tips themselves can be checked
        return {ref for ref, sha in tips.items() if sha in unreadable}
    return {ref for ref, sha in tips.items() if sha in unreadable or _lacks_objects(project, [sha], limits)}


def _theirs() -> list[str]:
    """Options that exclude burnish's refs from `--branches` and `--tags`."""
    return [f"--exclude={prefix.removeprefix('refs/heads/')}*" for prefix in OURS]


def _objects_missing(project: Project, commit: str, base: str | None) -> bool:
    limits = [f"^{base}"] if base and base not in find_unreadable(project, [base]) else []
    return _lacks_objects(project, [commit], limits)


def _lacks_objects(project: Project, commits: Sequence[str], limits: Sequence[str]) -> bool:
    args = ("rev-list", "--objects", "--no-object-names", *commits, *limits)
    try:
        listing = project.user_git(*args)
    except PhaseFailed:
        return True
    names = listing.stdout.decode().split()
    not_loose = [sha for sha in names if _read_sound(project, sha) is None]
    return bool(not_loose) and bool(_missing_by_git(project, not_loose, whole=True))


def _read_sound(project: Project, sha: str) -> bytes | None:
    """A loose object of the user's store with its header, if its content matches its hash."""
    try:
        # unbuffered: most of thousands of objects are packed, and file objects would take most of the time
        with open(f"{project.common_dir}/objects/{sha[:2]}/{sha[2:]}", "rb", buffering=0) as file:  # noqa: PTH123
            raw = zlib.decompress(file.readall())
    except (OSError, zlib.error):
        return None
    right = hashlib.new(project.object_format, raw, usedforsecurity=False).hexdigest() == sha
    return raw if right else None


def _loose_among(project: Project, names: Collection[str]) -> Collection[str]:
    """Names that may be loose objects. For many names, listing 256 folders is faster than trying each."""
    if len(names) < MANY:
        return names
    found: set[str] = set()
    for folder in {name[:2] for name in names}:
        with suppress(OSError):
            found.update(folder + rest for rest in os.listdir(f"{project.common_dir}/objects/{folder}"))  # noqa: PTH208
    return found


def _tree_of(raw: bytes) -> str:
    """The tree of a commit; "" where the object is not a commit."""
    head, _, body = raw.partition(b"\0")
    first = body.partition(b"\n")[0]
    return first.removeprefix(b"tree ").decode() if head.startswith(b"commit ") and first.startswith(b"tree ") else ""


def _missing_by_git(project: Project, names: Sequence[str], *, whole: bool = False) -> set[str]:
    """Objects that git cannot find. `whole`: git reads the contents, not only their headers."""
    how = "--batch" if whole else "--batch-check"
    query = "".join(f"{name}\n" for name in names).encode()
    # --buffer: else git flushes after each line
    result = project.user_git("cat-file", how, "--buffer", stdin=query, ok=(0, *READ_FAILED))
    if result.exit_code:
        # git stops at the first damaged object, so each is checked by itself
        checks = {name: project.user_git("cat-file", "-p", name, ok=(0, 1, *READ_FAILED)).exit_code for name in names}
        return {name for name, code in checks.items() if code}
    if b" missing" not in result.stdout:
        return set()
    lines = set(result.stdout.split(b"\n"))
    return {name for name in names if f"{name} missing".encode() in lines}

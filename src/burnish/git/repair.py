"""Restores damaged commits: from the workspace that still has the files, or the readable part of a rescue commit."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass

from burnish.errors import PhaseFailed
from burnish.git.integrity import is_whole
from burnish.git.objects import BURNISH_AUTHOR, parse_tree, read_commit, read_loose, write_commit, write_tree
from burnish.git.project import Project
from burnish.git.publishing import publish
from burnish.git.run import READ_FAILED
from burnish.git.workspace import GitWorkspace

_FOLDER, _SUBMODULE = "40000", "160000"
_Entries = dict[bytes, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ReadableRescue:
    """A new commit in burnish's own store, and the paths that could not be recovered; a folder ends in a slash.

    `has_base`: its parent is the commit that the work started from, as for other rescues.
    """

    commit: str
    has_base: bool
    unreadable: tuple[str, ...]


def write_readable(project: Project, commit: str) -> ReadableRescue | None:
    """Write the readable part of a rescue commit as a new commit; None if nothing is readable.

    An unreadable file is replaced by its version in the base, if any: else the new commit would delete it.
    """
    try:
        old = read_commit(project, commit)
        parents = tuple(parent for parent in old.parents if is_whole(project, parent, None))
        base = read_commit(project, parents[0]).tree if parents else None
    except PhaseFailed:
        return None
    reader = _Reader(project)
    tree = reader.readable_tree(old.tree, base, b"")
    if tree is None or tree == base:
        return None
    names = tuple(name.decode("utf-8", "backslashreplace") for name in reader.unreadable)
    message = f"{old.message.rstrip()}\n\nNo longer readable: {', '.join(names)}\n"
    return ReadableRescue(write_commit(project, tree, parents, message, BURNISH_AUTHOR), bool(parents), names)


class _Reader:
    def __init__(self, project: Project) -> None:
        self._project = project
        self.unreadable: list[bytes] = []

    def readable_tree(self, tree: str, base: str | None, folder: bytes) -> str | None:
        """The tree without unreadable entries; None if the tree itself is unreadable."""
        entries, base_entries = self._entries(tree), self._entries(base) or {}
        if entries is None:
            self.unreadable.append(folder or b"/")
            return None
        found: _Entries = {}
        for name, (mode, sha) in entries.items():
            before = base_entries.get(name)
            readable: str | None = sha
            if before == (mode, sha) or mode == _SUBMODULE:
                pass  # unchanged since the base
            elif mode == _FOLDER:
                below = before[1] if before and before[0] == _FOLDER else None
                readable = self.readable_tree(sha, below, folder + name + b"/")
            elif self._read("blob", sha) is None:
                self.unreadable.append(folder + name)
                readable = None
            if readable:
                found[name] = (mode, readable)
            elif before:
                found[name] = before
        return write_tree(self._project, found)

    def _entries(self, tree: str | None) -> _Entries | None:
        data = self._read("tree", tree) if tree else None
        return None if data is None else parse_tree(self._project, data)

    def _read(self, kind: str, sha: str) -> bytes | None:
        """The content, if it matches its hash."""
        loose = read_loose(self._project, sha)
        if loose and loose[0] == kind and self._is(sha, kind, loose[1]):
            return loose[1]
        result = self._project.git("cat-file", kind, sha, ok=(0, 1, *READ_FAILED))
        return result.stdout if not result.exit_code and self._is(sha, kind, result.stdout) else None

    def _is(self, sha: str, kind: str, data: bytes) -> bool:
        raw = f"{kind} {len(data)}".encode() + b"\0" + data
        return hashlib.new(self._project.object_format, raw, usedforsecurity=False).hexdigest() == sha


# -- commit repair --------------------------------------------------------------------------------
# Restores an unreadable commit from the workspace that still has its files.


def restore_objects(workspace: GitWorkspace, commit: str, base: str) -> bool:
    """Write blobs and trees of the commit again from the workspace; True if the commit is complete afterwards."""
    if publish_again(workspace.project, commit, base):
        return True
    if not workspace.is_own() or workspace.checked_out_commit() != commit:
        return False
    workspace.write_tree_on(base)
    return publish_again(workspace.project, commit, base)


def publish_again(project: Project, commit: str, base: str | None = None) -> bool:
    """Copy the commit's objects from burnish's store to the user's again; True if it is complete afterwards."""
    with suppress(PhaseFailed):  # some object has no copy
        publish(project, commit, always=True)
    return is_whole(project, commit, base)


def write_again(workspace: GitWorkspace, commit: str, tree: str, *, onto: str, message: str) -> str | None:
    """Write the tree as a new commit on top of `onto`; None where the files in the workspace have changed."""
    if not workspace.is_own() or workspace.checked_out_commit() != commit:
        return None
    found = workspace.write_tree_on(onto)
    if found != tree:
        return None
    sha = write_commit(workspace.project, tree, (onto,), message, workspace.author)
    if not publish_again(workspace.project, sha, onto):
        return None
    workspace.record_commit(sha)
    return sha

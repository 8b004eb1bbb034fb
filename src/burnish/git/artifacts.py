"""Files of the audit trail, committed on a ref of burnish's without a work tree or an index."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from itertools import count

from burnish.core.commit import Commit
from burnish.errors import BadInput
from burnish.git.objects import (
    NOBODY,
    Author,
    parse_tree,
    read_commit,
    read_objects,
    write_commit,
    write_object,
)
from burnish.git.objects import write_tree as write_tree_object
from burnish.git.project import Project
from burnish.git.reading import read_files
from burnish.git.refs import StaleRef, read_ref, update_ref

Entries = dict[bytes, tuple[str, str]]
_TRIES = 500


def commit_artifacts(
    project: Project, ref: str, files: Mapping[str, bytes], *, message: str, author: Author = NOBODY
) -> str:
    """Put `files` on top of what the ref holds, in one commit; nothing new makes no commit."""
    parts = {parts_of(path): data for path, data in files.items()}

    def make(old: Commit | None) -> str | None:
        tree = put_files(project, old.tree if old else None, parts)
        if old is not None and tree == old.tree:
            return None
        return write_commit(project, tree, (old.sha,) if old else (), message, author)

    made = on_top(project, ref, make)
    assert made
    return made


def on_top(project: Project, ref: str, make: Callable[[Commit | None], str | None]) -> str | None:
    """Move the ref to what is made of its commit, again if somebody else was faster; None leaves it where it is."""
    for attempt in count(1):
        tip = read_ref(project, ref)
        new = make(read_commit(project, tip) if tip else None)
        if new is None:
            return tip
        try:
            update_ref(project, ref, new, tip or project.zero)
        except StaleRef:
            if attempt == _TRIES:
                raise
            # Not all at once again: many tasks may write to one ref.
            time.sleep(random.uniform(0, 0.01 * min(attempt, 20)))
            continue
        return new
    raise AssertionError("unreachable")


def read_artifact(project: Project, ref: str, path: str) -> bytes | None:
    tip = read_ref(project, ref)
    return read_files(project, tip, [path])[path] if tip else None


def parts_of(path: str) -> tuple[bytes, ...]:
    parts = tuple(path.encode("utf-8", "surrogateescape").split(b"/"))
    if any(part in (b"", b".", b"..") or part.lower() == b".git" or b"\0" in part for part in parts):
        raise BadInput(f"{path!r} cannot be the name of an artifact.", hint="Use a plain relative path.")
    return parts


def put_files(project: Project, tree: str | None, files: Mapping[tuple[bytes, ...], bytes]) -> str:
    """The tree with the files in it: only the folders on their way are read and written."""
    found = read_objects(project, [tree])[0] if tree else None
    entries: Entries = parse_tree(project, found[1]) if found else {}
    folders: dict[bytes, dict[tuple[bytes, ...], bytes]] = {}
    for path, data in files.items():
        if len(path) == 1:
            entries[path[0]] = ("100644", write_object(project, "blob", data))
        else:
            folders.setdefault(path[0], {})[path[1:]] = data
    for name, inner in folders.items():
        mode, sha = entries.get(name, ("", ""))
        entries[name] = ("40000", put_files(project, sha if mode == "40000" else None, inner))
    return write_tree_object(project, entries)

"""Files of the audit trail, committed on a ref of burnish's without a work tree or an index."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from itertools import count

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
    parts = {_parts(path): data for path, data in files.items()}
    for attempt in count(1):
        tip = read_ref(project, ref)
        old = read_commit(project, tip) if tip else None
        tree = _put(project, old.tree if old else None, parts)
        if old is not None and tree == old.tree:
            return old.sha
        new = write_commit(project, tree, (old.sha,) if old else (), message, author)
        try:
            update_ref(project, ref, new, old.sha if old else project.zero)
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


def _parts(path: str) -> tuple[bytes, ...]:
    parts = tuple(path.encode("utf-8", "surrogateescape").split(b"/"))
    if any(part in (b"", b".", b"..") or part.lower() == b".git" or b"\0" in part for part in parts):
        raise BadInput(f"{path!r} cannot be the name of an artifact.", hint="Use a plain relative path.")
    return parts


def _put(project: Project, tree: str | None, files: Mapping[tuple[bytes, ...], bytes]) -> str:
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
        entries[name] = ("40000", _put(project, sha if mode == "40000" else None, inner))
    return write_tree_object(project, entries)

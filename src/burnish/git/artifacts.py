"""Files of the audit trail, committed to burnish's own refs without a work tree or an index."""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from burnish.core.commit import Commit
from burnish.errors import BadInput, PhaseFailed
from burnish.git.files import write_whole
from burnish.git.integrity import BrokenRef, find_unreadable, forget_check, is_whole, remove_broken_ref
from burnish.git.kept_packs import list_packs
from burnish.git.objects import (
    BURNISH_AUTHOR,
    Author,
    parse_tree,
    read_commit,
    read_files,
    read_objects,
    write_commit,
    write_object,
)
from burnish.git.objects import write_tree as write_tree_object
from burnish.git.project import Project
from burnish.git.publishing import publish
from burnish.git.refs import StaleRef, read_ref, update_ref
from burnish.proc.birth import identity_of
from burnish.proc.slots import try_lock

Entries = dict[bytes, tuple[str, str]]
_TRIES = 500
# Writers of one ref take turns. Refs share a few lock files, so that no file is left behind for each task.
_TURNS = 16
# A holder that is stopped must not stop the others: compare-and-swap protects the ref without the lock, too.
_LONGEST_WAIT = 10.0
_threads: dict[Path, threading.Lock] = {}


def remove_if_damaged(project: Project, ref: str) -> str:
    """Remove the ref if objects of its newest commit are lost and have no copy; returns a note on it, else "".

    It is called before each commit on the ref. In the usual case it starts no process. The next run reads all objects,
    because other refs may have lost theirs, too.
    """
    tip = read_ref(project, ref)
    if tip is None or not _lacks_objects(project, tip):
        return ""
    forget_check(project.own)
    broken_ref = BrokenRef(ref, tip)
    with suppress(PhaseFailed):  # some object has no copy
        publish(project, tip, always=True)
    if is_whole(project, tip, None):
        return f"{ref} {broken_ref.words}: restored from copies in the burnish home."
    remove_broken_ref(project, broken_ref)
    return f"{ref} {broken_ref.words}: it is written again from the files in the burnish home."


def _lacks_objects(project: Project, commit: str) -> bool:
    """Whether the user's store lacks the commit, or a tree or file of it."""
    try:
        names = _objects_of(project, commit)
    except PhaseFailed:
        return True
    for pack in list_packs(project):
        names -= pack.stored_among(names)
    return bool(find_unreadable(project, sorted(names)))


def _objects_of(project: Project, commit: str) -> set[str]:
    names, trees = {commit}, [read_commit(project, commit).tree]
    while trees:
        names.update(trees)
        contents = read_objects(project, trees)
        entries = [entry for found in contents if found for entry in parse_tree(project, found[1]).values()]
        names.update(sha for mode, sha in entries if mode != "160000")
        trees = [sha for mode, sha in entries if mode == "40000"]
    return names


def commit_artifacts(
    project: Project, ref: str, files: Mapping[str, bytes], *, message: str, author: Author = BURNISH_AUTHOR
) -> str:
    """Add `files` to the tree of the ref in one commit; returns the tip, also where nothing changed."""
    parts = {path_parts(path): data for path, data in files.items()}

    def make(old: Commit | None) -> str | None:
        tree = put_files(project, old.tree if old else None, parts)
        if old is not None and tree == old.tree:
            return None
        return write_commit(project, tree, (old.sha,) if old else (), message, author)

    commit = commit_on_top(project, ref, make)
    assert commit
    return commit


def commit_on_top(project: Project, ref: str, make: Callable[[Commit | None], str | None]) -> str | None:
    """Move the ref to the commit that `make` returns for its tip; retries after a concurrent update.

    Where `make` returns None the ref is not moved.
    """
    with _turn(project, ref):
        for attempt in count(1):
            tip = read_ref(project, ref)
            new = make(read_commit(project, tip) if tip else None)
            if new is None:
                return tip
            try:
                update_ref(project, ref, new, tip or project.zero)
            except StaleRef:
                # by somebody who does not take turns, e.g. a git command of the user
                if attempt == _TRIES:
                    raise
                time.sleep(random.uniform(0, 0.01 * min(attempt, 20)))
                continue
            return new
    raise AssertionError("unreachable")


@contextmanager
def _turn(project: Project, ref: str) -> Iterator[None]:
    """Wait until no other thread or process makes a commit on the ref: without it, most of many commits at once are
    made for a tip that has moved when they are done, and are made again.
    """
    lock, is_first, patience = None, False, _Patience(project, ref)
    folder = project.own / "turns"
    file = folder / str(zlib.crc32(os.fsencode(ref)) % _TURNS)
    # of the threads of this process, one at a time asks for the file
    threads = _threads.setdefault(file, threading.Lock())
    while not is_first and not patience.is_over():
        is_first = threads.acquire(timeout=min(1.0, _LONGEST_WAIT))
    try:
        with suppress(OSError):  # locks do not work on this file system
            folder.mkdir(exist_ok=True)
            while (lock := try_lock(file)) is None and not patience.is_over():
                time.sleep(random.uniform(0.001, 0.01))
        yield
    finally:
        if lock is not None:
            os.close(lock)
        if is_first:
            threads.release()


class _Patience:
    """Is over when the ref has not moved for `_LONGEST_WAIT`: of many writers, the last ones wait much longer."""

    def __init__(self, project: Project, ref: str) -> None:
        self.project, self.ref = project, ref
        self.tip = read_ref(project, ref)
        self.end = time.monotonic() + _LONGEST_WAIT

    def is_over(self) -> bool:
        if time.monotonic() < self.end:
            return False
        before, self.tip = self.tip, read_ref(self.project, self.ref)
        self.end = time.monotonic() + _LONGEST_WAIT
        return self.tip == before


def read_artifact(project: Project, ref: str, path: str) -> bytes | None:
    tip = read_ref(project, ref)
    return read_files(project, tip, [path])[path] if tip else None


# -- confirmation ---------------------------------------------------------------------------------
# Everyone who can write to a repository can write a file of events that approves. What burnish itself wrote here is
# therefore noted in the git folder, in a file that git never sends or fetches. The identity of the folder is part of
# the note, so that it counts neither in a copy nor in an archive.


def confirm_events(project: Project, name: str, data: bytes) -> None:
    """Note the events of a task that are about to be committed. If it fails, the task is reviewed again."""
    file = project.common_dir / "burnish" / "events" / name
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        note = _note(project, data)
        # the one before counts until the ref is updated
        notes = [one for one in _notes(project, name)[-1:] if one != note]
        write_whole(file, "".join(f"{one}\n" for one in (*notes, note)).encode(), durable=False)


def is_confirmed(project: Project, name: str, data: bytes) -> bool:
    """Whether burnish wrote these events of the task in this repository, on this machine."""
    with suppress(OSError):
        return _note(project, data) in _notes(project, name)
    return False


def _notes(project: Project, name: str) -> list[str]:
    file = project.common_dir / "burnish" / "events" / name
    if not file.is_file() or file.is_symlink():
        return []
    with file.open("rb") as handle:
        return handle.read(1024).decode("ascii", "replace").split()


def _note(project: Project, data: bytes) -> str:
    return hashlib.sha256(identity_of(project.common_dir).encode() + b"\n" + data).hexdigest()


def path_parts(path: str) -> tuple[bytes, ...]:
    parts = tuple(path.encode("utf-8", "surrogateescape").split(b"/"))
    if any(part in (b"", b".", b"..") or part.lower() == b".git" or b"\0" in part for part in parts):
        raise BadInput(f"{path!r} cannot be the name of an artifact.", hint="Use a plain relative path.")
    return parts


def put_files(project: Project, tree: str | None, files: Mapping[tuple[bytes, ...], bytes]) -> str:
    """Write the tree with the files added; reads and writes only the folders that lead to them."""
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

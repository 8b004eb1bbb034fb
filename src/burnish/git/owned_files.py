"""Files that burnish committed to task branches: excluded from changes and workspaces, recognised by path and content.

The record is in burnish's own git dir, out of reach of agents: one line per file (hash and path) or commit (hash).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from burnish.core.commit import Commit
from burnish.durability import is_sync_enabled
from burnish.git.artifacts import commit_on_top, path_parts, put_files
from burnish.git.files import disk_errors
from burnish.git.objects import (
    BURNISH_AUTHOR,
    Author,
    parse_tree,
    read_commit,
    read_objects,
    write_commit,
    write_object,
)
from burnish.git.objects import write_tree as write_tree_object
from burnish.git.project import Project
from burnish.git.refs import read_ref

FOLDER = (b".burnish", b"tasks")
PHASE = "artifacts"
Parts = tuple[bytes, ...]
Entries = dict[bytes, tuple[str, str]]
Record = frozenset[bytes]
_TREE, _FILE = "40000", "100644"


# -- reading -------------------------------------------------------------------------------------


def last_work(project: Project, tip: str) -> str:
    """The newest commit that is not one of burnish's artifact commits."""
    ours = _record(project)
    while ours and _line(tip) in ours:
        tip = read_commit(project, tip).parents[0]
    return tip


def plain_tree(project: Project, tree: str) -> str:
    """The tree without the files that burnish wrote, if they are unchanged."""
    ours = _record(project)
    if not ours:
        return tree
    return _without(project, tree, (), ours) or write_tree_object(project, {})


def plain_commit(project: Project, sha: str) -> str:
    """The commit without the files that burnish wrote; the same commit if there are none."""
    if not _record(project):
        return sha
    tree = read_commit(project, sha).tree
    plain = plain_tree(project, tree)
    if plain == tree:
        return sha
    found = read_objects(project, [sha])[0]
    assert found
    return write_object(project, "commit", found[1].replace(tree.encode(), plain.encode(), 1))


def rewrite_plain_trees(project: Project, tip: str, *, most: int = 200) -> bool:
    """Write the trees without artifacts again: no ref protects them from pruning. False if there are no artifacts."""
    for _ in range(most if _record(project) else 0):
        commit = read_commit(project, tip)
        plain_tree(project, commit.tree)
        if not commit.parents:
            break
        tip = commit.parents[0]
    return bool(_record(project))


def with_owned_files(project: Project, tree: str, full: str) -> str:
    """`tree` plus the files that burnish wrote in `full`, except at paths that `tree` already has."""
    ours = _record(project)
    return (_with(project, tree, full, (), ours, mine=False) or tree) if ours else tree


def has_folder(project: Project, ref: str) -> bool:
    tip = read_ref(project, ref)
    return tip is not None and _at(project, read_commit(project, tip).tree, FOLDER) is not None


def read_owned_file(project: Project, ref: str, path: str) -> bytes | None:
    """Content of a file that burnish wrote on a branch; None if another author wrote it."""
    tip = read_ref(project, ref)
    parts = path_parts(path)
    entry = _at(project, read_commit(project, tip).tree, parts) if tip else None
    if entry is None or _line(entry[1], parts) not in _record(project):
        return None
    found = read_objects(project, [entry[1]])[0]
    return found[1] if found else None


# -- writing -------------------------------------------------------------------------------------


def commit_owned_files(
    project: Project, ref: str, files: Mapping[str, bytes], *, message: str, author: Author = BURNISH_AUTHOR
) -> str | None:
    """Commit `files` on top of a branch; paths that others have used are skipped."""
    parts = {path_parts(path): data for path, data in files.items()}

    def make(old: Commit | None) -> str | None:
        if old is None:
            return None
        plain = plain_tree(project, old.tree)
        free = {path: data for path, data in parts.items() if _is_free(project, plain, path)}
        tree = put_files(project, old.tree, free) if free else old.tree
        if tree == old.tree:
            return None
        new = write_commit(project, tree, (old.sha,), message, author)
        # before the branch moves, so that the commit is recognised even if burnish is killed in between
        _append_record(project, [_line(new), *_lines(project, plain, tree, free)])
        return new

    return commit_on_top(project, ref, make)


def learn(project: Project, commits: Iterable[Commit]) -> None:
    """Rebuild the record from commits with burnish's trailer that change nothing outside of its folder."""
    ours = _record(project)
    for commit in commits:
        if len(commit.parents) != 1 or commit.trailers.get("Burnish-Phase") != PHASE or _line(commit.sha) in ours:
            continue
        before = read_commit(project, commit.parents[0]).tree
        if _outside(project, commit.tree) == _outside(project, before):
            new_files, old_files = (set(_files(project, tree)) for tree in (commit.tree, before))
            _append_record(project, [_line(commit.sha), *sorted(new_files - old_files)])


def _outside(project: Project, tree: str) -> Entries:
    """Entries of a tree outside of burnish's folder; an otherwise empty parent folder is left out, too."""
    entries = _entries(project, tree)
    mode, sha = entries.pop(FOLDER[0], ("", ""))
    rest = _entries(project, sha) if mode == _TREE else {}
    tasks_entry = rest.pop(FOLDER[1], ("", ""))
    foreign_entry = (mode, sha) if mode not in ("", _TREE) or tasks_entry[0] not in ("", _TREE) else None
    beside = {FOLDER[0] + b"/" + name: entry for name, entry in rest.items()}
    return {**entries, **beside, **({FOLDER[0]: foreign_entry} if foreign_entry else {})}


def _files(project: Project, tree: str, path: Parts = ()) -> Iterator[bytes]:
    entries = _entries(project, tree)
    for name in _candidate_names(entries, path):
        mode, sha = entries[name]
        if mode == _TREE:
            yield from _files(project, sha, (*path, name))
        elif mode == _FILE and len(path) > len(FOLDER):
            yield _line(sha, (*path, name))


def _lines(project: Project, plain: str, tree: str, files: Mapping[Parts, bytes]) -> Iterator[bytes]:
    for path, data in files.items():
        yield _line(write_object(project, "blob", data), path)
    for folder in {path[: len(FOLDER) + 1] for path in files if len(path) > len(FOLDER) + 1}:
        whole = _at(project, tree, folder)
        # all of the folder is burnish's, so the folder itself is recorded
        if whole and _at(project, plain, folder) is None:
            yield _line(whole[1], folder)


def _append_record(project: Project, lines: Iterable[bytes]) -> None:
    file = project.own / "written"
    with disk_errors(f"writing {file}"):
        handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # the first newline ends a line that was cut off
            os.write(handle, b"\n" + b"".join(line + b"\n" for line in lines))
            if is_sync_enabled():
                os.fsync(handle)
        finally:
            os.close(handle)


# -- inside --------------------------------------------------------------------------------------


def _record(project: Project) -> Record:
    file = project.own / "written"
    try:
        there = file.stat()
    except FileNotFoundError:
        return frozenset()
    return _read(file, there.st_size, there.st_ino)


@lru_cache(maxsize=4)
def _read(file: Path, size: int, inode: int) -> Record:
    """The record; cached by size, because the file only grows."""
    return frozenset(file.read_bytes()[:size].split(b"\n"))


def _line(sha: str, path: Parts = ()) -> bytes:
    return sha.encode() + (b" " + b"/".join(path) if path else b"")


def _entries(project: Project, tree: str | None) -> Entries:
    found = read_objects(project, [tree])[0] if tree else None
    return parse_tree(project, found[1]) if found else {}


def _candidate_names(entries: Entries, path: Parts) -> list[bytes]:
    """Entries of a folder that may be burnish's or contain such entries."""
    candidates = FOLDER[len(path) : len(path) + 1] or entries
    return [name for name in candidates if name in entries]


def _without(project: Project, tree: str, path: Parts, ours: Record) -> str | None:
    """The tree without burnish's files; None if it would be empty."""
    entries = _entries(project, tree)
    before = dict(entries)
    for name in _candidate_names(entries, path):
        mode, sha = entries[name]
        here = (*path, name)
        remaining: str | None = sha
        if mode in (_TREE, _FILE) and _line(sha, here) in ours:
            remaining = None
        elif mode == _TREE:
            remaining = _without(project, sha, here, ours)
        if remaining is None:
            del entries[name]
        else:
            entries[name] = (mode, remaining)
    if entries == before:
        return tree
    return write_tree_object(project, entries) if entries else None


def _with(project: Project, onto: str | None, full: str, path: Parts, ours: Record, *, mine: bool) -> str | None:
    entries, there = _entries(project, onto), _entries(project, full)
    for name in _candidate_names(there, path):
        mode, sha = there[name]
        here = (*path, name)
        own = mine or _line(sha, here) in ours
        own_entry = entries.get(name)
        if own_entry is None and own:
            entries[name] = (mode, sha)
        elif mode == _TREE and (own_entry is None or own_entry[0] == _TREE):
            inner = _with(project, own_entry[1] if own_entry else None, sha, here, ours, mine=own)
            if inner:
                entries[name] = (_TREE, inner)
    return write_tree_object(project, entries) if entries else None


def _at(project: Project, tree: str, path: Parts) -> tuple[str, str] | None:
    """Mode and hash of the entry at `path`."""
    entry: tuple[str, str] | None = (_TREE, tree)
    for name in path:
        entry = _entries(project, entry[1]).get(name) if entry and entry[0] == _TREE else None
    return entry


def _is_free(project: Project, plain: str, path: Parts) -> bool:
    """Whether no other author's file is at `path` or in the place of one of its parent folders."""
    above = (_at(project, plain, path[:n]) for n in range(1, len(path)))
    return _at(project, plain, path) is None and all(entry is None or entry[0] == _TREE for entry in above)

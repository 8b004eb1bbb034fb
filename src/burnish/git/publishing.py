"""Copies objects from burnish's own store to the user's repository, protected from the user's `git gc`.

burnish writes objects into its own store, which borrows from the user's. Before a ref of the user's repository moves to
a commit, the objects that it adds are copied as one pack with a `.keep`. Loose objects would be unsafe, even with a
ref: `git gc --prune=now` reads the refs first and deletes later, including objects that were written in between.
"""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path

from burnish.errors import PhaseFailed
from burnish.git.files import disk_errors, remove_tree
from burnish.git.kept_packs import (
    KeptPack,
    adopt,
    install,
    list_packs,
    list_user_packs,
    pack_folder,
    remove_leftovers,
    remove_pack,
)
from burnish.git.objects import is_own_loose, parse_tree, read_commit, read_loose, read_own
from burnish.git.project import Project
from burnish.proc.slots import try_lock

# more packs than this are merged, because each one slows down the lookup of objects
MAX_PACKS = 16
# published loose objects are only a cache: they save git processes while a task runs
MAX_LOOSE_FILES = 4_000
LOOSE_SECONDS = 3600.0
# trees without burnish's own files have no ref, but workspaces may be based on them
UNPUBLISHED_SECONDS = 30 * 86400.0


def publish(project: Project, commit: str, *, always: bool = False) -> None:
    """Copy the commit and the objects that it adds to its parents into the user's repository.

    `always`: also if the user's store has the commit, because it may be there without a ref.
    """
    if project.store is not None:
        return
    if not always and not is_own_loose(project, commit):
        return
    packs = list_packs(project)
    if any(pack.has(commit) for pack in packs):
        return
    ancestors = _known_ancestors(project, commit, packs)
    if not _pack_by_hand(project, commit, ancestors):
        revisions = "\n".join([commit, *(f"^{sha}" for sha in ancestors), ""])
        _pack(project, ("--revs",), revisions.encode())
    if len(packs) >= MAX_PACKS:
        maintain(project)


def publish_object(project: Project, sha: str) -> None:
    """Copy one object that is not a commit into the user's repository."""
    if not any(pack.has(sha) for pack in list_packs(project)):
        _pack(project, (), f"{sha}\n".encode())


@contextmanager
def adopting_packs(project: Project) -> Iterator[None]:
    """Make small packs that git writes meanwhile burnish's own, so that many of them are merged."""
    before = list_user_packs(project)
    yield
    if adopt(project, list_user_packs(project) - before) and len(list_packs(project)) > MAX_PACKS:
        maintain(project)


def _known_ancestors(project: Project, commit: str, packs: list[KeptPack]) -> list[str]:
    """The nearest ancestors that the user's repository already has."""
    ancestors: dict[str, None] = {}
    visited_commits, waiting = {commit}, [commit]
    while waiting:
        for parent in read_commit(project, waiting.pop()).parents:
            if parent in visited_commits:
                continue
            visited_commits.add(parent)
            if is_own_loose(project, parent) and not any(pack.has(parent) for pack in packs):
                waiting.append(parent)
            else:
                ancestors[parent] = None
    return list(ancestors)


def _pack_by_hand(project: Project, commit: str, ancestors: list[str]) -> bool:
    """Write the pack without git; False for a large commit, or one with unpublished parents."""
    parents = read_commit(project, commit).parents
    objects = new_objects(project, commit) if set(parents) <= set(ancestors) else None
    if objects is None:
        return False
    with _folder(project) as folder, disk_errors(f"writing to {folder}"):
        write_pack(project, objects, folder)
        install(project, folder)
    return True


def _pack(project: Project, options: tuple[str, ...], stdin: bytes) -> KeptPack:
    with _folder(project) as folder:
        args = ("pack-objects", "-q", "--delta-base-offset", *options, str(folder / "pack"))
        project.git(*args, stdin=stdin, durable=False)
        return install(project, folder)


@contextmanager
def _folder(project: Project) -> Iterator[Path]:
    with disk_errors(f"making a folder in {project.own}"):
        folder = Path(tempfile.mkdtemp(dir=project.own, prefix="packing-"))
    try:
        yield folder
    finally:
        remove_tree(folder)


def maintain(project: Project) -> None:
    """Merge burnish's packs and remove own copies of their objects. Returns at once if another process does it."""
    with disk_errors(f"locking {project.own}"):
        lock = try_lock(project.own / "packs.lock")
    if lock is None:
        return
    try:
        remove_leftovers(project)
        _merge(project)
        _drop_own_copies(project)
        _drop_old_folders(project)
    finally:
        os.close(lock)


def _merge(project: Project) -> None:
    packs = _to_merge(project)
    if len(packs) < 2:
        return
    names = "".join(f"{pack.index.stem}.pack\n" for pack in packs).encode()
    try:
        new_pack = _pack(project, ("--stdin-packs",), names)
    except PhaseFailed:
        # the packs stay unchanged; a damaged object is reported when it is read
        return
    for pack in packs:
        if pack.index.name != new_pack.index.name:
            remove_pack(pack)


def _to_merge(project: Project) -> list[KeptPack]:
    """The smallest packs; a pack is included only if the smaller ones together reach its size, to limit copying."""
    folder = pack_folder(project)
    if (folder / "multi-pack-index.d").exists():
        return []
    try:
        multi_pack_index = (folder / "multi-pack-index").read_bytes()
    except OSError:
        multi_pack_index = b""
    # git fails if a pack in the user's multi-pack-index is missing
    free = [pack for pack in list_packs(project) if pack.index.name.encode() not in multi_pack_index]
    packs: list[KeptPack] = []
    total = 0
    for pack in sorted(free, key=lambda one: one.size):
        if len(packs) >= MAX_PACKS // 2 and pack.size > total:
            break
        packs.append(pack)
        total += pack.size
    return packs


def _drop_own_copies(project: Project) -> None:
    """Remove loose objects: published ones after LOOSE_SECONDS, others after UNPUBLISHED_SECONDS."""
    files = [file for file in project.objects.glob("??/*") if len(file.parent.name) == 2]
    if len(files) < MAX_LOOSE_FILES:
        return
    packs = list_packs(project)
    for file in files:
        with suppress(OSError):
            age = time.time() - file.stat().st_mtime
            if age < LOOSE_SECONDS:
                continue
            sha = file.parent.name + file.name
            if age > UNPUBLISHED_SECONDS or (len(sha) == len(project.zero) and any(pack.has(sha) for pack in packs)):
                file.unlink()


def _drop_old_folders(project: Project) -> None:
    for folder in project.own.glob("packing-*"):
        with suppress(OSError):
            if folder.stat().st_mtime < time.time() - LOOSE_SECONDS:
                remove_tree(folder)


# Small packs are written without a git process: objects without deltas, an index of version 2.
# Format: https://git-scm.com/docs/gitformat-pack
_KINDS = {"commit": 1, "tree": 2, "blob": 3}
_TREE, _LINK = "40000", "160000"
MAX_OBJECTS = 500
MAX_BYTES = 4 << 20
Objects = dict[str, tuple[str, bytes]]
Entries = Mapping[bytes, tuple[str, str]]


class TooMuch(Exception):
    """Too many objects, or one that is not loose: git has to write the pack."""


def new_objects(project: Project, commit: str) -> Objects | None:
    """The commit and the objects that it adds to its parents, from burnish's store; None where git has to do it.

    Objects that the commit shares with a parent are in the user's repository. All others must be in burnish's store:
    an object in the user's store may be unreferenced, and pruned later.
    """
    found: Objects = {}
    try:
        _take_commit(project, commit, found)
    except TooMuch:
        return None
    return found


def _take_commit(project: Project, commit: str, found: Objects) -> None:
    head = _take(project, commit, found).partition(b"\n\n")[0].split(b"\n")
    lines = [line.split(b" ", 1) for line in head]
    tree = next(words[1].decode() for words in lines if words[0] == b"tree")
    parents = [words[1].decode() for words in lines if words[0] == b"parent"]
    before = [_tree_of(project, parent) for parent in parents]
    if tree not in before:
        _take_tree(project, tree, [_entries(project, one) for one in before], found)


def _tree_of(project: Project, commit: str) -> str:
    content = read_loose(project, commit)
    if content is None or content[0] != "commit":
        raise TooMuch
    return content[1].split(b"\n", 1)[0].removeprefix(b"tree ").decode()


def _entries(project: Project, tree: str) -> Entries:
    content = read_loose(project, tree)
    if content is None:
        raise TooMuch
    return parse_tree(project, content[1])


def _take_tree(project: Project, tree: str, before: list[Entries], found: Objects) -> None:
    for name, (mode, sha) in parse_tree(project, _take(project, tree, found)).items():
        parent_entries = [entries[name] for entries in before if name in entries]
        if sha in found or mode == _LINK or any(entry[1] == sha for entry in parent_entries):
            continue
        if mode == _TREE:
            below = [_entries(project, entry[1]) for entry in parent_entries if entry[0] == _TREE]
            _take_tree(project, sha, below, found)
        else:
            _take(project, sha, found)


def _take(project: Project, sha: str, found: Objects) -> bytes:
    content = read_own(project, sha, longest=MAX_BYTES)
    if content is None or len(found) >= MAX_OBJECTS:
        raise TooMuch
    found[sha] = content
    if sum(len(data) for _, data in found.values()) > MAX_BYTES:
        raise TooMuch
    return content[1]


def write_pack(project: Project, objects: Objects, folder: Path) -> None:
    """Write `pack-<name>.pack` and its index into the folder."""
    records: dict[bytes, tuple[int, int]] = {}
    pack = bytearray(struct.pack(">4s2I", b"PACK", 2, len(objects)))
    for sha, (kind, data) in objects.items():
        record = _head(_KINDS[kind], len(data)) + zlib.compress(data, 1)
        records[bytes.fromhex(sha)] = (zlib.crc32(record), len(pack))
        pack += record
    checksum = hashlib.new(project.object_format, pack, usedforsecurity=False).digest()
    name = f"pack-{checksum.hex()}"
    (folder / f"{name}.pack").write_bytes(bytes(pack) + checksum)
    (folder / f"{name}.idx").write_bytes(_index(project, records, checksum))


def _head(kind: int, size: int) -> bytes:
    """Encode kind and size: four bits of the size in the first byte, seven in each further one, lowest first."""
    out = bytearray([kind << 4 | size & 0x0F])
    size >>= 4
    while size:
        out[-1] |= 0x80
        out.append(size & 0x7F)
        size >>= 7
    return bytes(out)


def _index(project: Project, records: Mapping[bytes, tuple[int, int]], checksum: bytes) -> bytes:
    names = sorted(records)
    counts = [0] * 256
    for name in names:
        counts[name[0]] += 1
    index = b"".join(
        [
            b"\xfftOc\0\0\0\2",
            struct.pack(">256I", *accumulate(counts)),
            *names,
            *(struct.pack(">I", records[name][0]) for name in names),
            *(struct.pack(">I", records[name][1]) for name in names),
            checksum,
        ]
    )
    return index + hashlib.new(project.object_format, index, usedforsecurity=False).digest()

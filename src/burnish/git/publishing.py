"""Copies objects from burnish's own store to the user's repository, protected from the user's `git gc`.

burnish writes objects into its own store, which borrows from the user's. Before a ref of the user's repository moves to
a commit, the objects that it adds are copied as one pack with a `.keep`. Loose objects would be unsafe, even with a
ref: `git gc --prune=now` reads the refs first and deletes later, including objects that were written in between.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from burnish.errors import PhaseFailed
from burnish.git.files import disk_errors, remove_tree
from burnish.git.kept_packs import KeptPack, install, list_packs, pack_folder, remove_leftovers, remove_pack
from burnish.git.objects import is_own_loose, read_commit
from burnish.git.pack_writing import new_objects, write_pack
from burnish.git.project import Project
from burnish.proc.slots import try_lock

# more packs than this are merged, because each one slows down the lookup of objects
MOST_PACKS = 16
# published loose objects are only a cache: they save git processes while a task runs
MOST_LOOSE_FILES = 4_000
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
    if len(packs) >= MOST_PACKS:
        maintain(project)


def publish_object(project: Project, sha: str) -> None:
    """Copy one object that is not a commit into the user's repository."""
    if not any(pack.has(sha) for pack in list_packs(project)):
        _pack(project, (), f"{sha}\n".encode())


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
        if len(packs) >= MOST_PACKS // 2 and pack.size > total:
            break
        packs.append(pack)
        total += pack.size
    return packs


def _drop_own_copies(project: Project) -> None:
    """Remove loose objects: published ones after LOOSE_SECONDS, others after UNPUBLISHED_SECONDS."""
    files = [file for file in project.objects.glob("??/*") if len(file.parent.name) == 2]
    if len(files) < MOST_LOOSE_FILES:
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

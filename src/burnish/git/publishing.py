"""Objects from burnish's own store into the user's repository, safe from the user's `git gc` before a ref names them.

burnish writes objects into its own store, which borrows the user's. Before a ref of the user's repository is moved to a
commit, all that the commit adds is put there as one pack with a `.keep`. Loose objects would not do, not even after the
ref: `git gc --prune=now` looks at the refs first and deletes later, also what has come in between.
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

# more packs than this are merged; each one costs git a little time on every look for an object
MOST_PACKS = 16
# own loose objects are only copies once they are published: they save a process while a task is worked on
MOST_LOOSE_FILES = 4_000
LOOSE_SECONDS = 3600.0
# trees without burnish's own files have no ref, and an agent may work on top of them
UNPUBLISHED_SECONDS = 30 * 86400.0


def publish(project: Project, commit: str, *, always: bool = False) -> None:
    """Put the commit and all that it adds to its parents into the user's repository.

    `always`: also where the commit is in the user's store already, because it may be there without a ref.
    """
    if project.store is not None:
        return
    if not always and not is_own_loose(project, commit):
        return
    packs = list_packs(project)
    if any(pack.has(commit) for pack in packs):
        return
    known = _known_ancestors(project, commit, packs)
    if not _pack_by_hand(project, commit, known):
        wanted = "\n".join([commit, *(f"^{sha}" for sha in known), ""])
        _pack(project, ("--revs",), wanted.encode())
    if len(packs) >= MOST_PACKS:
        maintain(project)


def publish_object(project: Project, sha: str) -> None:
    """Put one object that is not a commit into the user's repository."""
    if not any(pack.has(sha) for pack in list_packs(project)):
        _pack(project, (), f"{sha}\n".encode())


def _known_ancestors(project: Project, commit: str, packs: list[KeptPack]) -> list[str]:
    """The nearest ancestors that are in the user's repository already."""
    known: dict[str, None] = {}
    seen, waiting = {commit}, [commit]
    while waiting:
        for parent in read_commit(project, waiting.pop()).parents:
            if parent in seen:
                continue
            seen.add(parent)
            if is_own_loose(project, parent) and not any(pack.has(parent) for pack in packs):
                waiting.append(parent)
            else:
                known[parent] = None
    return list(known)


def _pack_by_hand(project: Project, commit: str, known: list[str]) -> bool:
    """False where it takes git: a large commit, or parents that are not in the user's repository yet."""
    parents = read_commit(project, commit).parents
    objects = new_objects(project, commit) if set(parents) <= set(known) else None
    if objects is None:
        return False
    with _folder(project) as made, disk_errors(f"writing to {made}"):
        write_pack(project, objects, made)
        install(project, made)
    return True


def _pack(project: Project, options: tuple[str, ...], stdin: bytes) -> KeptPack:
    with _folder(project) as made:
        args = ("pack-objects", "-q", "--delta-base-offset", *options, str(made / "pack"))
        project.git(*args, stdin=stdin, durable=False)
        return install(project, made)


@contextmanager
def _folder(project: Project) -> Iterator[Path]:
    with disk_errors(f"making a folder in {project.own}"):
        made = Path(tempfile.mkdtemp(dir=project.own, prefix="packing-"))
    try:
        yield made
    finally:
        remove_tree(made)


def maintain(project: Project) -> None:
    """Merge packs that burnish wrote, and drop own copies of what they hold. One process at a time; others go on."""
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
    chosen = _to_merge(project)
    if len(chosen) < 2:
        return
    names = "".join(f"{pack.index.stem}.pack\n" for pack in chosen).encode()
    try:
        merged = _pack(project, ("--stdin-packs",), names)
    except PhaseFailed:
        # the packs stay as they are; reading a damaged object reports it
        return
    for pack in chosen:
        if pack.index.name != merged.index.name:
            remove_pack(pack)


def _to_merge(project: Project) -> list[KeptPack]:
    """The small ones: each pack is copied only when as much has come after it, so that copying stays cheap."""
    folder = pack_folder(project)
    if (folder / "multi-pack-index.d").exists():
        return []
    try:
        named = (folder / "multi-pack-index").read_bytes()
    except OSError:
        named = b""
    # git would miss a pack that the user's multi-pack-index names
    free = [pack for pack in list_packs(project) if pack.index.name.encode() not in named]
    chosen: list[KeptPack] = []
    total = 0
    for pack in sorted(free, key=lambda one: one.size):
        if len(chosen) >= MOST_PACKS // 2 and pack.size > total:
            break
        chosen.append(pack)
        total += pack.size
    return chosen


def _drop_own_copies(project: Project) -> None:
    """Loose objects that are published, an hour later; others when they cannot be of use any more."""
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

"""Links to the object stores that burnish's git dirs borrow from.

A sandbox mounts another tree at the path of the user's checkout, which hides `<checkout>/.git/objects`. So alternates
name a link below burnish's own git dir, and a sandbox mounts the store itself at the link's path.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

from burnish.git.project import Project
from burnish.regular_files import read_regular

MOST_STORES = 16
# names in an object store: loose objects, packs, and files that git and file managers leave
_OF_STORE = re.compile(r"[0-9a-f]{2}|pack|info|tmp_.*|incoming-.*|tmp-objdir-.*|.*\.lock|\.DS_Store|\.nfs.*")


def link_objects(project: Project, objects: Path) -> Path:
    """Create a link to the object store that works inside and outside of a sandbox."""
    folder = project.own / "lent"
    folder.mkdir(exist_ok=True)
    link = folder / hashlib.sha256(os.fsencode(objects)).hexdigest()[:16]
    with suppress(FileExistsError):
        link.symlink_to(objects)
    return link


def borrowed_objects(project: Project) -> tuple[tuple[Path, Path], ...]:
    """All borrowed stores as (link, store): the project's, and those that its alternates name."""
    stores: dict[Path, None] = {}
    waiting = [project.objects, project.user_objects]
    while waiting and len(stores) < MOST_STORES:
        store = waiting.pop(0)
        own = store == project.objects or (store == project.user_objects and not store.is_symlink())
        if store not in stores and (store.is_dir() if own else _is_store(store)):
            stores[store] = None
            waiting += _alternates(store)
    return tuple((link_objects(project, store), store) for store in stores)


def _is_store(folder: Path) -> bool:
    """Whether the folder has only git objects: sandboxes expose it, and `alternates` could name any folder."""
    try:
        with os.scandir(folder) as entries:
            return all(_OF_STORE.fullmatch(entry.name) for entry in entries)
    except OSError:
        return False


def _alternates(objects: Path) -> list[Path]:
    lines = os.fsdecode(read_regular(objects / "info" / "alternates") or b"").split("\n")
    paths = (line for line in lines if line and not line.startswith(("#", '"')))
    return [Path(os.path.realpath(objects / line)) for line in paths]

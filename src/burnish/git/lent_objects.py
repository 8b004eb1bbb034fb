"""Names of our own for the object stores that a `.git` of ours borrows from.

A sandbox mounts another tree at the path of the user's checkout, and with it hides `<checkout>/.git/objects`. So a
borrowed store is named by a link below burnish's own git dir; a sandbox mounts the store itself at the link's path.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from burnish.git.project import Project

MOST_STORES = 16


def lend(project: Project, objects: Path) -> Path:
    """A path by which the object store can be borrowed, inside a sandbox and outside."""
    folder = project.own / "lent"
    folder.mkdir(exist_ok=True)
    link = folder / hashlib.sha256(os.fsencode(objects)).hexdigest()[:16]
    with suppress(FileExistsError):
        link.symlink_to(objects)
    return link


def lent_objects(project: Project) -> tuple[tuple[Path, Path], ...]:
    """Every store that is borrowed from, as (link, store): the project's, and those that this one borrows from."""
    stores: dict[Path, None] = {}
    waiting = [project.objects, project.user_objects]
    while waiting and len(stores) < MOST_STORES:
        store = waiting.pop(0)
        if store not in stores and store.is_dir():
            stores[store] = None
            waiting += _alternates(store)
    return tuple((lend(project, store), store) for store in stores)


def _alternates(objects: Path) -> list[Path]:
    try:
        lines = os.fsdecode((objects / "info" / "alternates").read_bytes()).split("\n")
    except OSError:
        return []
    named = (line for line in lines if line and not line.startswith(("#", '"')))
    return [Path(os.path.realpath(objects / line)) for line in named]

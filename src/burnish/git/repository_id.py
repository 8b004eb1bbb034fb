"""The id of a repository, which identifies it after it was moved: the hash that `refs/burnish/local/id` points to.

The ref points to a small object with random content, so the id is known without reading an object. The ref itself is
never pushed; `cluster/shared_refs.py` copies the id to the remote that machines share.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.errors import BurnishError
from burnish.regular_files import read_regular

if TYPE_CHECKING:
    from burnish.git.project import Project

ID_REF = "refs/burnish/local/id"
_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def read_id(common_dir: Path, ref: str = ID_REF) -> str | None:
    """The id of the repository with this git directory, or None. Runs git for reftables only.

    `ref`: another ref that has an id, e.g. the one that the remote has.
    """
    if (common_dir / "reftable").exists():
        return _ask_git(common_dir, ref)
    text = _read(common_dir / ref).strip()
    if _SHA.fullmatch(text):
        return text.decode()
    # a text search: the file may have hundreds of thousands of lines
    before, found, _ = _read(common_dir / "packed-refs").partition(f" {ref}\n".encode())
    sha = before.rpartition(b"\n")[2]
    return sha.decode() if found and _SHA.fullmatch(sha) else None


def write_new_id(project: Project, old: str | None) -> str:
    """Give the repository a new id, in place of `old`."""
    # imported here, so that commands that only read start faster
    import uuid

    from burnish.git.objects import write_object
    from burnish.git.publishing import publish_object
    from burnish.git.refs import update_ref

    new = write_object(project, "blob", f"burnish repository {uuid.uuid4().hex}\n".encode())
    publish_object(project, new)  # before a ref names it: the user's `git gc --prune=now` must not remove it
    update_ref(project, ID_REF, new, old or project.zero)
    return new


def restore_id(project: Project) -> None:
    """Restore a lost id object from burnish's copy, or remove the ref: else the user's `git gc` fails.

    The next command that writes gives a new id to a repository without one.
    """
    from burnish.git.integrity import BrokenRef, find_unreadable, remove_broken_ref
    from burnish.git.publishing import publish_object

    current = read_id(project.common_dir)
    if not current or not find_unreadable(project, [current]):
        return
    with suppress(BurnishError):  # there is no copy
        publish_object(project, current)
    if find_unreadable(project, [current]):
        remove_broken_ref(project, BrokenRef(ID_REF, current))


def repoint_object_links(own: Path, old_common_dir: Path, new_common_dir: Path) -> None:
    """Update the links by which workspaces borrow objects after the repository was moved."""
    import uuid

    folder = own / "lent"
    for link in folder.iterdir() if folder.is_dir() else ():
        target = link.readlink() if link.is_symlink() else None
        if target is None or not target.is_relative_to(old_common_dir):
            continue
        fresh = link.with_name(f".{link.name}-{uuid.uuid4().hex[:8]}")
        fresh.symlink_to(new_common_dir / target.relative_to(old_common_dir))
        fresh.replace(link)


def _ask_git(common_dir: Path, ref: str) -> str | None:
    from burnish.git.run import bare_env, git

    env = bare_env(common_dir) | {"GIT_DIR": str(common_dir)}
    try:
        result = git("rev-parse", "--verify", "--quiet", "--end-of-options", ref, cwd=common_dir, env=env, ok=(0, 1))
    except BurnishError:
        return None  # not a repository that this git can read
    return result.stdout.decode().strip() or None


def _read(path: Path) -> bytes:
    return read_regular(path) or b""

"""A repository's own id, by which it is known again after it was moved: what `refs/burnish/local/id` points at.

The ref names a small object of random content, so that its name alone is the id and no object has to be read. burnish
never pushes or fetches it.
"""

from __future__ import annotations

import re
import uuid
from contextlib import suppress
from pathlib import Path

from burnish.errors import BurnishError
from burnish.git.project import Project
from burnish.git.run import bare_env, git
from burnish.regular_files import read_regular

ID_REF = "refs/burnish/local/id"
_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def read_id(common_dir: Path) -> str | None:
    """The id of the repository with this git directory; None where it has none. git is asked for reftables only."""
    if (common_dir / "reftable").exists():
        return _ask_git(common_dir)
    text = _read(common_dir / ID_REF).strip()
    if _SHA.fullmatch(text):
        return text.decode()
    # searched for as text: a large file of refs has hundred thousands of lines
    before, found, _ = _read(common_dir / "packed-refs").partition(f" {ID_REF}\n".encode())
    sha = before.rpartition(b"\n")[2]
    return sha.decode() if found and _SHA.fullmatch(sha) else None


def write_new_id(project: Project, old: str | None) -> str:
    """Give the repository an id of its own, in place of `old`."""
    # here and not above: reading commands start without them
    from burnish.git.objects import write_object
    from burnish.git.publishing import publish_object
    from burnish.git.refs import update_ref

    new = write_object(project, "blob", f"burnish repository {uuid.uuid4().hex}\n".encode())
    publish_object(project, new)  # before a ref names it: the user's `git gc --prune=now` must not remove it
    update_ref(project, ID_REF, new, old or project.zero)
    return new


def restore_id(project: Project) -> None:
    """Where the object of the id is lost, the user's `git gc` fails: written again from burnish's copy, or removed.

    A repository without an id gets a new one with the next command that writes.
    """
    from burnish.git.broken_refs import BrokenRef, remove_broken_ref
    from burnish.git.publishing import publish_object
    from burnish.git.soundness import find_unreadable

    current = read_id(project.common_dir)
    if not current or not find_unreadable(project, [current]):
        return
    with suppress(BurnishError):  # there is no copy
        publish_object(project, current)
    if find_unreadable(project, [current]):
        remove_broken_ref(project, BrokenRef(ID_REF, current))


def repoint_lent_objects(own: Path, old_common_dir: Path, new_common_dir: Path) -> None:
    """Let the links in burnish's own git dir, by which workspaces borrow objects, lead to the new place."""
    folder = own / "lent"
    for link in folder.iterdir() if folder.is_dir() else ():
        target = link.readlink() if link.is_symlink() else None
        if target is None or not target.is_relative_to(old_common_dir):
            continue
        fresh = link.with_name(f".{link.name}-{uuid.uuid4().hex[:8]}")
        fresh.symlink_to(new_common_dir / target.relative_to(old_common_dir))
        fresh.replace(link)


def _ask_git(common_dir: Path) -> str | None:
    env = bare_env(common_dir) | {"GIT_DIR": str(common_dir)}
    try:
        done = git("rev-parse", "--verify", "--quiet", "--end-of-options", ID_REF, cwd=common_dir, env=env, ok=(0, 1))
    except BurnishError:
        return None  # not a repository that this git can read
    return done.stdout.decode().strip() or None


def _read(path: Path) -> bytes:
    return read_regular(path) or b""

"""Writes the user's index or checkout as a tree, without changing the user's repository."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from burnish.errors import BadInput, PhaseFailed
from burnish.git.base import copy_shared_index, file_mode
from burnish.git.discovery import FoundRepository
from burnish.git.files import copy_index, disk_errors
from burnish.git.object_links import link_objects
from burnish.git.project import SECRETS, Project, open_project, quoted, user_settings
from burnish.git.staging import DirtyPaths, find_dirty_paths, stage, write_tree
from burnish.git.stale_stat import forget_stale_stat
from burnish.git.submodules import look_at_every_file, take_submodules

# generated content: a missing line in .gitignore should not flood the review
INSTALLED = frozenset(
    b"node_modules bower_components __pycache__ .venv .tox .nox .mypy_cache .pytest_cache .ruff_cache".split()
)


@dataclass(frozen=True, slots=True)
class UserTree:
    """A tree made of the user's index or checkout, and the paths that were left out of it."""

    tree: str
    # new files that look like secrets
    secrets: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    # new folders that are separate repositories, or that a package manager filled
    nested: tuple[str, ...] = ()
    installed: tuple[str, ...] = ()
    # staged with content that differs from the file: `git commit` would commit what was not reviewed
    staged: tuple[str, ...] = ()
    # with content that is not in the commit that is checked out there
    submodules: tuple[str, ...] = ()


def private_project(found: FoundRepository, place: Path) -> Project:
    """A temporary git dir and object store below `place`; the store borrows from the user's."""
    project = open_project(found, home=place, key="review")
    store = place / "objects"
    (store / "info").mkdir(parents=True)
    (store / "info" / "alternates").write_bytes(
        os.fsencode(quoted(link_objects(project, project.user_objects))) + b"\n"
    )
    # not ignored silently: `checkout_tree` leaves out secret files and reports their names
    exclude = project.own / "info" / "exclude"
    exclude.write_bytes(exclude.read_bytes().removesuffix(SECRETS.encode()))
    # no compression, because the store is temporary
    lines = ["[core]", "\tlooseCompression = 0"]
    if user_settings(project).get("core.autocrlf", "").lower() not in ("", "false", "no", "off", "0"):
        # files have CRLF line ends and commits LF: without this every line would count as changed
        lines.append("\tautocrlf = input")
    with (project.own / "config").open("a") as config:
        config.write("\n".join(lines) + "\n")
    return replace(project, store=store)


def index_tree(project: Project) -> UserTree:
    """Write the user's index as a tree."""
    with _index_copy(project) as copy:
        try:
            return UserTree(write_tree(project, copy))
        except PhaseFailed as failed:
            conflicts = project.git("ls-files", "-u", "-z", index=copy).stdout
            if not conflicts:
                raise
            raise BadInput(
                "The index has merge conflicts, so what is staged cannot be reviewed.",
                hint="Use `burnish review --dirty` to review the files in the working tree.",
            ) from failed


def checkout_tree(project: Project, head: str | None = None) -> UserTree:
    """Write the user's working tree as a tree, with changed and new files, without ignored ones.

    `head`: the commit to compare the index with.
    """
    with _index_copy(project) as copy:
        look_at_every_file(project, copy, project.root)
        forget_stale_stat(project, copy, project.root)
        submodules = take_submodules(project, copy)
        dirt = find_dirty_paths(project, copy, project.root, file_mode=file_mode(project), ours=False)
        tracked_changes = {*dirt.to_stage, *dirt.to_drop} - dirt.new
        staged_paths = _staged(project, copy, head) & tracked_changes if head and tracked_changes else set()
        inside = _foreign(project, dirt.new)
        secrets = {path for path in dirt.new - inside.keys() if is_secret(os.fsdecode(path))}
        unreadable = {p for p in dirt.to_stage if p not in secrets and p not in inside and not _can_read(project, p)}
        stage(project, copy, project.root, _without(dirt, secrets | unreadable | inside.keys()))
        folders = set(inside.values())
        installed_folders = {folder for folder in folders if not (project.root / os.fsdecode(folder) / ".git").exists()}
        names = (secrets, unreadable, folders - installed_folders, installed_folders, staged_paths, submodules)
        return UserTree(write_tree(project, copy), *map(_sorted_names, names))


def _staged(project: Project, index: Path, head: str) -> set[bytes]:
    args = ("diff-index", "--cached", "--name-only", "--no-renames", "-z", head)
    return set(project.git(*args, index=index).stdout.split(b"\0"))


@contextmanager
def _index_copy(project: Project) -> Iterator[Path]:
    """A copy of the user's index, because git may write to the index that it reads."""
    with TemporaryDirectory(dir=project.own, prefix="look-") as folder, disk_errors("copying the index"):
        copy = Path(folder) / "index"
        source = _index_of(project)
        if source.is_file():
            copy_index(source, copy)
        copy_shared_index(project)
        yield copy


def _index_of(project: Project) -> Path:
    """The user's index, or the temporary one that `git commit -a` passes to hooks."""
    variable = os.environ.get("GIT_INDEX_FILE")
    own = (project.root / variable).resolve() if variable else None
    return own if own and own.parent == project.git_dir and own.is_file() else project.git_dir / "index"


def _can_read(project: Project, path: bytes) -> bool:
    """Whether the file is readable; deleted files and links count as readable."""
    full = os.path.join(os.fsencode(project.root), path)  # noqa: PTH118 (bytes)
    return not os.path.lexists(full) or os.path.islink(full) or os.access(full, os.R_OK)  # noqa: PTH114


def _foreign(project: Project, paths: Iterable[bytes]) -> dict[bytes, bytes]:
    """New files in a nested repository or an installed package → that folder."""
    base = os.fsencode(project.root)
    homes: dict[bytes, bytes | None] = {b"": None}

    def home(folder: bytes) -> bytes | None:
        if folder not in homes:
            above = home(os.path.dirname(folder))  # noqa: PTH120 (bytes)
            homes[folder] = above or (folder if _is_foreign(base, folder) else None)
        return homes[folder]

    found = ((path, home(os.path.dirname(path))) for path in paths)  # noqa: PTH120
    return {path: folder for path, folder in found if folder is not None}


def _is_foreign(base: bytes, folder: bytes) -> bool:
    inside = (os.path.join(base, folder, name) for name in (b".git", b"pyvenv.cfg"))  # noqa: PTH118 (bytes)
    return os.path.basename(folder) in INSTALLED or any(map(os.path.lexists, inside))  # noqa: PTH119


def _without(dirt: DirtyPaths, left_out: set[bytes]) -> DirtyPaths:
    return replace(dirt, to_stage=tuple(p for p in dirt.to_stage if p not in left_out), new=dirt.new - left_out)


def _sorted_names(paths: set[bytes]) -> tuple[str, ...]:
    return tuple(os.fsdecode(path) for path in sorted(paths))


def is_secret(path: str) -> bool:
    name, answer = path.rpartition("/")[2], False
    for pattern in SECRETS.split():
        if fnmatch.fnmatchcase(name, pattern.removeprefix("!")):
            answer = not pattern.startswith("!")
    return answer

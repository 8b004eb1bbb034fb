"""Checks out a commit into a directory: for workspaces and snapshots, as a task's clean tree, or temporarily."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from burnish.core.change import Change
from burnish.errors import PhaseFailed
from burnish.git import agent_gitdir
from burnish.git.files import (
    copy_index,
    disk_errors,
    indexed_paths,
    is_real_dir,
    remove_tree,
    reset_folders,
    restore_owner_rights,
)
from burnish.git.project import Project
from burnish.proc.folders import private_folder

# -- task tree ------------------------------------------------------------------------------------
# The clean checkout of a task, used in turn by its checks and its reviewers.


@dataclass(frozen=True, slots=True)
class TaskTree:
    """Path of the checkout between two phases, and its index."""

    path: Path
    index: Path

    @classmethod
    def of(cls, project: Project, name: str, path: Path) -> TaskTree:
        """The checkout of the task `name` at `path`; a task may have several."""
        path = path.absolute()
        place = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        return cls(path, project.own / "index" / f"{name}.snapshot-{place}")

    def move_to(self, files: Path, index: Path) -> None:
        """Move it to `files`, which must not exist, so that only changed files have to be written there."""
        if not is_real_dir(self.path) or not self.index.is_file():
            self.remove()
            return
        _clean_trees.pop(self.path, None)
        with disk_errors(f"moving {self.path}"):
            private_folder(files.parent)
            copy_index(self.index, index)
            self.path.rename(files)
            self._remove_indexes()

    def hand_over(self, other: TaskTree) -> bool:
        """Become `other`, which must not exist; False if this tree is gone.

        By renaming: of two processes that want the tree, one gets it, and no process removes files from another's.
        """
        _clean_trees.pop(self.path, None)
        with disk_errors(f"moving {self.path}"):
            if not is_real_dir(self.path) or os.path.lexists(other.path):
                return False
            try:
                self.path.rename(other.path)
            except FileNotFoundError:
                return False
            # renamed, so that it keeps its mtime; without it, all files are written again
            with suppress(FileNotFoundError):
                self.index.rename(other.index)
            self._remove_indexes()
        return True

    def take(self, files: Path, index: Path, *, clean_at: str = "") -> None:
        """Replace it with the checkout at `files`.

        `clean_at`: the tree whose files these are, if nothing could write to them since they were checked out.
        """
        self.remove()
        with disk_errors(f"moving {files}"):
            private_folder(self.path.parent)
            self.index.parent.mkdir(exist_ok=True)
            # the index first: missing files that it lists are written again
            copy_index(index, self.index)
            files.rename(self.path)
            if clean_at:
                _clean_trees[self.path] = (clean_at, self._identity())

    def claim_clean(self, tree: str) -> bool:
        """True, once, if this process left it with the files of `tree`. Afterwards a program may write to it."""
        record = _clean_trees.pop(self.path, None)
        try:
            return record == (tree, self._identity())
        except OSError:
            return False  # it or its index was removed

    def _identity(self) -> tuple[int, ...]:
        files, index = self.path.lstat(), self.index.lstat()
        return files.st_dev, files.st_ino, index.st_dev, index.st_ino, index.st_ctime_ns

    def remove(self) -> None:
        _clean_trees.pop(self.path, None)
        with disk_errors(f"removing {self.path}"):
            remove_tree(self.path)
            self._remove_indexes()

    def _remove_indexes(self) -> None:
        """Remove its index and those of submodules."""
        for file in self.index.parent.glob(f"{self.index.name}*"):
            file.unlink(missing_ok=True)


# path of a checkout → the tree whose files it has, and what tells it and its index from others
_clean_trees: dict[Path, tuple[str, tuple[int, ...]]] = {}


def temporary_index(path: Path) -> Path:
    return path.with_name(f".{path.name}.index")


@contextmanager
def throwaway(project: Project, commit: str, path: Path, *, clean_tree: TaskTree | None = None) -> Iterator[Path]:
    """Check out the commit at `path`, replacing what is there, and remove it afterwards.

    `clean_tree`: a tree that is moved there first, so that fewer files have to be written.
    """
    path = path.absolute()
    index = temporary_index(path)
    try:
        with disk_errors(f"creating {path}"):
            remove_tree(path)
            index.unlink(missing_ok=True)
            private_folder(path.parent)
        if clean_tree:
            clean_tree.move_to(path, index)
        with disk_errors(f"creating {path}"):
            path.mkdir(mode=0o700, exist_ok=True)
        check_out_files(project, index, path, commit, everything=True)
        agent_gitdir.create_agent_gitdir(
            project, path, index, agent_gitdir.AgentGitDir("refs/heads/burnish/baseline", commit, commit)
        )
        yield path
    finally:
        remove_tree(path)
        for part in path.parent.glob(f".{path.name}.index*"):
            part.unlink(missing_ok=True)


_PLAIN = ("100644", "100755")


def write_changed_files(change: Change, read: Callable[[str], bytes | None], root: Path) -> None:
    """Write the new content of each regular file below `root`, which must not exist yet."""
    with disk_errors(f"creating {root}"):
        private_folder(root.parent)
        root.mkdir(mode=0o700)
        for file in change.files:
            if file.status == "D" or file.new_mode not in _PLAIN or not _stays_inside(file.path):
                continue
            data = read(file.path)
            if data is not None:
                _write(root / file.path, data)


def _write(target: Path, data: bytes) -> None:
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(data)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return  # two names that differ only in case, on a case-insensitive file system
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise


def _stays_inside(path: str) -> bool:
    """Whether the path stays below the folder: a crafted tree can have names that git would not check out."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and not any(part == ".." or part.lower() == ".git" for part in parts)


# -- layout ---------------------------------------------------------------------------------------
# Checks out a commit into a directory: for workspaces, snapshots and temporary checkouts.

LOCK_SECONDS = 5.0
_GITLINK_MODE = b"\0\0\xe0\0"
_GITLINK = re.compile(rb"160000 ([0-9a-f]+) \d\t(.*)", re.S)


def check_out_files(
    project: Project, index: Path, root: Path, commit: str, *, everything: bool, is_new: bool = False
) -> None:
    """Write tracked files as in the commit and remove others; ignored ones only with `everything`.

    `is_new`: the directory is empty and has no index.
    """
    _wait_for_lock(index)
    since = _written_at(index)
    _read_tree(project, index, root, commit)
    if not is_new:
        _remove_untracked(project, index, root, commit, everything=everything)
    links = gitlinks(project, index)
    if links:
        names = b"".join(path + b"\0" for path in links)
        project.git("update-index", "--skip-worktree", "-z", "--stdin", index=index, work_tree=root, stdin=names)
        _check_out_submodules(project, index, root, commit, links)
    if everything and not is_new:
        # another program had these files before
        with disk_errors(f"cleaning {root}"):
            paths = indexed_paths(index, since, len(project.zero) // 2) if since and not links else None
            reset_folders(root, paths)


def _written_at(index: Path) -> int:
    """When it was written, in nanoseconds: no program had the files of a clean tree before. 0 if there is none."""
    with suppress(FileNotFoundError):
        return index.stat().st_mtime_ns
    return 0


def _remove_untracked(project: Project, index: Path, root: Path, commit: str, *, everything: bool) -> None:
    clean = ("clean", "-ffdx" if everything else "-ffd")
    try:
        clean_output = project.git(*clean, index=index, work_tree=root).stdout
    except PhaseFailed:
        # files in a read-only directory cannot be removed
        restore_owner_rights(root)
        clean_output = project.git(*clean, index=index, work_tree=root).stdout
    if any(line.rstrip(b'"').endswith(b".gitattributes") for line in clean_output.split(b"\n")):
        # git obeyed an untracked .gitattributes while it wrote the files (encoding, line ends): write them again
        index.unlink(missing_ok=True)
        _read_tree(project, index, root, commit)


def _read_tree(project: Project, index: Path, root: Path, commit: str) -> None:
    args = ("read-tree", "--reset", "-u", commit)
    try:
        project.git(*args, index=index, work_tree=root)
    except PhaseFailed as failed:
        if _lock_of(index).exists():
            # a git process of a killed runner began after the wait
            _wait_for_lock(index)
        elif "index" not in failed.what and "ermission" not in failed.what:
            raise
        # without the damaged index git compares every file again
        index.unlink(missing_ok=True)
        restore_owner_rights(root)
        project.git(*args, index=index, work_tree=root)


def _wait_for_lock(index: Path) -> None:
    """Wait for a git process that a killed runner left behind; a lock older than LOCK_SECONDS is removed."""
    lock = _lock_of(index)
    while True:
        try:
            age = time.time() - lock.stat().st_mtime
        except FileNotFoundError:
            return
        if not 0 <= age < LOCK_SECONDS:
            break
        time.sleep(0.1)
    with disk_errors(f"removing {lock}"):
        lock.unlink(missing_ok=True)


def _lock_of(index: Path) -> Path:
    return index.with_name(index.name + ".lock")


def gitlinks(project: Project, index: Path) -> dict[bytes, str]:
    """Submodule paths and their commits. Searches for the bytes of the mode first: most trees have no submodule."""
    if not may_have_gitlinks(index):
        return {}
    records = project.git("ls-files", "-s", "-z", index=index).stdout.split(b"\0")
    found = [_GITLINK.fullmatch(record) for record in records if record.startswith(b"160000")]
    return {match[2]: match[1].decode() for match in found if match}


def may_have_gitlinks(index: Path) -> bool:
    """Whether the bytes of a submodule's mode are in the index, where an entry may have its mode."""
    try:
        data = index.read_bytes()
    except FileNotFoundError:
        return False
    # Entries of these versions begin at a multiple of eight after the header. Inode numbers are at other places.
    is_aligned = int.from_bytes(data[4:8]) in (2, 3)
    at = data.find(_GITLINK_MODE)
    while at >= 0 and is_aligned and at % 8 != 4:
        at = data.find(_GITLINK_MODE, at + 1)
    return at >= 0


def _check_out_submodules(
    project: Project,
    index: Path,
    root: Path,
    commit: str,
    links: dict[bytes, str],
    *,
    objects: Path | None = None,
    homes: tuple[Path, ...] = (),
    depth: int = 0,
) -> None:
    """Write a submodule's files as plain files if the user has its objects; else its directory stays empty."""
    names = _module_names(project, commit, objects)
    homes = homes or (project.git_dir, project.common_dir)
    for path, sha in links.items():
        place = root / os.fsdecode(path)
        module = _module(project, homes, place, names.get(path), path, depth)
        if module is None or not is_real_dir(place) or place.resolve() != root.resolve() / os.fsdecode(path):
            continue
        part = index.with_name(f"{index.name}.sub-{hashlib.sha256(path).hexdigest()[:16]}")
        _wait_for_lock(part)
        try:
            args = ("read-tree", "--reset", "-u", sha)
            project.git(*args, index=part, work_tree=place, objects=module / "objects")
        except PhaseFailed:
            continue  # the user never fetched that commit
        project.git("clean", "-ffdq", index=part, work_tree=place, objects=module / "objects")
        inner = gitlinks(project, part)
        if inner and depth < 4:
            where = {"objects": module / "objects", "homes": (module,), "depth": depth + 1}
            _check_out_submodules(project, part, place, sha, inner, **where)  # type: ignore[arg-type]


def _module(
    project: Project, homes: tuple[Path, ...], place: Path, name: str | None, path: bytes, depth: int
) -> Path | None:
    module_name = name or os.fsdecode(path)
    # the name comes from the tree and must not lead out of the modules folder
    if module_name.startswith(("/", "-")) or ".." in module_name.split("/"):
        return None
    options = [home / "modules" / module_name for home in homes]
    if depth == 0:
        options.append(project.root / os.fsdecode(path) / ".git")
    return next((option for option in options if is_real_dir(option / "objects")), None)


def _module_names(project: Project, commit: str, objects: Path | None) -> dict[bytes, str]:
    args = ("config", "-z", "--blob", f"{commit}:.gitmodules", "--get-regexp", r"^submodule\..*\.path$")
    try:
        result = project.git(*args, objects=objects, ok=(0, 1))
    except PhaseFailed:
        return {}
    pairs = (record.partition(b"\n") for record in result.stdout.split(b"\0") if record)
    return {path: os.fsdecode(key)[len("submodule.") : -len(".path")] for key, _, path in pairs}

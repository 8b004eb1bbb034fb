"""Checks out a commit into a directory: for workspaces, snapshots and temporary checkouts."""

from __future__ import annotations

import hashlib
import os
import re
import time
from pathlib import Path

from burnish.errors import PhaseFailed
from burnish.git.files import disk_errors, is_real_dir, restore_owner_rights
from burnish.git.project import Project

LOCK_SECONDS = 5.0
_GITLINK = re.compile(rb"160000 ([0-9a-f]+) \d\t(.*)", re.S)


def check_out_files(project: Project, index: Path, root: Path, commit: str, *, everything: bool) -> None:
    """Write tracked files as in the commit and remove others; ignored ones only with `everything`."""
    _wait_for_lock(index)
    _read_tree(project, index, root, commit)
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
    links = gitlinks(project, index)
    if links:
        names = b"".join(path + b"\0" for path in links)
        project.git("update-index", "--skip-worktree", "-z", "--stdin", index=index, work_tree=root, stdin=names)
        _check_out_submodules(project, index, root, commit, links)


def _read_tree(project: Project, index: Path, root: Path, commit: str) -> None:
    args = ("read-tree", "--reset", "-u", commit)
    try:
        project.git(*args, index=index, work_tree=root)
    except PhaseFailed as failed:
        if "index" not in failed.what and "ermission" not in failed.what:
            raise
        # without the damaged index git compares every file again
        index.unlink(missing_ok=True)
        restore_owner_rights(root)
        project.git(*args, index=index, work_tree=root)


def _wait_for_lock(index: Path) -> None:
    """Wait for a git process that a killed runner left behind; a lock older than LOCK_SECONDS is removed."""
    lock = index.with_name(index.name + ".lock")
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


def gitlinks(project: Project, index: Path) -> dict[bytes, str]:
    """Submodule paths and their commits. Searches for the bytes of the mode first: most trees have no submodule."""
    try:
        if b"\0\0\xe0\0" not in index.read_bytes():
            return {}
    except FileNotFoundError:
        return {}
    records = project.git("ls-files", "-s", "-z", index=index).stdout.split(b"\0")
    found = [_GITLINK.fullmatch(record) for record in records if record.startswith(b"160000")]
    return {match[2]: match[1].decode() for match in found if match}


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

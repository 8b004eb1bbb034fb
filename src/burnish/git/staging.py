"""Finds changed paths in a work tree, and stages them without running any program from it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.core.status import ErrorCode
from burnish.errors import FileTooLarge, PhaseFailed
from burnish.git import lfs
from burnish.git.files import restore_owner_rights
from burnish.git.project import SECRETS, Project, is_secret
from burnish.regular_files import read_regular

# Names that git refuses, because some file systems treat them as `.git`. It takes `.git.sh` and `.git x`.
_FORBIDDEN = re.compile(rb"(?:^|[/\\])(?:\.git|git~1)[ .]*(?:[/\\:]|$)", re.I)


@dataclass(frozen=True, slots=True)
class DirtyPaths:
    """Paths, as bytes, that differ from the index."""

    # changed, new or deleted on disk
    to_stage: tuple[bytes, ...] = ()
    # tracked, but behind a link or no longer a regular file
    to_drop: tuple[bytes, ...] = ()
    # those of `to_stage` that were not tracked before
    new: frozenset[bytes] = frozenset()
    # With `with_excluded`: all that the index and the .gitignore files do not name. Nested repositories end in `/`.
    untracked_paths: tuple[bytes, ...] = ()
    # folders that git cannot enter because a path below them is too long
    too_long: tuple[bytes, ...] = ()
    # folders that git cannot list, e.g. without rights
    closed: tuple[bytes, ...] = ()
    # new files with a name that git refuses
    forbidden: tuple[bytes, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.to_stage or self.to_drop)

    @property
    def paths(self) -> list[str]:
        return [os.fsdecode(path) for path in sorted({*self.to_stage, *self.to_drop})]

    def without(self, prefix: str) -> DirtyPaths:
        start = os.fsencode(prefix.rstrip("/")) + b"/"
        return DirtyPaths(
            tuple(p for p in self.to_stage if not p.startswith(start)),
            tuple(p for p in self.to_drop if not p.startswith(start)),
            frozenset(p for p in self.new if not p.startswith(start)),
        )


# As git reports a folder that it cannot enter. It cuts the message, so that the reason may be missing.
_TOO_LONG = re.compile(rb"could not open directory '([^\n]{1000,})")
_CLOSED = re.compile(rb"could not open directory '([^\n]{1,999}?)': ")
# More are not asked for by name: git lists the untracked files again.
_MAX_QUERIES = 1000


def find_dirty_paths(
    project: Project,
    index: Path,
    root: Path,
    *,
    file_mode: bool = True,
    with_ignored: bool = False,
    with_excluded: bool = False,
    ours: bool = True,
) -> DirtyPaths:
    """Changed, deleted and new paths; ignored ones only if `with_ignored`.

    `with_excluded`: also list what the excluded names of burnish and the user keep out, in the same look at the files.
    `ours`: the directory belongs to burnish, so permissions may be restored where git is denied access.
    """
    args = ["-c", f"core.fileMode={str(file_mode).lower()}", "ls-files", "-z", "-t", "-m", "-o"]
    args += [] if with_ignored else ["--exclude-per-directory=.gitignore" if with_excluded else "--exclude-standard"]
    result = project.git(*args, index=index, work_tree=root)
    if ours and b"ermission denied" in result.stderr:
        restore_owner_rights(root)
        result = project.git(*args, index=index, work_tree=root)
    base = os.fsencode(root)
    links: dict[bytes, bool] = {}
    to_stage: list[bytes] = []
    to_drop: list[bytes] = []
    nested_repositories: list[bytes] = []
    forbidden: list[bytes] = []
    records = result.stdout.split(b"\0")
    untracked_paths = tuple(record[2:] for record in records if record[:2] == b"? ") if with_excluded else ()
    excluded_paths = _excluded(project, index, root, untracked_paths) if untracked_paths else frozenset()
    for record in records:
        tag, path = record[:2], record[2:]
        if not path or (tag == b"? " and path in excluded_paths):
            continue
        if _FORBIDDEN.search(path):
            forbidden.append(path)
            continue
        if tag == b"? ":
            (nested_repositories if path.endswith(b"/") else to_stage).append(path)
        elif _behind_link(base, path, links) or _is_special(base, path):
            to_drop.append(path)
        else:
            to_stage.append(path)
    tracked_paths = {record[2:] for record in records if record[:2] != b"? "}
    to_stage += _nested_files(project, root, nested_repositories, with_ignored=with_ignored)
    unique = tuple(dict.fromkeys(to_stage))
    new, too_long = frozenset(unique) - tracked_paths, _too_long(result.stderr)
    return DirtyPaths(
        unique,
        tuple(dict.fromkeys(to_drop)),
        new,
        untracked_paths,
        too_long,
        tuple(dict.fromkeys(_CLOSED.findall(result.stderr))),
        tuple(dict.fromkeys(forbidden)),
    )


def _too_long(messages: bytes) -> tuple[bytes, ...]:
    """The first names of folders that git could not enter."""
    tops = (b"/".join(path.split(b"/")[:3]) + b"/" for path in _TOO_LONG.findall(messages))
    return tuple(dict.fromkeys(tops))


def _excluded(project: Project, index: Path, root: Path, untracked_paths: tuple[bytes, ...]) -> frozenset[bytes]:
    """Those of the untracked paths that git ignores by other rules than those of .gitignore files."""
    if not _may_be_excluded(project, untracked_paths):
        return frozenset()
    if len(untracked_paths) <= _MAX_QUERIES:
        # "./" keeps git from reading a name like ":(top)" as pathspec magic
        query = b"".join(b"./" + path.rstrip(b"/") + b"\0" for path in untracked_paths)
        args = ("check-ignore", "-z", "--stdin", "--no-index")
        found = project.git(*args, work_tree=root, stdin=query, ok=(0, 1)).stdout.split(b"\0")
        ignored_paths = {path.removeprefix(b"./") for path in found}
        return frozenset(path for path in untracked_paths if path.rstrip(b"/") in ignored_paths)
    listing = project.git("ls-files", "-z", "-o", "--exclude-standard", index=index, work_tree=root).stdout
    return frozenset(untracked_paths).difference(listing.split(b"\0"))


def _may_be_excluded(project: Project, untracked_paths: Iterable[bytes]) -> bool:
    """False only if the user has no such rules, and none of the names looks like a secret: that saves a process."""
    text = read_regular(project.own / "info" / "exclude")
    rules = (text or b"?").removesuffix(SECRETS.encode())
    if any(line.strip() and not line.startswith(b"#") for line in rules.split(b"\n")):
        return True
    names = {name.lower() for path in untracked_paths for name in path.split(b"/")}
    return any(is_secret(os.fsdecode(name)) for name in names)


def _behind_link(base: bytes, path: bytes, is_link: dict[bytes, bool]) -> bool:
    """Whether a parent directory of `path` is a link: git refuses such paths."""
    folder = os.path.dirname(path)  # noqa: PTH120 (bytes)
    if not folder:
        return False
    if folder not in is_link:
        is_link[folder] = os.path.islink(os.path.join(base, folder)) or _behind_link(base, folder, is_link)  # noqa: PTH114, PTH118
    return is_link[folder]


def _is_special(base: bytes, path: bytes) -> bool:
    """Whether the path is a pipe, socket or device."""
    try:
        mode = os.lstat(os.path.join(base, path)).st_mode  # noqa: PTH118
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))


def _nested_files(project: Project, root: Path, folders: Iterable[bytes], *, with_ignored: bool) -> list[bytes]:
    """The files of nested repositories, which `git add` would skip or fail on."""
    base = os.fsencode(root)
    paths = [path for folder in folders for path in _walk(base, folder.rstrip(b"/"))]
    if not paths or with_ignored:
        return paths
    # "./" keeps git from reading a name like ":(top)" as pathspec magic
    query = b"".join(b"./" + path + b"\0" for path in paths)
    args = ("check-ignore", "-z", "--stdin", "--no-index")
    left_out = set(project.git(*args, work_tree=root, stdin=query, ok=(0, 1)).stdout.split(b"\0"))
    return [path for path in paths if b"./" + path not in left_out]


def _walk(base: bytes, folder: bytes) -> Iterable[bytes]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        with os.scandir(os.path.join(base, here)) as entries:  # noqa: PTH118
            for entry in entries:
                path = here + b"/" + entry.name
                if _FORBIDDEN.search(path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                    yield path


def stage(project: Project, index: Path, root: Path, dirt: DirtyPaths, *, any_encoding: bool = False) -> None:
    """Stage the paths one by one, without the programs that `git add` may run.

    With `any_encoding`, a file whose content does not match its `working-tree-encoding` is staged unconverted. This is
    for rescues only: a checkout of such a commit would have different content.
    """
    if dirt.to_drop:
        names = b"".join(path + b"\0" for path in dirt.to_drop)
        project.git("update-index", "--force-remove", "-z", "--stdin", index=index, work_tree=root, stdin=names)
    if dirt.to_stage:
        _make_readable(os.fsencode(root), dirt.to_stage)
        # tracked paths first: a deleted directory must be removed before a file of that name is added
        order = sorted(dirt.to_stage, key=lambda path: path in dirt.new)
        try:
            _update_index(project, index, root, order)
        except PhaseFailed as failed:
            encodings = _encoded(project, root, order)
            if not encodings:
                raise
            if not any_encoding:
                raise _encoding_failure(failed, encodings) from failed
            _update_index(project, index, root, [path for path in order if path not in encodings])
            _stage_bytes(project, index, root, encodings)


def _update_index(project: Project, index: Path, root: Path, paths: Iterable[bytes]) -> None:
    names = b"".join(path + b"\0" for path in paths)
    args = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
    project.git(*args, index=index, work_tree=root, stdin=names, alone=True)


def _encoded(project: Project, root: Path, paths: Iterable[bytes]) -> dict[bytes, str]:
    """Path → its `working-tree-encoding`, for paths that have one."""
    query = b"".join(path + b"\0" for path in paths)
    answer = project.git("check-attr", "-z", "--stdin", "working-tree-encoding", work_tree=root, stdin=query).stdout
    words = answer.split(b"\0")
    found = zip(words[0::3], words[2::3], strict=False)
    return {path: value.decode(errors="replace") for path, value in found if value not in (b"unspecified", b"unset")}


def _encoding_failure(error: PhaseFailed, encodings: Mapping[bytes, str]) -> PhaseFailed:
    # git usually names the file in its message
    candidates = [path for path in encodings if f"'{os.fsdecode(path)}'" in error.what] or sorted(encodings)
    path, encoding = os.fsdecode(candidates[0]), encodings[candidates[0]]
    return PhaseFailed(
        ErrorCode.GIT_ERROR,
        f"{path} cannot be committed: .gitattributes sets working-tree-encoding={encoding} for it, and its content is "
        f"not in that encoding ({error.what}).",
        hint="`burnish retry` asks the agent again; the work is kept under a rescue ref.",
    )


def _stage_bytes(project: Project, index: Path, root: Path, paths: Iterable[bytes]) -> None:
    entries = b""
    for path in paths:
        file = root / os.fsdecode(path)
        if file.is_symlink() or not file.is_file():
            continue
        blob = project.git("hash-object", "-w", "--no-filters", "--stdin", stdin=file.read_bytes(), alone=True).stdout
        blob = blob.strip()
        mode = b"100755" if file.stat().st_mode & stat.S_IXUSR else b"100644"
        entries += mode + b" " + blob + b"\t" + path + b"\0"
    project.git("update-index", "--add", "-z", "--index-info", index=index, work_tree=root, stdin=entries)


def _make_readable(base: bytes, paths: Iterable[bytes]) -> None:
    for path in paths:
        full = os.path.join(base, path)  # noqa: PTH118
        try:
            mode = os.lstat(full).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode) and not mode & stat.S_IRUSR:
            os.chmod(full, mode | stat.S_IRUSR)  # noqa: PTH101


def write_tree(project: Project, index: Path) -> str:
    return project.git("write-tree", index=index).stdout.decode().strip()


# -- large files ----------------------------------------------------------------------------------
# Keeps large files out of commits.

MEGABYTE = 1024 * 1024
# default of `commit.max_file_mb`
MAX_BYTES = 50 * MEGABYTE


def check(project: Project, root: Path, dirt: DirtyPaths) -> None:
    """Refuse to commit the content of a Git LFS file where git-lfs is not installed; pointers are fine."""
    if lfs.program() or not _mentions_lfs(root, dirt):
        return
    query = b"".join(path + b"\0" for path in dirt.to_stage)
    args = ("check-attr", "-z", "--stdin", "filter")
    answer = project.git(*args, work_tree=root, git_dir=project.own / "attributes", stdin=query).stdout
    words = answer.split(b"\0")
    for path, value in zip(words[0::3], words[2::3], strict=False):
        file = root / os.fsdecode(path)
        if value == b"lfs" and read_regular(file, longest=len(lfs.POINTER), follow=False) not in (None, lfs.POINTER):
            raise PhaseFailed(
                ErrorCode.GIT_ERROR,
                f"{os.fsdecode(path)!r} belongs in Git LFS, and git-lfs is not installed.",
                hint="Install git-lfs, then `burnish retry`.",
            )


def too_large(root: Path, dirt: DirtyPaths, most: int) -> dict[bytes, int]:
    """Size by path of the files over `most` bytes that would be committed; links are not followed."""
    found: dict[bytes, int] = {}
    for path in dirt.to_stage:
        try:
            status = os.lstat(os.path.join(os.fsencode(root), path))  # noqa: PTH118 (bytes)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_size > most:
            found[path] = status.st_size
    return found


def refuse(found: Mapping[bytes, int], root: Path, most: int) -> None:
    """Raise before git writes an object, which would stay in the repository."""
    if not found:
        return
    files = [f"{os.fsdecode(path)!r} ({size / MEGABYTE:,.0f} MB)" for path, size in sorted(found.items())]
    names = ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
    verb = "is" if len(files) == 1 else "are"
    raise FileTooLarge(
        f"Nothing was committed: {names} {verb} larger than commit.max_file_mb ({most / MEGABYTE:g} MB).",
        hint=f"The work is in {root}. `burnish retry` asks the agent to leave it out; or raise commit.max_file_mb.",
    )


def refuse_commits(project: Project, agent_objects: Path, revisions: bytes, most: int) -> None:
    """Refuse commits of the agent that contain a file over `most` bytes."""
    objects = project.git("rev-list", "--objects", "--stdin", borrow=agent_objects, stdin=revisions).stdout
    names = b"".join(line.split(b" ")[0] + b"\n" for line in objects.split(b"\n") if line)
    sizes = project.git("cat-file", "--batch-check=%(objectsize)", borrow=agent_objects, stdin=names).stdout.split()
    if any(size.isdigit() and int(size) > most for size in sizes):
        raise FileTooLarge("Commits made by the agent contain a file over `commit.max_file_mb`.")


def _mentions_lfs(root: Path, dirt: DirtyPaths) -> bool:
    folders = {b""}
    for path in dirt.to_stage:
        while (path := path.rpartition(b"/")[0]) not in folders:
            folders.add(path)
    files = (root / os.fsdecode(folder) / ".gitattributes" for folder in folders)
    return any(b"filter=lfs" in (read_regular(file, longest=1 << 20, follow=False) or b"") for file in files)

"""What is different in a work tree, and taking it into an index without running anything it contains."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.git.files import open_rights
from burnish.git.project import Project

# Names that git refuses as some file system would take them for `.git`.
_FORBIDDEN = re.compile(rb"(?:^|/)(?:\.git|git~1)(?:[ .:\\][^/]*)?(?:/|$)", re.I)


@dataclass(frozen=True, slots=True)
class DirtyPaths:
    """Paths, as bytes, that differ from the index."""

    # to be taken as they are on disk (changed, new, or deleted)
    taken: tuple[bytes, ...] = ()
    # tracked, but hidden behind a link or no longer a file: to be dropped
    dropped: tuple[bytes, ...] = ()
    # among `taken`: not tracked before
    new: frozenset[bytes] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.taken or self.dropped)

    @property
    def paths(self) -> list[str]:
        return [os.fsdecode(path) for path in sorted({*self.taken, *self.dropped})]

    def without(self, prefix: str) -> DirtyPaths:
        start = os.fsencode(prefix.rstrip("/")) + b"/"
        return DirtyPaths(
            tuple(p for p in self.taken if not p.startswith(start)),
            tuple(p for p in self.dropped if not p.startswith(start)),
            frozenset(p for p in self.new if not p.startswith(start)),
        )


def look(
    project: Project, index: Path, root: Path, *, file_mode: bool = True, ignored: bool = False, ours: bool = True
) -> DirtyPaths:
    """One process: what changed, what is gone, what is new (with `ignored` that too). Only in `ours` rights change."""
    args = ["-c", f"core.fileMode={str(file_mode).lower()}", "ls-files", "-z", "-t", "-m", "-o"]
    args += [] if ignored else ["--exclude-standard"]
    done = project.git(*args, index=index, work_tree=root)
    if ours and b"ermission denied" in done.stderr:
        open_rights(root)
        done = project.git(*args, index=index, work_tree=root)
    base = os.fsencode(root)
    links: dict[bytes, bool] = {}
    taken: list[bytes] = []
    dropped: list[bytes] = []
    nested: list[bytes] = []
    for record in done.stdout.split(b"\0"):
        tag, path = record[:2], record[2:]
        if not path or _FORBIDDEN.search(path):
            continue
        if tag == b"? ":
            (nested if path.endswith(b"/") else taken).append(path)
        elif _behind_link(base, path, links) or _is_special(base, path):
            dropped.append(path)
        else:
            taken.append(path)
    tracked = {r[2:] for r in done.stdout.split(b"\0") if r[:2] != b"? "}
    taken += _nested_files(project, root, nested, ignored=ignored)
    unique = tuple(dict.fromkeys(taken))
    return DirtyPaths(unique, tuple(dict.fromkeys(dropped)), frozenset(unique) - tracked)


def _behind_link(base: bytes, path: bytes, seen: dict[bytes, bool]) -> bool:
    """Is a directory on the way to `path` a link? git would refuse such a path."""
    folder = os.path.dirname(path)  # noqa: PTH120 (bytes)
    if not folder:
        return False
    if folder not in seen:
        seen[folder] = os.path.islink(os.path.join(base, folder)) or _behind_link(base, folder, seen)  # noqa: PTH114, PTH118
    return seen[folder]


def _is_special(base: bytes, path: bytes) -> bool:
    """A pipe, socket or device where a tracked file was."""
    try:
        mode = os.lstat(os.path.join(base, path)).st_mode  # noqa: PTH118
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))


def _nested_files(project: Project, root: Path, folders: Iterable[bytes], *, ignored: bool) -> list[bytes]:
    """The files of repositories inside the work tree, as files: `git add` would lose them or die."""
    base = os.fsencode(root)
    paths = [path for folder in folders for path in _walk(base, folder.rstrip(b"/"))]
    if not paths or ignored:
        return paths
    # "./" keeps a name like ":(top)" from being read as more than a name.
    asked = b"".join(b"./" + path + b"\0" for path in paths)
    args = ("check-ignore", "-z", "--stdin", "--no-index")
    left_out = set(project.git(*args, work_tree=root, stdin=asked, ok=(0, 1)).stdout.split(b"\0"))
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
    """Take the dirt into the index, file by file: nothing that `git add` would run is run.

    With `any_encoding`, a file whose content does not fit its `working-tree-encoding` is taken byte by byte: that is
    for keeping work, not for committing it, because git would write another content when it is checked out.
    """
    if dirt.dropped:
        gone = b"".join(path + b"\0" for path in dirt.dropped)
        project.git("update-index", "--force-remove", "-z", "--stdin", index=index, work_tree=root, stdin=gone)
    if dirt.taken:
        _make_readable(os.fsencode(root), dirt.taken)
        # Gone first: a directory that became a file must make room for it.
        order = sorted(dirt.taken, key=lambda path: path in dirt.new)
        try:
            _update_index(project, index, root, order)
        except PhaseFailed as failed:
            encoded = _encoded(project, root, order)
            if not encoded:
                raise
            if not any_encoding:
                raise _encoding_failure(failed, encoded) from failed
            _update_index(project, index, root, [path for path in order if path not in encoded])
            _stage_bytes(project, index, root, encoded)


def _update_index(project: Project, index: Path, root: Path, paths: Iterable[bytes]) -> None:
    names = b"".join(path + b"\0" for path in paths)
    args = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
    project.git(*args, index=index, work_tree=root, stdin=names, alone=True)


def _encoded(project: Project, root: Path, paths: Iterable[bytes]) -> dict[bytes, str]:
    """The paths that have a `working-tree-encoding`, and which one."""
    asked = b"".join(path + b"\0" for path in paths)
    answer = project.git("check-attr", "-z", "--stdin", "working-tree-encoding", work_tree=root, stdin=asked).stdout
    words = answer.split(b"\0")
    found = zip(words[0::3], words[2::3], strict=False)
    return {path: value.decode(errors="replace") for path, value in found if value not in (b"unspecified", b"unset")}


def _encoding_failure(failed: PhaseFailed, encoded: Mapping[bytes, str]) -> PhaseFailed:
    # git names the file in its message; else any of them may be the one
    named = [path for path in encoded if f"'{os.fsdecode(path)}'" in failed.what] or sorted(encoded)
    path, encoding = os.fsdecode(named[0]), encoded[named[0]]
    return PhaseFailed(
        ErrorCode.GIT_ERROR,
        f"{path} cannot be committed: .gitattributes sets working-tree-encoding={encoding} for it, and its content is "
        f"not in that encoding ({failed.what}).",
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

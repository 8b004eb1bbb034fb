"""Lists and reads the files of a commit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from burnish.git.objects import read_objects
from burnish.git.project import Project

MOST_HELD = 32 * 1024 * 1024


class Contents:
    """Reads files of a commit in batches of 100: a process for each would take minutes."""

    def __init__(self, project: Project, commit: str, paths: Sequence[str]) -> None:
        self._project, self._commit, self._paths = project, commit, paths
        self._place = {path: number for number, path in enumerate(paths)}
        self._held: dict[str, bytes | None] = {}
        self._all: frozenset[str] | None = None

    def get(self, path: str) -> bytes | None:
        if path not in self._held:
            self._fetch(path)
        return self._held[path]

    def _fetch(self, path: str) -> None:
        start = self._place.get(path)
        if start is None and not self._is_there(path):
            self._held[path] = None
            return
        near = [path] if start is None else self._paths[start // 100 * 100 : start // 100 * 100 + 100]
        missing = [name for name in near if name not in self._held]
        if sum(len(data or b"") for data in self._held.values()) > MOST_HELD:
            self._held.clear()
        self._held |= read_files(self._project, self._commit, missing)

    def _is_there(self, path: str) -> bool:
        if self._all is None:
            self._all = frozenset(list_files(self._project, self._commit))
        return path in self._all


def list_files(project: Project, commit: str) -> list[str]:
    return [path for path, _sha in _tree(project, commit)]


def read_files(project: Project, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
    """Content of each path in the commit, None where there is no file; at most two processes."""
    # git resolves a leading ./ or ../ against a working tree, and fails without one; no tree has such a path
    names = {path: f"{commit}:{path}" for path in dict.fromkeys(paths) if path and not path.startswith(("./", "../"))}
    if any("\n" in path for path in names):
        # cat-file reads one name per line, so such a path is read by its blob hash
        blobs = dict(_tree(project, commit))
        names = {path: blobs.get(path, project.zero) if "\n" in path else name for path, name in names.items()}
    found = dict(zip(names, read_objects(project, list(names.values())), strict=True))
    return {path: answer[1] if (answer := found.get(path)) and answer[0] == "blob" else None for path in paths}


def list_links(project: Project, tree: str) -> dict[str, str]:
    """Path → target of the link, "" for a regular file, "/" for a submodule."""
    entries = list(_entries(project, tree))
    links = [sha for mode, sha, _path in entries if mode == "120000"]
    contents = dict(zip(links, read_objects(project, links), strict=True)) if links else {}
    found = {path: "/" if mode == "160000" else "" for mode, _sha, path in entries}
    for mode, sha, path in entries:
        if mode == "120000":
            answer = contents[sha]
            found[path] = os.fsdecode(answer[1]) if answer and answer[1] else "/"
    return found


def _tree(project: Project, commit: str) -> list[tuple[str, str]]:
    return [(path, sha) for _mode, sha, path in _entries(project, commit)]


def _entries(project: Project, tree: str) -> Iterator[tuple[str, str, str]]:
    """(mode, object, path) of each file."""
    records = project.git("ls-tree", "-r", "-z", "--full-tree", tree).stdout.split(b"\0")
    for record in records:
        head, _, path = record.partition(b"\t")
        if record:
            mode, _kind, sha = head.decode().split(" ")
            yield mode, sha, path.decode("utf-8", "surrogateescape")

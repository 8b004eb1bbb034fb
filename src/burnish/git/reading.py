"""Names and contents of a commit's files."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.git.objects import read_objects
from burnish.git.project import Project


class Contents:
    """The files of a commit one after the other, fetched by the hundred: a process for each would take minutes."""

    def __init__(self, project: Project, commit: str, paths: Sequence[str]) -> None:
        self._project, self._commit, self._paths = project, commit, paths
        self._place = {path: number for number, path in enumerate(paths)}
        self._held: dict[str, bytes | None] = {}

    def get(self, path: str) -> bytes | None:
        if path not in self._held:
            start = self._place.get(path)
            wanted = [path] if start is None else self._paths[start : start + 100]
            self._held = read_files(self._project, self._commit, wanted)
        return self._held[path]


def list_files(project: Project, commit: str) -> list[str]:
    return [path for path, _sha in _tree(project, commit)]


def read_files(project: Project, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
    """What each path holds in the commit; None where there is no file. One process."""
    names = {path: f"{commit}:{path}" for path in dict.fromkeys(paths) if path}
    if any("\n" in path for path in names):
        # A question may not span two lines: such a path is asked for by its blob.
        blobs = dict(_tree(project, commit))
        names = {path: blobs.get(path, project.zero) if "\n" in path else name for path, name in names.items()}
    found = dict(zip(names, read_objects(project, list(names.values())), strict=True))
    return {path: answer[1] if (answer := found.get(path)) and answer[0] == "blob" else None for path in paths}


def _tree(project: Project, commit: str) -> list[tuple[str, str]]:
    records = project.git("ls-tree", "-r", "-z", "--full-tree", commit).stdout.split(b"\0")
    pairs = (record.partition(b"\t") for record in records if record)
    return [(path.decode("utf-8", "surrogateescape"), head.split(b" ")[2].decode()) for head, _, path in pairs]

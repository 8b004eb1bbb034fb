"""Changes between commits or trees, with a small cache."""

from __future__ import annotations

import threading

from burnish.core.change import Change
from burnish.errors import PhaseFailed
from burnish.git import diff, owned_files
from burnish.git.file_content import complete
from burnish.git.project import Project
from burnish.git.refs import read_ref

MAX_REMEMBERED = 4


class Differences:
    """Changes on one branch; may be used by several threads."""

    def __init__(self, project: Project, ref: str) -> None:
        self._project, self._ref = project, ref
        self._changes: dict[tuple[str, str], Change] = {}
        self._remembering = threading.Lock()

    def between(self, old: str, new: str) -> Change:
        change = self._changes.get((old, new))
        if change is None:
            change = complete(self._project, diff.parse(self._output(old, new), old, new))
            with self._remembering:
                while len(self._changes) >= MAX_REMEMBERED:
                    self._changes.pop(next(iter(self._changes)))
                self._changes[old, new] = change
        return change

    def _output(self, old: str, new: str) -> bytes:
        # without a work tree, so that a `.gitattributes` in the change cannot mark text as binary
        args = (*diff.ARGS, "--end-of-options", old, new)
        try:
            return self._project.git(*args).stdout
        except PhaseFailed:
            tip = read_ref(self._project, self._ref)
            if tip is None or not owned_files.rewrite_plain_trees(self._project, tip):
                raise
            return self._project.git(*args).stdout

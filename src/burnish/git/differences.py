"""What lies between commits or trees, the last few remembered."""

from __future__ import annotations

import threading

from burnish.core.change import Change
from burnish.errors import PhaseFailed
from burnish.git import diff
from burnish.git import owned_files as written
from burnish.git.file_content import complete
from burnish.git.project import Project
from burnish.git.refs import read_ref

MOST_REMEMBERED = 4


class Differences:
    """For one branch; several reviewers may ask at once."""

    def __init__(self, project: Project, ref: str) -> None:
        self._project, self._ref = project, ref
        self._changes: dict[tuple[str, str], Change] = {}
        self._remembering = threading.Lock()

    def between(self, old: str, new: str) -> Change:
        known = self._changes.get((old, new))
        if known is None:
            known = complete(self._project, diff.parse(self._output(old, new), old, new))
            with self._remembering:
                while len(self._changes) >= MOST_REMEMBERED:
                    self._changes.pop(next(iter(self._changes)))
                self._changes[old, new] = known
        return known

    def _output(self, old: str, new: str) -> bytes:
        # No work tree and a bare git dir: a `.gitattributes` in the change cannot hide text as "binary".
        args = (*diff.ARGS, "--end-of-options", old, new)
        try:
            return self._project.git(*args).stdout
        except PhaseFailed:
            tip = read_ref(self._project, self._ref)
            if tip is None or not written.lay_trees_anew(self._project, tip):
                raise
            return self._project.git(*args).stdout

"""The clean checkout of a task, used in turn by its checks and its reviewers."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from burnish.git.files import copy_index, disk_errors, is_real_dir, remove_tree
from burnish.git.project import Project
from burnish.proc.folders import private_folder


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
        with disk_errors(f"moving {self.path}"):
            private_folder(files.parent)
            copy_index(self.index, index)
            self.path.rename(files)
            self._remove_indexes()

    def take(self, files: Path, index: Path) -> None:
        """Replace it with the checkout at `files`."""
        self.remove()
        with disk_errors(f"moving {files}"):
            private_folder(self.path.parent)
            self.index.parent.mkdir(exist_ok=True)
            # the index first: missing files that it lists are written again
            copy_index(index, self.index)
            files.rename(self.path)

    def remove(self) -> None:
        with disk_errors(f"removing {self.path}"):
            remove_tree(self.path)
            self._remove_indexes()

    def _remove_indexes(self) -> None:
        """Remove its index and those of submodules."""
        for file in self.index.parent.glob(f"{self.index.name}*"):
            file.unlink(missing_ok=True)

"""The clean tree of one task, which its checks and its reviewers use in turn."""

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
    """Where the tree lies between two phases, and the index that names what its files should be."""

    path: Path
    index: Path

    @classmethod
    def of(cls, project: Project, name: str, path: Path) -> TaskTree:
        """`name` is the task's; a task may have trees at several places."""
        path = path.absolute()
        place = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        return cls(path, project.own / "index" / f"{name}.snapshot-{place}")

    def move_to(self, files: Path, index: Path) -> None:
        """Move it to `files`, where nothing may be, so that only what differs has to be written there."""
        if not is_real_dir(self.path) or not self.index.is_file():
            self.remove()
            return
        with disk_errors(f"moving {self.path}"):
            private_folder(files.parent)
            copy_index(self.index, index)
            self.path.rename(files)
            self._remove_indexes()

    def take(self, files: Path, index: Path) -> None:
        """Have the tree at `files` from now on."""
        self.remove()
        with disk_errors(f"moving {files}"):
            private_folder(self.path.parent)
            self.index.parent.mkdir(exist_ok=True)
            # the index first: files that it names and that are missing are written again
            copy_index(index, self.index)
            files.rename(self.path)

    def remove(self) -> None:
        with disk_errors(f"removing {self.path}"):
            remove_tree(self.path)
            self._remove_indexes()

    def _remove_indexes(self) -> None:
        """Its own, and those of submodules, whose files are written in full the next time."""
        for file in self.index.parent.glob(f"{self.index.name}*"):
            file.unlink(missing_ok=True)

"""Removes a workspace; uncommitted work is first saved under a rescue ref."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import Refused
from burnish.git.files import is_real_dir, move_out_of_the_way
from burnish.git.integrity import find_unreadable
from burnish.git.refs import delete_ref, read_ref, update_ref
from burnish.git.secret_scan import copy_beside, left_out_by_name
from burnish.git.workspace import GitWorkspace


@dataclass(frozen=True, slots=True)
class RescuedWork:
    """Where uncommitted work was saved: a ref, and a folder for files that must not be committed."""

    rescue: str | None = None
    withheld: Path | None = None
    names: tuple[str, ...] = ()
    # the whole directory, if burnish did not create it
    folder: Path | None = None

    @property
    def note(self) -> str:
        """A message about files that are not under a ref."""
        if self.folder:
            return f"burnish cannot tell which files of the workspace are saved, so it moved all to {self.folder}"
        names = ", ".join(map(repr, self.names[:5])) + (f" and {len(self.names) - 5} more" if self.names[5:] else "")
        return (
            f"Files never committed because of their names, copied to {self.withheld}: {names}" if self.withheld else ""
        )


def _is_incomparable(workspace: GitWorkspace, commit: str) -> bool:
    """Whether the commit of the files is lost, so that uncommitted changes cannot be determined."""
    return bool(find_unreadable(workspace.project, [commit], with_trees=True))


def remove_workspace(workspace: GitWorkspace, label: str, *, copies: Collection[str] = ()) -> RescuedWork:
    """Save uncommitted work, then remove the workspace. `copies`: files that the user's checkout still has."""
    if not is_real_dir(workspace.path):
        workspace.remove()
        return RescuedWork()
    at = workspace.checked_out_commit()
    if at is None:
        raise Refused(
            f"burnish did not create {workspace.path}, so it cannot tell which files are saved.",
            hint="Check its content, and remove it by hand.",
        )
    if not (workspace.is_own() or workspace.adopt()) or _is_incomparable(workspace, at):
        folder = move_out_of_the_way(workspace.path)
        workspace.remove()
        return RescuedWork(folder=folder)
    branch = read_ref(workspace.project, workspace.ref)
    if branch is None:
        # the branch was deleted: compare with the commit that the files were reset to
        update_ref(workspace.project, workspace.ref, at, workspace.project.zero)
    try:
        agent_ref = workspace.collect_agent_git(label)
        rescue_ref = workspace.rescue(label)
    finally:
        if branch is None:
            delete_ref(workspace.project, workspace.ref, at)
    secret_paths = sorted(left_out_by_name(workspace.project, workspace.index, workspace.path, copies))
    place = copy_beside(secret_paths, workspace.path, label) if secret_paths else None
    workspace.remove()
    return RescuedWork(rescue_ref or agent_ref, place, tuple(map(os.fsdecode, secret_paths)))

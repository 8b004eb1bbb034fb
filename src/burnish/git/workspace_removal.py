"""Taking a workspace away for good. Whatever is not committed goes under a rescue ref first."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import Refused
from burnish.git.files import is_real_dir, move_off
from burnish.git.refs import delete_ref, read_ref, update_ref
from burnish.git.secret_scan import left_out_by_name, put_beside
from burnish.git.soundness import find_unreadable
from burnish.git.workspace import GitWorkspace


@dataclass(frozen=True, slots=True)
class RescuedWork:
    """Where what was unsaved is now: a ref, and a folder for what must not come into git."""

    rescue: str | None = None
    withheld: Path | None = None
    names: tuple[str, ...] = ()
    # the whole directory, if it was not the one that burnish made
    folder: Path | None = None

    @property
    def told(self) -> str:
        """For people: what is not under a ref, and where it is now."""
        if self.folder:
            return f"It is not known what in the workspace is saved, so all of it was kept; it is now {self.folder}"
        names = ", ".join(map(repr, self.names[:5])) + (f" and {len(self.names) - 5} more" if self.names[5:] else "")
        return f"Never committed because of the name, copies are in {self.withheld}: {names}" if self.withheld else ""


def _is_incomparable(workspace: GitWorkspace, commit: str) -> bool:
    """The commit that the files were laid from is gone, so it cannot be told what in them is saved."""
    return bool(find_unreadable(workspace.project, [commit], with_trees=True))


def remove_workspace(workspace: GitWorkspace, label: str, *, copies: Collection[str] = ()) -> RescuedWork:
    """Save, then remove. `copies` came from the user's checkout and are still there."""
    if not is_real_dir(workspace.path):
        workspace.remove()
        return RescuedWork()
    at = workspace.checked_out_commit()
    if at is None:
        raise Refused(
            f"{workspace.path} was not laid by burnish, so it is not known what in it is saved.",
            hint="Look at it, and remove it by hand.",
        )
    if not workspace.is_own() or _is_incomparable(workspace, at):
        folder = move_off(workspace.path)
        workspace.remove()
        return RescuedWork(folder=folder)
    branch = read_ref(workspace.project, workspace.ref)
    if branch is None:
        # Its branch is gone: what is unsaved is told by the commit that the files were laid from.
        update_ref(workspace.project, workspace.ref, at, workspace.project.zero)
    try:
        own = workspace.after_phase(label)
        kept = workspace.rescue(label)
    finally:
        if branch is None:
            delete_ref(workspace.project, workspace.ref, at)
    secret = sorted(left_out_by_name(workspace.project, workspace.index, workspace.path, copies))
    place = put_beside(secret, workspace.path, label) if secret else None
    workspace.remove()
    return RescuedWork(kept or own, place, tuple(map(os.fsdecode, secret)))

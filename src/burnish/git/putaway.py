"""Taking a workspace away for good. Whatever is not committed goes under a rescue ref first."""

from __future__ import annotations

from burnish.errors import Refused
from burnish.git.files import is_real_dir
from burnish.git.refs import delete_ref, read_ref, update_ref
from burnish.git.workspace import Workspace


def put_away(workspace: Workspace, label: str) -> str | None:
    """Save, then remove; the ref that what was unsaved is under now, if there was anything."""
    if not is_real_dir(workspace.path):
        workspace.remove()
        return None
    at = workspace.stands_on()
    if at is None:
        raise Refused(
            f"{workspace.path} was not laid by burnish, so it is not known what in it is saved.",
            hint="Look at it, and remove it by hand.",
        )
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
    workspace.remove()
    return kept or own

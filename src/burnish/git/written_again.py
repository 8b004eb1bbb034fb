"""A commit that cannot be read, made again from the workspace that still has its files."""

from __future__ import annotations

from burnish.git.files import disk_errors
from burnish.git.index_file import is_sound_index
from burnish.git.objects import write_commit
from burnish.git.soundness import is_whole
from burnish.git.workspace import Workspace


def write_again(workspace: Workspace, commit: str, tree: str, *, onto: str, message: str) -> str | None:
    """The same tree in a new commit on top of `onto`; None where the workspace has other files by now."""
    if not workspace.is_own() or workspace.stands_on() != commit:
        return None
    if not is_sound_index(workspace.index):
        with disk_errors(f"removing {workspace.index}"):
            workspace.index.unlink(missing_ok=True)
    found = workspace.tree_on(onto)
    if found != tree:
        return None
    sha = write_commit(workspace.project, tree, (onto,), message, workspace.author)
    if not is_whole(workspace.project, sha, onto):
        return None
    workspace.take_for(sha)
    return sha

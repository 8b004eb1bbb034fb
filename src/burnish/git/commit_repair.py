"""Restores an unreadable commit from the workspace that still has its files."""

from __future__ import annotations

from contextlib import suppress

from burnish.errors import PhaseFailed
from burnish.git.objects import write_commit
from burnish.git.project import Project
from burnish.git.publishing import publish
from burnish.git.soundness import is_whole
from burnish.git.workspace import GitWorkspace


def restore_objects(workspace: GitWorkspace, commit: str, base: str) -> bool:
    """Write blobs and trees of the commit again from the workspace; True if the commit is complete afterwards."""
    if publish_again(workspace.project, commit, base):
        return True
    if not workspace.is_own() or workspace.checked_out_commit() != commit:
        return False
    workspace.write_tree_on(base)
    return publish_again(workspace.project, commit, base)


def publish_again(project: Project, commit: str, base: str | None = None) -> bool:
    """Copy the commit's objects from burnish's store to the user's again; True if it is complete afterwards."""
    with suppress(PhaseFailed):  # some object has no copy
        publish(project, commit, always=True)
    return is_whole(project, commit, base)


def write_again(workspace: GitWorkspace, commit: str, tree: str, *, onto: str, message: str) -> str | None:
    """Write the tree as a new commit on top of `onto`; None where the files in the workspace have changed."""
    if not workspace.is_own() or workspace.checked_out_commit() != commit:
        return None
    found = workspace.write_tree_on(onto)
    if found != tree:
        return None
    sha = write_commit(workspace.project, tree, (onto,), message, workspace.author)
    if not publish_again(workspace.project, sha, onto):
        return None
    workspace.record_commit(sha)
    return sha

"""A commit that cannot be read, made again from the workspace that still has its files."""

from __future__ import annotations

from contextlib import suppress

from burnish.errors import PhaseFailed
from burnish.git.objects import write_commit
from burnish.git.project import Project
from burnish.git.publishing import publish
from burnish.git.soundness import is_whole
from burnish.git.workspace import GitWorkspace


def restore_objects(workspace: GitWorkspace, commit: str, base: str) -> bool:
    """Files and trees of the commit are written again from the workspace; True if all of it can be read then."""
    if publish_again(workspace.project, commit, base):
        return True
    if not workspace.is_own() or workspace.checked_out_commit() != commit:
        return False
    workspace.tree_on(base)
    return publish_again(workspace.project, commit, base)


def publish_again(project: Project, commit: str, base: str | None = None) -> bool:
    """Put burnish's own copies of a commit's objects into the user's store once more; True if all is there then."""
    with suppress(PhaseFailed):  # there is no copy of something
        publish(project, commit, always=True)
    return is_whole(project, commit, base)


def write_again(workspace: GitWorkspace, commit: str, tree: str, *, onto: str, message: str) -> str | None:
    """The same tree in a new commit on top of `onto`; None where the workspace has other files by now."""
    if not workspace.is_own() or workspace.checked_out_commit() != commit:
        return None
    found = workspace.tree_on(onto)
    if found != tree:
        return None
    sha = write_commit(workspace.project, tree, (onto,), message, workspace.author)
    if not publish_again(workspace.project, sha, onto):
        return None
    workspace.take_for(sha)
    return sha

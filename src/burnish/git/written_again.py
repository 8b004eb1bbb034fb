"""A commit that cannot be read, made again from the workspace that still has its files."""

from __future__ import annotations

from burnish.git.objects import write_commit
from burnish.git.soundness import is_whole
from burnish.git.workspace import Workspace


def restore_objects(workspace: Workspace, commit: str, base: str) -> bool:
    """Files and trees of the commit are written again from the workspace; True if all of it can be read then."""
    if not workspace.is_own() or workspace.stands_on() != commit:
        return False
    workspace.tree_on(base)
    return is_whole(workspace.project, commit, base)


def write_again(workspace: Workspace, commit: str, tree: str, *, onto: str, message: str) -> str | None:
    """The same tree in a new commit on top of `onto`; None where the workspace has other files by now."""
    if not workspace.is_own() or workspace.stands_on() != commit:
        return None
    found = workspace.tree_on(onto)
    if found != tree:
        return None
    sha = write_commit(workspace.project, tree, (onto,), message, workspace.author)
    if not is_whole(workspace.project, sha, onto):
        return None
    workspace.take_for(sha)
    return sha

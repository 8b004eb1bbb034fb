"""Merges a commit of the target branch into a task's branch; an agent may resolve the conflicts in between."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from burnish.core.commit import Commit, TargetCommit, TargetMerge
from burnish.errors import ConflictsLeft
from burnish.git.base import is_ancestor
from burnish.git.merge import MergeOutcome, merge_commits, merge_trees, touched
from burnish.git.objects import BURNISH_AUTHOR, list_files, read_commit, read_files, write_commit
from burnish.git.owned_files import plain_tree
from burnish.git.project import Project
from burnish.git.refs import StaleRef, delete_ref, read_ref, update_ref

# The lines that begin and end a conflict. A line of equal signs alone may be a heading.
_MARKER = re.compile(rb"^(?:<{7,}|>{7,}|\|{7,})(?: .*)?\r?$", re.MULTILINE)
# The name that git gives a file if a folder, or a file of another type, is in its place.
_BESIDE = re.compile(r"~[0-9a-f]{40,64}(?:_\d+)?$")
# the commit of the target that each task is about to merge
MERGING = "refs/burnish/merging/"
# of the target, in a prompt
MAX_COMMITS = 50


def merge_target(project: Project, head: str, base: str, target: str) -> TargetMerge:
    """The merge of `target` into `head`, a branch whose change begins at `base`. Writes only objects."""
    if is_ancestor(project, target, head):
        new_base = base if is_ancestor(project, target, base) else target
        return TargetMerge(target, plain_tree(project, read_commit(project, head).tree), (), new_base, True)
    outcome = _merged(project, head, base, target)
    return TargetMerge(target, plain_tree(project, outcome.tree), outcome.details, target)


def _merged(project: Project, head: str, base: str, target: str) -> MergeOutcome:
    if is_ancestor(project, base, target):
        return merge_commits(project, head, target)
    # What the branch was built on is in the target under other names (squashed, rebased): its own change counts.
    trees = (read_commit(project, sha).tree for sha in (base, head, target))
    return merge_trees(project, *trees)


def keep_target(project: Project, name: str, sha: str) -> None:
    """Keep the commit for the task `name`: the target may be moved, and git removes commits without a ref."""
    ref = MERGING + name
    if (now := read_ref(project, ref)) != sha:
        update_ref(project, ref, sha, now or project.zero)


def forget_target(project: Project, name: str) -> None:
    """Remove the ref of `keep_target`."""
    with suppress(StaleRef):
        if now := read_ref(project, MERGING + name):
            delete_ref(project, MERGING + name, now)


def merged_files(project: Project, merge: TargetMerge, head: str) -> Commit:
    """A commit with the files of the merge, conflict markers included. No ref names it."""
    return read_commit(project, write_commit(project, merge.tree, (head,), "merge in progress", BURNISH_AUTHOR))


def refuse_unresolved(project: Project, merge: TargetMerge, head: str, tree: str) -> None:
    """Raise unless every conflict is resolved in the tree, and what merged without a conflict is still there.

    Not resolved: a file with conflict markers, or one that git had to lay beside its place.
    """
    files = set(list_files(project, tree))
    suspects = sorted(({*merge.paths} | touched(project, merge.tree, tree)) & files)
    now, ours, theirs = (read_files(project, side, suspects) for side in (tree, head, merge.target))
    paths = [
        path for path in suspects if _markers(now.get(path)) - _markers(ours.get(path)) - _markers(theirs.get(path))
    ]
    paths += [path for path in merge.paths if path in files and _BESIDE.search(path)]
    before = plain_tree(project, read_commit(project, head).tree)
    undone = touched(project, before, merge.tree) - touched(project, before, tree) - {*merge.paths}
    if paths or undone:
        raise ConflictsLeft(paths, sorted(undone))


def _markers(data: bytes | None) -> set[bytes]:
    return set(_MARKER.findall(data or b""))


def target_commits(project: Project, head: str, target: str, paths: Sequence[str]) -> list[TargetCommit]:
    """The commits of the target that the branch does not have and that change these paths, newest first."""
    names = [f":(literal,top){path}" for path in paths]
    args = ("log", "-z", f"--max-count={MAX_COMMITS}", "--format=%H%n%B", "--end-of-options", target, f"^{head}", "--")
    records = project.git(*args, *names).stdout.decode("utf-8", "replace").split("\0")
    pairs = (record.partition("\n") for record in records if record.strip())
    return [TargetCommit(sha, message.strip()) for sha, _, message in pairs]

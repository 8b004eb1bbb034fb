"""Bringing two lines of work together as objects: no ref is read, no file is touched."""

from __future__ import annotations

from dataclasses import dataclass

from burnish.core.status import ErrorCode
from burnish.errors import BurnishError, PhaseFailed
from burnish.git.base import is_ancestor
from burnish.git.objects import NOBODY, Author, read_commit, write_commit
from burnish.git.owned_files import plain_tree
from burnish.git.project import Project
from burnish.git.run import git_version


@dataclass(frozen=True, slots=True)
class MergeOutcome:
    """The tree of a merge; with conflicts it is not to be used."""

    tree: str
    conflicts: tuple[str, ...] = ()


def merge_commits(project: Project, ours: str, theirs: str) -> MergeOutcome:
    """What git itself would make of the two commits."""
    if git_version() < (2, 38):
        raise BurnishError("Merging needs git 2.38 or newer.", hint="Update git, or merge the branch by hand.")
    args = ("merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", ours, theirs)
    done = project.git(*args, ok=(0, 1))
    tree, *paths = done.stdout.rstrip(b"\0").split(b"\0")
    if done.exit_code == 0:
        return MergeOutcome(tree.decode())
    names = dict.fromkeys(path.decode("utf-8", "surrogateescape") for path in paths)
    return MergeOutcome(tree.decode(), tuple(names) or ("a path that git does not name",))


def merge_trees(project: Project, base: str, ours: str, theirs: str) -> MergeOutcome:
    """The change from `base` to `theirs`, made to `ours`; all three are trees."""
    if base in (ours, theirs) or ours == theirs:
        return MergeOutcome(ours if base == theirs else theirs)
    # A history made up for the purpose: this git cannot be told the common ancestor otherwise.
    root = write_commit(project, base, (), "base", NOBODY)
    sides = [write_commit(project, tree, (root,), "side", NOBODY) for tree in (ours, theirs)]
    return merge_commits(project, *sides)


def merge_base(project: Project, one: str, other: str) -> str | None:
    """The newest commit that both have in their history."""
    found = project.git("merge-base", one, other, ok=(0, 1)).stdout.decode().split()
    return found[0] if found else None


def contains(project: Project, target: str, commit: str) -> bool:
    """Is all the work of `commit` in `target`, by history or by content (squashed, picked, rebased)?"""
    if is_ancestor(project, commit, target):
        return True
    fork = merge_base(project, target, commit)
    if fork is None:
        return False
    began, now, theirs = (plain_tree(project, read_commit(project, sha).tree) for sha in (fork, target, commit))
    merged = merge_trees(project, began, now, theirs)
    return not merged.conflicts and merged.tree == now


def touched(project: Project, old: str, new: str) -> frozenset[str]:
    """Every path that differs between two trees, by its old and its new name."""
    args = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--end-of-options", old, new)
    names = project.git(*args).stdout.split(b"\0")
    return frozenset(name.decode("utf-8", "surrogateescape") for name in names if name)


def overlap(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Paths that both sides touched; a file on one side may be a folder on the other."""
    folders = frozenset[str]().union(*map(_parents, other))
    return (one & other) | (one & folders) | {path for path in one if _parents(path) & other}


def _parents(path: str) -> frozenset[str]:
    parts = path.split("/")
    return frozenset("/".join(parts[:n]) for n in range(1, len(parts)))


@dataclass(frozen=True, slots=True)
class RebaseOutcome:
    """The last of the commits that were made anew, or what stood in the way."""

    commit: str
    conflicts: tuple[str, ...] = ()


def replay(project: Project, onto: str, base: str, tip: str, committer: Author) -> RebaseOutcome:
    """The commits from `base` to `tip` one after the other on top of `onto`, with their messages and authors."""
    listed = project.git("rev-list", "--reverse", "--topo-order", "--no-merges", tip, f"^{base}", f"^{onto}")
    head = onto
    for sha in listed.stdout.decode().split():
        commit = read_commit(project, sha)
        if not commit.parents:
            raise PhaseFailed(
                ErrorCode.GIT_ERROR,
                f"The commit {sha[:12]} has no parent, so it cannot be replayed.",
                hint="Merge without --rebase.",
            )
        if commit.parents == (head,):
            head = sha
            continue
        before, now = read_commit(project, commit.parents[0]).tree, read_commit(project, head).tree
        merged = merge_trees(project, before, now, commit.tree)
        if merged.conflicts:
            return RebaseOutcome(head, merged.conflicts)
        if merged.tree != now:
            head = _again(project, sha, merged.tree, head, committer)
    return RebaseOutcome(head)


def _again(project: Project, sha: str, tree: str, parent: str, committer: Author) -> str:
    """The same commit on another parent: message, author and date stay."""
    fresh = project.git("cat-file", "commit", write_commit(project, tree, (parent,), "x", committer)).stdout
    mark = next(line for line in fresh.split(b"\n") if line.startswith(b"committer "))
    old = project.git("cat-file", "commit", sha).stdout
    head, _, message = old.partition(b"\n\n")
    author = next(line for line in head.split(b"\n") if line.startswith(b"author "))
    coding = [line for line in head.split(b"\n") if line.startswith(b"encoding ")]
    lines = [b"tree " + tree.encode(), b"parent " + parent.encode(), author, mark, *coding]
    text = b"\n".join(lines) + b"\n\n" + message
    return project.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text).stdout.decode().strip()

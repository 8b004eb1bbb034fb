"""Merges and rebases commits as objects: reads no ref and writes no file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from burnish.core.commit import MergeConflict
from burnish.core.status import ErrorCode
from burnish.errors import BurnishError, PhaseFailed
from burnish.git.base import is_ancestor
from burnish.git.objects import BURNISH_AUTHOR, Author, read_commit, write_commit
from burnish.git.owned_files import plain_tree
from burnish.git.project import Project
from burnish.git.run import git_version


@dataclass(frozen=True, slots=True)
class MergeOutcome:
    """The tree of a merge; do not use it if there are conflicts."""

    tree: str
    conflicts: tuple[str, ...] = ()
    # the same with git's words about each
    details: tuple[MergeConflict, ...] = ()


def merge_commits(project: Project, ours: str, theirs: str) -> MergeOutcome:
    """Merge two commits as `git merge` would."""
    if git_version() < (2, 38):
        raise BurnishError("Merging needs git 2.38 or newer.", hint="Update git, or merge the branch by hand.")
    result = project.git("merge-tree", "--write-tree", "--messages", "--name-only", "-z", ours, theirs, ok=(0, 1))
    tree, *rest = [field.decode("utf-8", "surrogateescape") for field in result.stdout.split(b"\0")]
    if result.exit_code == 0:
        return MergeOutcome(tree)
    end = rest.index("") if "" in rest else len(rest)
    names = tuple(dict.fromkeys(rest[:end])) or ("an unknown path",)
    details = tuple(_conflicts(rest[end + 1 :]))
    named_paths = {conflict.path for conflict in details}
    return MergeOutcome(tree, names, details + tuple(MergeConflict(path) for path in names if path not in named_paths))


def _conflicts(fields: Sequence[str]) -> Iterator[MergeConflict]:
    """The conflicts in the messages of `git merge-tree -z`: a number of paths, the paths, a kind and a sentence."""
    start = 0
    while start < len(fields) and fields[start].isdigit():
        first, after = start + 1, start + 1 + int(fields[start])
        kind, message = (*fields[after : after + 2], "", "")[:2]
        if kind.startswith("CONFLICT") and after > first:
            words = kind.removeprefix("CONFLICT").strip(" ()")
            yield MergeConflict(fields[first], words, message.partition(": ")[2].strip() or message.strip())
        start = after + 2


def merge_trees(project: Project, base: str, ours: str, theirs: str) -> MergeOutcome:
    """Apply the change from `base` to `theirs` to `ours`; all three are trees."""
    if base in (ours, theirs) or ours == theirs:
        return MergeOutcome(ours if base == theirs else theirs)
    # temporary commits, because older `git merge-tree` versions take no explicit merge base
    root = write_commit(project, base, (), "base", BURNISH_AUTHOR)
    sides = [write_commit(project, tree, (root,), "side", BURNISH_AUTHOR) for tree in (ours, theirs)]
    return merge_commits(project, *sides)


def merge_base(project: Project, one: str, other: str) -> str | None:
    """The newest common ancestor."""
    found = project.git("merge-base", one, other, ok=(0, 1)).stdout.decode().split()
    return found[0] if found else None


def contains(project: Project, target: str, commit: str) -> bool:
    """Whether `target` contains `commit`, by history or by content (squashed, cherry-picked, rebased)."""
    if is_ancestor(project, commit, target):
        return True
    fork = merge_base(project, target, commit)
    if fork is None:
        return False
    old_tree, target_tree, commit_tree = (
        plain_tree(project, read_commit(project, sha).tree) for sha in (fork, target, commit)
    )
    outcome = merge_trees(project, old_tree, target_tree, commit_tree)
    return not outcome.conflicts and outcome.tree == target_tree


def touched(project: Project, old: str, new: str) -> frozenset[str]:
    """Every path that differs between two trees, by its old and its new name."""
    args = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--end-of-options", old, new)
    names = project.git(*args).stdout.split(b"\0")
    return frozenset(name.decode("utf-8", "surrogateescape") for name in names if name)


def overlap(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Paths that both sides changed; a file on one side may be a folder on the other."""
    folders = frozenset[str]().union(*map(_parents, other))
    return (one & other) | (one & folders) | {path for path in one if _parents(path) & other}


def _parents(path: str) -> frozenset[str]:
    parts = path.split("/")
    return frozenset("/".join(parts[:n]) for n in range(1, len(parts)))


@dataclass(frozen=True, slots=True)
class RebaseOutcome:
    """The last rebased commit, and the conflicts that stopped the rebase."""

    commit: str
    conflicts: tuple[str, ...] = ()


def replay(project: Project, onto: str, base: str, tip: str, committer: Author) -> RebaseOutcome:
    """Rebase the commits from `base` to `tip` onto `onto`, with their messages and authors."""
    commits = project.git("rev-list", "--reverse", "--topo-order", "--no-merges", tip, f"^{base}", f"^{onto}")
    head = onto
    for sha in commits.stdout.decode().split():
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
        old_tree, head_tree = read_commit(project, commit.parents[0]).tree, read_commit(project, head).tree
        outcome = merge_trees(project, old_tree, head_tree, commit.tree)
        if outcome.conflicts:
            return RebaseOutcome(head, outcome.conflicts)
        if outcome.tree != head_tree:
            head = _copy_commit(project, sha, outcome.tree, head, committer)
    return RebaseOutcome(head)


def _copy_commit(project: Project, sha: str, tree: str, parent: str, committer: Author) -> str:
    """Write the commit again with another parent and tree; message, author and date stay."""
    fresh = project.git("cat-file", "commit", write_commit(project, tree, (parent,), "x", committer)).stdout
    mark = next(line for line in fresh.split(b"\n") if line.startswith(b"committer "))
    old = project.git("cat-file", "commit", sha).stdout
    head, _, message = old.partition(b"\n\n")
    author = next(line for line in head.split(b"\n") if line.startswith(b"author "))
    coding = [line for line in head.split(b"\n") if line.startswith(b"encoding ")]
    lines = [b"tree " + tree.encode(), b"parent " + parent.encode(), author, mark, *coding]
    text = b"\n".join(lines) + b"\n\n" + message
    return project.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text).stdout.decode().strip()

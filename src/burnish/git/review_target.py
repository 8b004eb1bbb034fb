"""Chooses the two commits that a review without a task compares."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from burnish.core.change import Change
from burnish.core.commit import Base, Commit
from burnish.errors import BadInput, BurnishError
from burnish.git import diff
from burnish.git.base import resolve_base
from burnish.git.file_content import complete
from burnish.git.objects import read_commit, read_objects, write_commit, write_tree
from burnish.git.project import Project
from burnish.git.true_objects import check_objects
from burnish.git.working_tree import UserTree, checkout_tree, index_tree

# usual names of the main branch
USUAL = ("origin/main", "origin/master", "main", "master")
_HASH = re.compile(r"[0-9a-f]{4,64}")
_RANGE = re.compile(r"(.*?)(\.{2,3})(?!\.)(.*)", re.S)


@dataclass(frozen=True, slots=True)
class ReviewTarget:
    """The requested target of a review. `kind`: auto, dirty, staged, rev (also a range)."""

    kind: str = "auto"
    rev: str = ""
    base: str | None = None


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Two commits and their descriptions. Uncommitted work is a commit in burnish's own store."""

    old: Commit
    new: Commit
    what: str
    against: str
    # the tree of uncommitted work, and what was left out of it
    taken: UserTree | None = None
    # a hint about a choice that the user may not expect
    note: str = ""
    # `new` is the user's checkout, index or HEAD
    checked_out: bool = False
    # new files and folders that were left out of the tree because of their names; submodules with uncommitted content
    left_out: tuple[str, ...] = ()


def choose(project: Project, target: ReviewTarget) -> CommitRange:
    """The commits to compare; writes only to the project's own store."""
    match target.kind:
        case "dirty":
            head = _head(project)
            user_tree = checkout_tree(project, head.sha if head else None)
            return _uncommitted(project, "the working tree", user_tree, target.base)
        case "staged":
            head = _head(project)
            user_tree = index_tree(project, head.sha if head else None)
            return _uncommitted(project, "what is staged", user_tree, target.base)
        case "rev" if ".." in target.rev:
            return _range(project, target.rev)
        case "rev":
            return _revision(project, target.rev, target.base)
    return _default_range(project, target.base)


def changes(project: Project, pair: CommitRange) -> Change:
    """What differs; refused if an object of it does not have the content that its name states."""
    check_objects(project, [pair.new.sha], pair.old.sha, (pair.old.tree, pair.new.tree))
    output = project.git(*diff.ARGS, "--end-of-options", pair.old.tree, pair.new.tree).stdout
    return complete(project, diff.parse(output, pair.old.tree, pair.new.tree))


def messages(project: Project, pair: CommitRange) -> str:
    """Messages of the newest 20 commits in the range, up to 5,000 characters."""
    args = ("log", "--format=%h %B", "--max-count=20", f"{pair.old.sha}..{pair.new.sha}")
    text = project.git(*args, ok=(0, 128)).stdout.decode("utf-8", "replace").strip()
    return text[:5000]


def _default_range(project: Project, base: str | None) -> CommitRange:
    """Uncommitted work if there is any, else the branch, else the last commit."""
    head = _head(project)
    user_tree = checkout_tree(project, head.sha if head else None)
    if head is None or user_tree.tree != head.tree or user_tree.submodules:
        return _uncommitted(project, "the working tree", user_tree, base)
    if user_tree.staged:
        return _uncommitted(project, "what is staged", index_tree(project, head.sha), base)
    found = _base_of_branch(project, head, base)
    if found is None:
        note = "There are no uncommitted changes, and no branch to compare with."
        # what was left out of the working tree is named here, too
        return replace(_revision(project, "HEAD", None, note=note), taken=user_tree)
    name, start = found
    branch = _branch_name(project, "HEAD") or f"HEAD ({_short(head)})"
    count = _commits_between(project, start.sha, head.sha)
    commits = f"{count} commit{'s' * (count != 1)}"
    return CommitRange(
        start,
        head,
        f"branch {branch}, {commits}",
        _start_text(name, start),
        user_tree,
        checked_out=True,
    )


def _uncommitted(project: Project, what: str, user_tree: UserTree, base: str | None) -> CommitRange:
    head = _head(project)
    old, against = head, f"HEAD, {_title(head)}" if head else "the empty tree: there is no commit yet"
    if base is not None:
        start, name = _start(project, base, head)
        old, against = start, _start_text(name, start)
    old = old or _empty_commit(project)
    message = f"{what[0].upper()}{what[1:]}\n"
    parents = ((head or old).sha,)
    sha = write_commit(project, user_tree.tree, parents, message)
    new = Commit(sha, user_tree.tree, parents, message)
    left_out = (*user_tree.secrets, *user_tree.nested, *user_tree.installed, *user_tree.submodules)
    return CommitRange(old, new, what, against, user_tree, checked_out=True, left_out=left_out)


def _revision(project: Project, rev: str, base: str | None, *, note: str = "") -> CommitRange:
    commit = _resolve(project, rev)
    own = _is_head(project, commit)
    if base is not None:
        start, name = _start(project, base, commit)
        return CommitRange(start, commit, f"{rev}, {_title(commit)}", _start_text(name, start), checked_out=own)
    is_sha = len(rev) >= 7 and commit.sha.startswith(rev)
    what = f"commit {_title(commit)}" if rev == "HEAD" or is_sha else f"{rev}, {_title(commit)}"
    if not commit.parents:
        first = "the empty tree: it is the first commit"
        return CommitRange(_empty_commit(project), commit, what, first, note=note, checked_out=own)
    if read_objects(project, [commit.parents[0]])[0] is None:
        raise BurnishError(
            f"The parent of {_short(commit)} is not in this repository: it is a shallow or partial clone.",
            hint="Fetch more of its history (`git fetch --deepen=1`), or name two revisions that are here: A..B.",
        )
    parent = read_commit(project, commit.parents[0])
    which = "its first parent" if len(commit.parents) > 1 else "its parent"
    note = note or _whole_branch(project, rev, commit)
    return CommitRange(parent, commit, what, f"{which}, {_title(parent)}", note=note, checked_out=own)


def _whole_branch(project: Project, rev: str, commit: Commit) -> str:
    """A note that a branch name means only its last commit; "" where that is the whole branch."""
    base = resolve_base(project, rev)
    found = _base_of_branch(project, commit, None, branch=rev) if base.target else None
    if found is None or found[1].sha in commit.parents:
        return ""
    return f"This is the last commit of {rev}. For the whole branch: burnish review {found[0]}...{rev}"


def _range(project: Project, text: str) -> CommitRange:
    match = _RANGE.fullmatch(text)
    old, dots, new = match.groups() if match else ("", "", "")
    if not (old or new):
        raise BadInput(
            f"{text!r} is not a range.", hint="Use A..B, or A...B for the changes of B since its merge base."
        )
    one, other = _resolve(project, old or "HEAD"), _resolve(project, new or "HEAD")
    what, own = f"{new or 'HEAD'}, {_title(other)}", _is_head(project, other)
    if dots == "...":
        start, name = _start(project, old or "HEAD", other)
        return CommitRange(start, other, what, _start_text(name, start), checked_out=own)
    return CommitRange(one, other, what, f"{old or 'HEAD'}, {_title(one)}", checked_out=own)


def _start(project: Project, base: str, commit: Commit | None) -> tuple[Commit, str]:
    """The merge base of `commit` and `base`; base itself where they have no common history."""
    other = _resolve(project, base)
    fork = _merge_base(project, other.sha, commit.sha) if commit else None
    return (read_commit(project, fork), base) if fork else (other, base)


def _base_of_branch(
    project: Project, head: Commit, base: str | None, *, branch: str | None = None
) -> tuple[str, Commit] | None:
    """The nearest merge base with another branch; None if the branch has no commits of its own."""
    if base is not None:
        start, name = _start(project, base, head)
        return None if start.sha == head.sha else (name, start)
    found: list[tuple[int, str, str]] = []
    for name in _candidates(project, branch or _branch_name(project, "HEAD")):
        tip = _try_resolve(project, name)
        fork = _merge_base(project, tip.commit, head.sha) if tip else None
        if fork == head.sha:
            return None  # that branch contains it
        if fork:
            found.append((_commits_between(project, fork, head.sha), name, fork))
    if not found:
        return None
    _, name, start_sha = min(found, key=lambda entry: entry[0])
    return name, read_commit(project, start_sha)


def _candidates(project: Project, own: str | None) -> list[str]:
    """Branches that `own` may start from; a default branch is compared with its pushed state only."""
    default = _branch_name(project, "refs/remotes/origin/HEAD")
    names = [default, *USUAL] if default else [*USUAL]
    if own in names or f"origin/{own}" in names:
        return [f"origin/{own}"]
    return list(dict.fromkeys(names))


def _head(project: Project) -> Commit | None:
    found = _try_resolve(project, "HEAD")
    return read_commit(project, found.commit) if found else None


def _is_head(project: Project, commit: Commit) -> bool:
    head = _try_resolve(project, "HEAD")
    return head is not None and head.commit == commit.sha


def _try_resolve(project: Project, name: str) -> Base | None:
    try:
        return resolve_base(project, name)
    except BadInput:
        return None


def _resolve(project: Project, rev: str) -> Commit:
    if rev == "HEAD" and _try_resolve(project, rev) is None:
        raise BadInput(
            f"{project.root} has no commits yet.", hint="`burnish review --dirty` reviews the files that are there."
        )
    commit = resolve_base(project, rev).commit
    if _HASH.fullmatch(rev) and not commit.startswith(rev):
        # git takes the name of a branch or a tag first
        others = project.git("rev-parse", f"--disambiguate={rev}").stdout.decode().split()
        if others:
            raise BadInput(
                f"{rev} is the name of a branch or tag, and the hash of another object begins with it.",
                hint=f"Name refs/heads/{rev} or refs/tags/{rev}, or the whole hash: {others[0]}",
            )
    return read_commit(project, commit)


def _empty_commit(project: Project) -> Commit:
    """Write a commit without files to burnish's own store."""
    tree = write_tree(project, {})
    message = "Nothing\n"
    return Commit(write_commit(project, tree, (), message), tree, (), message)


def _merge_base(project: Project, one: str, other: str) -> str | None:
    found = project.git("merge-base", one, other, ok=(0, 1)).stdout.decode().split("\n")[0] or None
    if found:
        check_objects(project, [one, other], found)
    return found


def _branch_name(project: Project, ref: str) -> str | None:
    """The short name of the branch that HEAD or origin/HEAD points to."""
    result = project.user_git("symbolic-ref", "--quiet", "--short", ref, here=True, ok=(0, 1, 128))
    return result.stdout.decode("utf-8", "surrogateescape").strip() or None


def _commits_between(project: Project, old: str, new: str) -> int:
    return int(project.git("rev-list", "--count", f"{old}..{new}").stdout)


def _short(commit: Commit) -> str:
    return commit.sha[:10]


def _title(commit: Commit) -> str:
    first = commit.message.strip().split("\n")[0]
    return f"{_short(commit)} {first[:60]}".strip()


def _start_text(name: str, start: Commit) -> str:
    return f"{name} at {_title(start)}"

"""Which two trees a review without a task compares: as asked for, or the sensible thing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from burnish.core.change import Change
from burnish.core.commit import Base, Commit
from burnish.errors import BadInput, BurnishError
from burnish.git import diff
from burnish.git.base import resolve_base
from burnish.git.file_content import complete
from burnish.git.objects import read_commit, read_objects, write_commit, write_tree
from burnish.git.project import Project
from burnish.git.working_tree import UserTree, checkout_tree, index_tree

# Where branches usually come from and go to.
USUAL = ("origin/main", "origin/master", "main", "master")
_RANGE = re.compile(r"(.*?)(\.{2,3})(?!\.)(.*)", re.S)


@dataclass(frozen=True, slots=True)
class ReviewTarget:
    """What somebody asked to have reviewed. `kind`: auto, dirty, staged, rev (also a range)."""

    kind: str = "auto"
    rev: str = ""
    base: str | None = None


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Two commits, and how to speak of them. What is not committed has one in a store of our own."""

    old: Commit
    new: Commit
    what: str
    against: str
    # what was made a tree of, if it is not a commit, and what was left out of that
    taken: UserTree | None = None
    # something the person may not expect
    note: str = ""
    # `new` is what lies in the user's checkout, or was staged or committed there
    checked_out: bool = False
    # new files and folders that belong to what is compared, and that no tree has because of their names
    left_out: tuple[str, ...] = ()


def choose(project: Project, wish: ReviewTarget) -> CommitRange:
    """Reads the repository, writes only to the project's own store."""
    match wish.kind:
        case "dirty":
            head = _head(project)
            taken = checkout_tree(project, head.sha if head else None)
            return _uncommitted(project, "the working tree", taken, wish.base)
        case "staged":
            return _uncommitted(project, "what is staged", index_tree(project), wish.base)
        case "rev" if ".." in wish.rev:
            return _range(project, wish.rev)
        case "rev":
            return _revision(project, wish.rev, wish.base)
    return _sensible(project, wish.base)


def changes(project: Project, pair: CommitRange) -> Change:
    output = project.git(*diff.ARGS, "--end-of-options", pair.old.tree, pair.new.tree).stdout
    return complete(project, diff.parse(output, pair.old.tree, pair.new.tree))


def messages(project: Project, pair: CommitRange) -> str:
    """What the authors say of the commits in between, newest first; a few."""
    args = ("log", "--format=%h %B", "--max-count=20", f"{pair.old.sha}..{pair.new.sha}")
    said = project.git(*args, ok=(0, 128)).stdout.decode("utf-8", "replace").strip()
    return said[:5000]


def _sensible(project: Project, base: str | None) -> CommitRange:
    """Uncommitted work if there is any, else the branch, else the last commit."""
    head = _head(project)
    taken = checkout_tree(project, head.sha if head else None)
    if head is None or taken.tree != head.tree:
        return _uncommitted(project, "the working tree", taken, base)
    if taken.staged:
        return _uncommitted(project, "what is staged", index_tree(project), base)
    found = _base_of_branch(project, head, base)
    if found is None:
        return _revision(project, "HEAD", None, note="There is nothing uncommitted, and no branch to compare with.")
    name, start = found
    branch = _branch_name(project, "HEAD") or f"HEAD ({_short(head)})"
    count = _commits_between(project, start.sha, head.sha)
    commits = f"{count} commit{'s' * (count != 1)}"
    return CommitRange(
        start,
        head,
        f"branch {branch}, {commits}",
        _left(name, start),
        taken,
        checked_out=True,
    )


def _uncommitted(project: Project, what: str, taken: UserTree, base: str | None) -> CommitRange:
    head = _head(project)
    old, against = head, f"HEAD, {_title(head)}" if head else "nothing: there is no commit yet"
    if base is not None:
        start, name = _start(project, base, head)
        old, against = start, _left(name, start)
    old = old or _nothing(project)
    message = f"{what[0].upper()}{what[1:]}\n"
    parents = ((head or old).sha,)
    sha = write_commit(project, taken.tree, parents, message)
    new = Commit(sha, taken.tree, parents, message)
    left_out = (*taken.secrets, *taken.nested, *taken.installed)
    return CommitRange(old, new, what, against, taken, checked_out=True, left_out=left_out)


def _revision(project: Project, rev: str, base: str | None, *, note: str = "") -> CommitRange:
    commit = _resolve(project, rev)
    own = _is_head(project, commit)
    if base is not None:
        start, name = _start(project, base, commit)
        return CommitRange(start, commit, f"{rev}, {_title(commit)}", _left(name, start), checked_out=own)
    is_sha = len(rev) >= 7 and commit.sha.startswith(rev)
    what = f"commit {_title(commit)}" if rev == "HEAD" or is_sha else f"{rev}, {_title(commit)}"
    if not commit.parents:
        first = "nothing: it is the first commit"
        return CommitRange(_nothing(project), commit, what, first, note=note, checked_out=own)
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
    """A branch's name as a revision is its last commit: said, since many would expect the whole."""
    base = resolve_base(project, rev)
    found = _base_of_branch(project, commit, None, branch=rev) if base.target else None
    if found is None or found[1].sha in commit.parents:
        return ""
    return f"This is the last commit of {rev}. For the whole branch: burnish review {found[0]}...{rev}"


def _range(project: Project, text: str) -> CommitRange:
    match = _RANGE.fullmatch(text)
    left, dots, right = match.groups() if match else ("", "", "")
    if not (left or right):
        raise BadInput(f"{text!r} is not a range.", hint="Write A..B, or A...B for what B did since it left A.")
    one, other = _resolve(project, left or "HEAD"), _resolve(project, right or "HEAD")
    what, own = f"{right or 'HEAD'}, {_title(other)}", _is_head(project, other)
    if dots == "...":
        start, name = _start(project, left or "HEAD", other)
        return CommitRange(start, other, what, _left(name, start), checked_out=own)
    return CommitRange(one, other, what, f"{left or 'HEAD'}, {_title(one)}", checked_out=own)


def _start(project: Project, base: str, commit: Commit | None) -> tuple[Commit, str]:
    """Where `commit` left `base`; base itself where they have nothing in common."""
    other = _resolve(project, base)
    shared = _merge_base(project, other.sha, commit.sha) if commit else None
    return (read_commit(project, shared), base) if shared else (other, base)


def _base_of_branch(
    project: Project, head: Commit, base: str | None, *, branch: str | None = None
) -> tuple[str, Commit] | None:
    """The nearest place where the branch left another; None if it has nothing of its own."""
    if base is not None:
        start, name = _start(project, base, head)
        return None if start.sha == head.sha else (name, start)
    found: list[tuple[int, str, str]] = []
    for name in _candidates(project, branch or _branch_name(project, "HEAD")):
        tip = _known(project, name)
        shared = _merge_base(project, tip.commit, head.sha) if tip else None
        if shared == head.sha:
            return None  # it is part of that branch already
        if shared:
            found.append((_commits_between(project, shared, head.sha), name, shared))
    if not found:
        return None
    _, name, start_sha = min(found, key=lambda entry: entry[0])
    return name, read_commit(project, start_sha)


def _candidates(project: Project, own: str | None) -> list[str]:
    """The branches that `own` may have left; a default branch leaves only what was pushed of it."""
    default = _branch_name(project, "refs/remotes/origin/HEAD")
    names = [default, *USUAL] if default else [*USUAL]
    if own in names or f"origin/{own}" in names:
        return [f"origin/{own}"]
    return list(dict.fromkeys(names))


def _head(project: Project) -> Commit | None:
    found = _known(project, "HEAD")
    return read_commit(project, found.commit) if found else None


def _is_head(project: Project, commit: Commit) -> bool:
    head = _known(project, "HEAD")
    return head is not None and head.commit == commit.sha


def _known(project: Project, name: str) -> Base | None:
    try:
        return resolve_base(project, name)
    except BadInput:
        return None


def _resolve(project: Project, rev: str) -> Commit:
    if rev == "HEAD" and _known(project, rev) is None:
        raise BadInput(
            f"{project.root} has no commits yet.", hint="`burnish review --dirty` reviews the files that are there."
        )
    return read_commit(project, resolve_base(project, rev).commit)


def _nothing(project: Project) -> Commit:
    """A commit without files, in the store of our own."""
    tree = write_tree(project, {})
    message = "Nothing\n"
    return Commit(write_commit(project, tree, (), message), tree, (), message)


def _merge_base(project: Project, one: str, other: str) -> str | None:
    return project.git("merge-base", one, other, ok=(0, 1)).stdout.decode().split("\n")[0] or None


def _branch_name(project: Project, ref: str) -> str | None:
    """What HEAD or origin/HEAD points to, in the short form people use."""
    done = project.user_git("symbolic-ref", "--quiet", "--short", ref, here=True, ok=(0, 1, 128))
    return done.stdout.decode("utf-8", "surrogateescape").strip() or None


def _commits_between(project: Project, old: str, new: str) -> int:
    return int(project.git("rev-list", "--count", f"{old}..{new}").stdout)


def _short(commit: Commit) -> str:
    return commit.sha[:10]


def _title(commit: Commit) -> str:
    first = commit.message.strip().split("\n")[0]
    return f"{_short(commit)} {first[:60]}".strip()


def _left(name: str, start: Commit) -> str:
    return f"{name} at {_title(start)}"

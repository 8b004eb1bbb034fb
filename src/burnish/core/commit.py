"""Where a task's branch starts, and the commits on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Base:
    """The commit a task starts from; `target` is the branch it will be merged to, None when detached."""

    commit: str
    tree: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...] = ()
    message: str = ""
    trailers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """A place that two sides changed in different ways."""

    path: str
    # git's name of it, e.g. `contents` or `modify/delete`
    kind: str = ""
    # git's sentence about it
    message: str = ""

    @property
    def is_submodule(self) -> bool:
        return self.kind.startswith("submodule")


@dataclass(frozen=True, slots=True)
class TargetMerge:
    """A commit of the target merged into a task's branch, as a tree that no ref names yet."""

    target: str
    # without the files that burnish wrote on branches; files with a conflict hold conflict markers
    tree: str
    conflicts: tuple[MergeConflict, ...] = ()
    # where the task's change begins after the merge
    base: str = ""
    # the branch has that commit already
    is_contained: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths with conflicts."""
        return tuple(dict.fromkeys(conflict.path for conflict in self.conflicts))

    @property
    def submodules(self) -> tuple[str, ...]:
        """Those in which no agent can resolve the conflict: a workspace has no repositories of submodules."""
        return tuple(conflict.path for conflict in self.conflicts if conflict.is_submodule)


@dataclass(frozen=True, slots=True)
class TargetConflict:
    """That a task's branch cannot be merged into its target without conflicts in these paths."""

    target: str
    paths: tuple[str, ...]
    # one of them is a submodule: no agent can resolve it
    needs_person: bool = False

    @property
    def words(self) -> str:
        """`conflicts with main in work.txt`"""
        more = f" and {len(self.paths) - 3} more" if len(self.paths) > 3 else ""
        what = "a submodule: " if self.needs_person else ""
        return f"conflicts with {self.target} in {what}{', '.join(self.paths[:3])}{more}"

    def command(self, task_id: int | str) -> str:
        """What a person types; after a merge by hand, the branch is judged as it is then."""
        return f"burnish run {task_id}" if self.needs_person else f"burnish rebase {task_id}"

    def remedy(self, branch: str) -> str:
        """What a person does before that; "" where an agent does it."""
        return f"merge {self.target} into {branch} by hand, then run it" if self.needs_person else ""


@dataclass(frozen=True, slots=True)
class TargetCommit:
    """A commit of the target branch, for a prompt."""

    sha: str
    message: str


def left_out_words(names: Sequence[str]) -> str:
    """A message that lists the files left out of a commit because of their names, and what to do."""
    listing = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else "")
    whose, it = ("its name", "it") if len(names) == 1 else ("their names", "them")
    return (
        f"Left out because of {whose}: {listing}. "
        f"Rename {it} or commit {it} on the branch by hand to have {it} in the change, else add {it} to .gitignore."
    )


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One path of a tree to replace: by a blob of git, by content of its own, or by nothing if it has no mode."""

    path: str
    mode: str = ""
    blob: str = ""
    content: bytes | None = None

"""What the engine needs of git: a task's files and commits, the reviewer's copy, the branches of a project."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from burnish.core.change import Change
from burnish.core.commit import Base, Commit, TargetCommit, TargetMerge, TreeEntry
from burnish.core.task import Task


class TaskWorkspace(Protocol):
    """One task's files and branch."""

    @property
    def path(self) -> Path: ...
    @property
    def moved_to(self) -> Path | None:
        """The new path of a directory that was in its place and that burnish had not made."""

    def exists(self) -> bool: ...
    def is_own(self) -> bool:
        """Whether burnish created the directory; a restored copy does not count."""

    def head(self) -> Commit | None:
        """The newest commit with work in it; its tree is without the files that burnish wrote on the branch."""

    def tip(self) -> str | None:
        """Its sha alone: no process is started for it."""

    def plain(self, commit: str) -> str:
        """The same commit without what burnish itself wrote on the branch."""

    def checked_out_commit(self) -> str | None:
        """The commit its files were last put right to, or that was made from them."""

    def create(self, base: Base) -> None: ...
    def reset_to(self, commit: str, *, base: Base) -> None: ...
    def collect_agent_git(self, label: str) -> str | None: ...
    def rescue(self, label: str, *, attempt: int | None = None) -> str | None: ...
    def rescued(self, ref: str) -> Commit | None:
        """The commit of a rescue ref; None where it is gone."""

    def restore_files(self, commit: Commit) -> None:
        """The files as a rescued commit has them, uncommitted."""

    def brief(self, files: Mapping[str, str], refs: Sequence[str] = ()) -> None:
        """Texts for the agent in `.git/burnish`, and refs that it may look at."""

    def commit(
        self,
        message: str,
        trailers: Mapping[str, str],
        *,
        author: tuple[str, str],
        expect: str,
        merge: TargetMerge | None = None,
    ) -> Commit | None:
        """`merge`: the files began as this merge; refused while one of them has conflict markers."""

    def commit_files(
        self,
        files: Mapping[str, bytes],
        message: str,
        trailers: Mapping[str, str],
        *,
        author: tuple[str, str],
        expect: str,
    ) -> Commit | None:
        """New content of tracked files, committed without the directory; None if nothing changes."""

    def merge_target(self, base: str, target: str, *, head: str = "") -> TargetMerge:
        """The merge of a commit of the target into the branch (or `head`), whose change begins at `base`."""

    def lay_merge(self, merge: TargetMerge) -> None:
        """The files of the merge, with conflict markers, uncommitted."""

    def commit_merge(
        self, merge: TargetMerge, message: str, trailers: Mapping[str, str], *, author: tuple[str, str], expect: str
    ) -> Commit: ...
    def target_commits(self, head: str, target: str, paths: Sequence[str]) -> list[TargetCommit]:
        """The commits of the target that `head` does not have and that change these paths, newest first."""

    def keep_tip(self, label: str) -> str:
        """Keep the newest commit of the branch under a rescue ref, and return that."""

    def keep_target(self, sha: str) -> None:
        """Keep a commit of the target under a ref until it is merged."""

    def forget_target(self) -> None:
        """Remove that ref: the task ends, or begins again, without the merge."""

    def changes(self, old: str, new: str) -> Change: ...
    def with_entries(self, commit: str, entries: Sequence[TreeEntry]) -> Commit:
        """The plain commit with these paths of its tree replaced or removed; no ref names it."""

    def files(self, commit: str) -> Sequence[str]: ...
    def read(self, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]: ...
    def read_blobs(self, blobs: Sequence[str]) -> dict[str, bytes | None]:
        """Content by git's name of it, as a `ChangedFile` has it."""

    def remove_junk(self) -> list[str]: ...


class ReviewSnapshot(Protocol):
    @property
    def path(self) -> Path: ...
    def breaches(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class SetAside:
    """Where what a task had is kept: its branch, its unsaved work, and the files that never come into git."""

    branch: str | None = None
    rescue: str | None = None
    withheld: Path | None = None
    names: tuple[str, ...] = ()
    # the directory of the workspace, if burnish had not made it
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class LostBranch:
    """A task's branch that does not lead to a commit that can be read."""

    description: str
    # with `git branch -D`; False if the branch is damaged
    is_deleted: bool


class Repository(Protocol):
    """The user's repository, seen through git calls that run nothing of it."""

    def workspace(self, task: Task) -> TaskWorkspace: ...
    def base(self, ref: str | None, depends_on: Sequence[str]) -> Base | None:
        """Where a task starts; None when its dependencies do not merge cleanly."""

    def fork(self, commit: str, ref: str | None) -> Base | None:
        """Where the commit's history left that of `ref` (or of the user's HEAD)."""

    def base_of(self, task: Task) -> Base: ...
    def base_now(self, task: Task, head: str) -> Base:
        """Where the change of `head` begins: at the recorded base, or where the branch took its target in by hand."""

    def snapshot(
        self, workspace: TaskWorkspace, task: Task, commit: str, base: Base, brief: Mapping[str, str] | None = None
    ) -> AbstractContextManager[ReviewSnapshot]: ...
    def throwaway(self, commit: str, label: str) -> AbstractContextManager[Path]: ...
    def remove_review_tree(self, task: Task) -> None:
        """The next review or check writes all of its files again."""

    def leave_review_tree(self, task: Task) -> None:
        """Keep the clean tree of a task that ended, for another task of this run."""

    def take_review_tree(self, task: Task) -> None:
        """Give the task a clean tree that was left, so that only files that differ have to be written."""

    def remove_spare_trees(self, *, keep_one: bool = False) -> None:
        """The trees that were left and not taken. `keep_one`: one of a large repository stays for later runs."""

    def release_workspace(self, task: Task, *, leave_files: bool = False) -> bool:
        """Remove the files of the task, if the repository is large and git has all of them; True if it did.

        `leave_files`: the next workspace begins with them.
        """

    def remove_trees(self, task: Task) -> None:
        """All copies of the task's files beside the workspace, also those that a killed run left."""

    def bring(self, files: Path) -> None:
        """The user's own ignored files that tests need (`workspace.copy`)."""

    def keep_artifacts(self, task: Task, files: Mapping[str, bytes], message: str) -> str | None:
        """Commit them where the settings say; returns a note if they could not be, or if the old ones were damaged."""

    def set_aside(self, task: Task) -> SetAside:
        """Keep the branch's tip, and whatever lies in the workspace, and let both go."""

    def rescue(self, task: Task, label: str) -> str | None: ...
    def lost_branch(self, task: Task) -> LostBranch | None:
        """What is wrong with the task's branch; None where it leads to a commit that can be read."""

    def is_whole(self, task: Task, commit: str) -> bool:
        """Can everything be read that came with the commit since the task's base?"""

    def put_branch(self, task: Task, commit: str) -> None:
        """Have the branch at that commit, whatever is left of it."""

    def restore_objects(self, task: Task) -> bool:
        """Write missing objects of the newest commit again, from the files of the workspace; True: it is whole."""

    def write_again(self, task: Task, commit: str, tree: str, onto: str) -> str | None:
        """A new commit for one that cannot be read, if the workspace still has exactly its files."""

    def kept_refs(self, task: Task) -> list[str]:
        """Refs that hold rescued work and artifacts of the task, and can be read."""

    def left_out(self, workspace: TaskWorkspace, *, is_compared: bool = False) -> list[str]:
        """Files in it that never come into git because of their names (`.env`, keys).

        `is_compared`: nothing could write to it since its files were compared, for `commit` or `is_dirty`.
        """

    def check_movable(self, branch: str) -> None:
        """Refuse where a checkout of the user's holds the branch: what an agent does could not be committed."""

    def watch(self, commit: str) -> Callable[[], list[str]]:
        """Looks at the user's own checkout; called later, the answer names what is different there."""

    def author(self) -> tuple[str, str]: ...
    def context_files(self, workspace: TaskWorkspace, base: Base) -> tuple[tuple[str, str], ...]:
        """AGENTS.md and its like, from the base, never from the change."""

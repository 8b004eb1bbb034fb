"""The git operations of one project, with folders in the burnish home."""

from __future__ import annotations

import os
import secrets as random_numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from burnish.adapters.checks.trees import copy_ignored_files
from burnish.adapters.redaction import secrets_from_environment
from burnish.agents.registry import PROJECT_CODE, PROJECT_FILES
from burnish.core.commit import Base
from burnish.core.secrets import Secrets
from burnish.core.status import Status
from burnish.core.task import Task, TaskType
from burnish.engine import ports_git
from burnish.errors import Refused
from burnish.git.artifacts import commit_artifacts, confirm_events, remove_if_damaged
from burnish.git.base import identity, is_ancestor, merged_base, resolve_base
from burnish.git.checkout import TaskTree, throwaway
from burnish.git.checkout_watch import changed_checkouts, read_checkouts
from burnish.git.files import count_files, remove_tree
from burnish.git.integrity import (
    BranchDamage,
    BrokenRef,
    Damage,
    find_damage,
    is_whole,
    move_torn_objects_aside,
    remove_broken_ref,
)
from burnish.git.merge import merge_base
from burnish.git.objects import list_files, read_files, with_trailers
from burnish.git.owned_files import PHASE, commit_owned_files, plain_tree
from burnish.git.project import Project
from burnish.git.refs import delete_ref, read_ref, refuse_if_checked_out, update_ref
from burnish.git.repair import restore_objects, write_again
from burnish.git.repository_id import restore_id
from burnish.git.rescue import keep, kept_refs
from burnish.git.shared_blocks import is_plain
from burnish.git.snapshot import SnapshotFolder, snapshot
from burnish.git.staging import MAX_BYTES
from burnish.git.workspace import GitWorkspace
from burnish.git.workspace_removal import RescuedWork, remove_workspace
from burnish.proc.identity import boot_id

CONTEXT_FILES = ("AGENTS.md", "CLAUDE.md", "REVIEW.md")
CONTEXT_FOLDER = ".burnish/context/"
# Suffixes of the temporary trees of a run; that of a merge may belong to another process.
RUN_LABELS = ("baseline", "check", "lint-fix", "setup")
# A clean tree with more files than this stays when a run ends: writing it again takes longer than all else.
LARGE = 10_000
KEPT_TREE = ".kept-"
KEPT_FILES = f"{KEPT_TREE}files-"
SPARE_TREE = "spare"


def as_lost_branch(damage: BranchDamage | None) -> ports_git.LostBranch | None:
    """A description of the damage to a branch; None if there is none."""
    if damage is None:
        return None
    description = {Damage.DELETED: "is gone", Damage.TORN: "is damaged", Damage.UNREADABLE: "is damaged"}[damage.damage]
    return ports_git.LostBranch(description, damage.damage is Damage.DELETED)


@dataclass
class GitRepository:
    project: Project
    home: Path
    key: str
    artifacts: str = "ref"
    # The user's ignored files that tests need.
    copies: tuple[str, ...] = ()
    secrets: Secrets = field(default_factory=secrets_from_environment)
    max_file_bytes: int = MAX_BYTES
    # the remote that has what other machines did; "" if this one works alone
    remote: str = ""
    # A verified task with more files than this keeps no copy of them; 0: it always does.
    release_over_files: int = 0
    # clean trees of tasks that ended in this run, for its next tasks
    _spare_trees: list[TaskTree] = field(default_factory=list)
    # the same of workspaces
    _spare_files: list[TaskTree] = field(default_factory=list)
    _files: dict[str, Sequence[str]] = field(default_factory=dict)
    _context: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    @cached_property
    def who(self) -> tuple[str, str]:
        return identity(self.project)

    def author(self) -> tuple[str, str]:
        return self.who

    def workspace(self, task: Task) -> GitWorkspace:
        return GitWorkspace(
            self.project,
            self.path(task),
            task.name,
            branch=task.branch,
            author=self.who,
            secrets=self.secrets,
            max_file_bytes=self.max_file_bytes,
            clean_tree=self._review_tree(task),
            take_files=lambda: self._take_files(task),
        )

    def path(self, task: Task) -> Path:
        return self.home / "workspaces" / self.key / task.name

    def base(self, ref: str | None, depends_on: Sequence[str]) -> Base | None:
        base = self._newest(resolve_base(self.project, ref))
        tips = [c for c in dict.fromkeys(depends_on) if not is_ancestor(self.project, c, base.commit)]
        if not tips:
            return base
        start = merged_base(self.project, tips)
        return Base(start.commit, start.tree, base.target) if start else None

    def _newest(self, base: Base) -> Base:
        """The branch as the remote has it, if that is ahead: the checkout of a worker is not pulled."""
        tip = (
            read_ref(self.project, f"refs/remotes/{self.remote}/{base.target}") if self.remote and base.target else None
        )
        if tip in (None, base.commit) or not is_ancestor(self.project, base.commit, str(tip)):
            return base
        newer = resolve_base(self.project, tip)
        return Base(newer.commit, newer.tree, base.target)

    def fork(self, commit: str, ref: str | None) -> Base | None:
        other = resolve_base(self.project, ref)
        common_commit = merge_base(self.project, commit, other.commit)
        if common_commit is None:
            return None
        common_base = resolve_base(self.project, common_commit)
        return Base(common_base.commit, common_base.tree, other.target)

    def base_of(self, task: Task) -> Base:
        base = resolve_base(self.project, task.base)
        return Base(base.commit, plain_tree(self.project, base.tree), task.target)

    def base_now(self, task: Task, head: str) -> Base:
        base = self.base_of(task)
        target = read_ref(self.project, f"refs/heads/{task.target}") if task.target and head != task.commit else None
        common_commit = merge_base(self.project, head, target) if target else None
        # A head that the target contains completely keeps its own base.
        if common_commit in (None, head, base.commit) or not is_ancestor(self.project, base.commit, common_commit):
            return base
        new = resolve_base(self.project, common_commit)
        return Base(new.commit, plain_tree(self.project, new.tree), task.target)

    def snapshot(
        self,
        workspace: ports_git.TaskWorkspace,
        task: Task,
        commit: str,
        base: Base,
        brief: Mapping[str, str] | None = None,
    ) -> AbstractContextManager[SnapshotFolder]:
        assert isinstance(workspace, GitWorkspace)
        place = self._review_tree(task).path
        return snapshot(
            workspace,
            commit,
            base=base,
            path=place,
            from_base=PROJECT_FILES,
            without=PROJECT_CODE,
            brief=brief,
        )

    def _review_tree(self, task: Task) -> TaskTree:
        return TaskTree.of(self.project, task.name, self.home / "snapshots" / self.key / task.name)

    def remove_review_tree(self, task: Task) -> None:
        self._review_tree(task).remove()

    def leave_review_tree(self, task: Task) -> None:
        tree, spare = self._review_tree(task), self._spare_tree(task)
        if tree.index.is_file() and tree.hand_over(spare):
            self._spare_trees.append(spare)

    def take_review_tree(self, task: Task) -> None:
        tree = self._review_tree(task)
        with suppress(IndexError):
            while not os.path.lexists(tree.path):
                self._spare_trees.pop().hand_over(tree)
        if not os.path.lexists(tree.path):
            self._kept_tree.hand_over(tree)

    def _take_files(self, task: Task) -> TaskTree | None:
        """The directory of an earlier task, at a place that only this run knows."""
        with suppress(IndexError):
            return self._spare_files.pop()
        tree = self._spare_tree(task)
        return tree if self._kept_files.hand_over(tree) else None

    def remove_spare_trees(self, *, keep_one: bool = False) -> None:
        for spare_trees, kept_tree in ((self._spare_trees, self._kept_tree), (self._spare_files, self._kept_files)):
            with suppress(IndexError):
                while True:
                    tree = spare_trees.pop()
                    if not (keep_one and count_files(tree.index) > LARGE and tree.hand_over(kept_tree)):
                        tree.remove()

    @property
    def _kept_tree(self) -> TaskTree:
        """The clean tree of a large repository, from which the next run begins."""
        # After a loss of power, files may have lost their content and still look unchanged to git.
        path = self.home / "snapshots" / self.key / f"{KEPT_TREE}{boot_id()}"
        return TaskTree.of(self.project, SPARE_TREE, path)

    @property
    def _kept_files(self) -> TaskTree:
        """The directory of a workspace that was released, for the next task. Checks and reviewers never use it."""
        path = self.home / "snapshots" / self.key / f"{KEPT_FILES}{boot_id()}"
        return TaskTree.of(self.project, SPARE_TREE, path)

    def remove_kept_trees(self, *, of_this_boot: bool = True) -> None:
        for path in (self.home / "snapshots" / self.key).glob(f"{KEPT_TREE}*"):
            tree = TaskTree.of(self.project, SPARE_TREE, path)
            if of_this_boot or tree not in (self._kept_tree, self._kept_files):
                # renamed first: a run may take it meanwhile
                aside = TaskTree.of(self.project, SPARE_TREE, path.with_name(f".gone-{random_numbers.token_hex(4)}"))
                if tree.hand_over(aside):
                    aside.remove()
        self._remove_spare_indexes()

    def _remove_spare_indexes(self) -> None:
        """Remove indexes whose tree is gone: a run was killed between moving the one and the other.

        Another run may be between them now. Without the index, it writes its files again.
        """
        indexes = set((self.project.own / "index").glob(f"{SPARE_TREE}.snapshot-*"))
        places = (self.home / "snapshots" / self.key).glob(".*") if indexes else ()
        for index in indexes - {TaskTree.of(self.project, SPARE_TREE, place).index for place in places}:
            index.unlink(missing_ok=True)

    def release_workspace(self, task: Task, *, leave_files: bool = False) -> bool:
        workspace = self.workspace(task)
        is_large = self.release_over_files and count_files(workspace.index) > self.release_over_files
        if not is_large or not workspace.exists() or {workspace.tip(), workspace.checked_out_commit()} != {task.commit}:
            return False
        if workspace.collect_agent_git("release") or workspace.is_dirty():
            return False  # not all of it is in git
        if self.left_out(workspace, is_compared=True):
            return False
        if leave_files and is_plain(workspace.index):
            spare = self._spare_tree(task)
            workspace.hand_over(spare)
            self._spare_files.append(spare)
        else:
            workspace.remove()
        return True

    def make_workspace(self, task: Task) -> bool:
        """Write the files of a released workspace again; False if the branch has no commit here."""
        workspace = self.workspace(task)
        tip = workspace.tip() if task.base else None
        if tip is None:
            return False
        workspace.reset_to(tip, base=self.base_of(task))
        self.bring(workspace.path)
        return True

    def _spare_tree(self, task: Task) -> TaskTree:
        """A place that begins with the number of a task, by which the next run finds what a killed one left."""
        name = f".{task.name}.spare-{random_numbers.token_hex(4)}"
        # its index has no name of a task: it stays when a workspace is removed
        return TaskTree.of(self.project, SPARE_TREE, self.home / "snapshots" / self.key / name)

    def _remove_spare_trees_of_others(self, task: Task) -> None:
        """Trees of this task that a killed run left. A run that still goes on writes the files again."""
        own_trees = {spare.path for spare in (*self._spare_trees, *self._spare_files)}
        for path in (self.home / "snapshots" / self.key).glob(f".{task.name}.spare-*"):
            place_to_remove = self._spare_tree(task)
            if path not in own_trees and TaskTree.of(self.project, SPARE_TREE, path).hand_over(place_to_remove):
                place_to_remove.remove()

    def remove_trees(self, task: Task) -> None:
        self.remove_review_tree(task)
        self._remove_spare_trees_of_others(task)
        folder = self.home / "throwaway" / self.key
        for label in RUN_LABELS:
            for leftover in (folder / f"{task.name}-{label}", *folder.glob(f".{task.name}-{label}.*")):
                remove_tree(leftover)

    @contextmanager
    def throwaway(self, commit: str, label: str) -> Iterator[Path]:
        with throwaway(self.project, commit, self.home / "throwaway" / self.key / label) as files:
            self.bring(files)
            yield files

    def bring(self, files: Path) -> None:
        """Copy the user's ignored files of `workspace.copy`, with their current content."""
        copy_ignored_files(self.project.root, self.copies, files)

    def keep_artifacts(self, task: Task, files: Mapping[str, bytes], message: str) -> str | None:
        if self.artifacts == "home":
            return None
        if events := files.get("events.jsonl"):
            confirm_events(self.project, task.name, events)
        if self.artifacts == "branch":
            return self._keep_on_branch(task, files, message)
        stored_files = {f"{task.name}/{name}": data for name, data in files.items()}
        ref = f"refs/burnish/artifacts/{task.name}"
        note = remove_if_damaged(self.project, ref)
        commit_artifacts(self.project, ref, stored_files, message=message, author=self.who)
        return note or None

    def _keep_on_branch(self, task: Task, files: Mapping[str, bytes], message: str) -> str | None:
        works = task.spec.type in (TaskType.IMPLEMENT, TaskType.IMPROVE)
        if task.branch is None or (works and task.status is Status.COMPLETED):
            # A new commit would make a merged branch look unmerged.
            return None
        stored_files = {f".burnish/tasks/{task.name}/{name}": data for name, data in files.items()}
        text = with_trailers(message, {"Burnish-Task": str(task.id), "Burnish-Phase": PHASE})
        try:
            commit_owned_files(self.project, f"refs/heads/{task.branch}", stored_files, message=text, author=self.who)
        except Refused as error:
            return f"the artifacts are in the burnish home alone. {error.what}"
        return None

    def set_aside(self, task: Task) -> ports_git.SetAside:
        workspace = self.workspace(task)
        damage = find_damage(self.project, [workspace.ref]).get(workspace.ref)
        if damage and damage.damage is not Damage.DELETED:
            remove_broken_ref(self.project, BrokenRef(workspace.ref, damage.commit))
            move_torn_objects_aside(self.project)
        tip, rescued_work = read_ref(self.project, workspace.ref), RescuedWork()
        if workspace.checked_out_commit() is not None:
            rescued_work = remove_workspace(workspace, f"{task.cycle}-restart", copies=self.copies)
        result = ports_git.SetAside(
            None, rescued_work.rescue, rescued_work.withheld, rescued_work.names, rescued_work.folder
        )
        if tip is None:
            return result
        rescue_ref = keep(self.project, f"{task.name}-run-{task.run}", tip)
        if task.branch == f"burnish/{task.name}":
            # A branch of another owner that the task only continued stays.
            delete_ref(self.project, workspace.ref, tip)
        return replace(result, branch=rescue_ref)

    def rescue(self, task: Task, label: str) -> str | None:
        workspace = self.workspace(task)
        # Without a commit to compare with, the files stay.
        return workspace.rescue(label) if workspace.exists() and not self.lost_branch(task) else None

    def lost_branch(self, task: Task) -> ports_git.LostBranch | None:
        ref = f"refs/heads/{task.branch}"
        damage = find_damage(self.project, [ref]).get(ref)
        if damage and damage.damage is Damage.DELETED and self.remote:
            return None  # it may be on another machine, and the remote keeps a copy
        return as_lost_branch(damage)

    def is_whole(self, task: Task, commit: str) -> bool:
        return is_whole(self.project, commit, task.base)

    def put_branch(self, task: Task, commit: str) -> None:
        ref = f"refs/heads/{task.branch}"
        damage = find_damage(self.project, [ref]).get(ref)
        if damage and damage.damage is not Damage.DELETED:
            remove_broken_ref(self.project, BrokenRef(ref, damage.commit))
            move_torn_objects_aside(self.project)
        restore_id(self.project)
        tip = read_ref(self.project, ref)
        if tip != commit:
            update_ref(self.project, ref, commit, tip or self.project.zero)

    def restore_objects(self, task: Task) -> bool:
        move_torn_objects_aside(self.project)
        return restore_objects(self.workspace(task), str(task.commit), str(task.base))

    def write_again(self, task: Task, commit: str, tree: str, onto: str) -> str | None:
        move_torn_objects_aside(self.project)
        message = with_trailers(
            f"{task.spec.title} (written again)\n\n{commit} could not be read.", {"Burnish-Task": str(task.id)}
        )
        return write_again(self.workspace(task), commit, tree, onto=onto, message=message)

    def kept_refs(self, task: Task) -> list[str]:
        return kept_refs(self.project, task.id, task.name)

    def left_out(self, workspace: ports_git.TaskWorkspace, *, is_compared: bool = False) -> list[str]:
        assert isinstance(workspace, GitWorkspace)
        return workspace.left_out_by_name(self.copies, is_compared=is_compared)

    def check_movable(self, branch: str) -> None:
        refuse_if_checked_out(self.project, f"refs/heads/{branch}")

    def watch(self, commit: str) -> Callable[[], list[str]]:
        paths = self.files(commit)
        before = read_checkouts(self.project, paths)
        return lambda: changed_checkouts(self.project, before, read_checkouts(self.project, paths), paths)

    def files(self, commit: str) -> Sequence[str]:
        if commit not in self._files:
            self._files[commit] = list_files(self.project, commit)
        return self._files[commit]

    def text(self, commit: str, path: str) -> str | None:
        data = read_files(self.project, commit, [path]).get(path)
        return None if data is None else data.decode(errors="replace")

    def context_files(self, workspace: ports_git.TaskWorkspace, base: Base) -> tuple[tuple[str, str], ...]:
        """AGENTS.md and similar files of the base, never of the change. Read once per base."""
        if base.commit not in self._context:
            names = [p for p in self.files(base.commit) if p in CONTEXT_FILES or p.startswith(CONTEXT_FOLDER)]
            found = read_files(self.project, base.commit, names) if names else {}
            self._context[base.commit] = tuple(
                (name, data.decode(errors="replace")) for name in names if (data := found.get(name)) is not None
            )
        return self._context[base.commit]

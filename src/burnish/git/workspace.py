"""The workspace of a task: its directory, its branch in the user's repository, its index in burnish's git dir."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from burnish.core.change import Change
from burnish.core.commit import Base, Commit, TargetCommit, TargetMerge, TreeEntry
from burnish.core.secrets import NO_SECRETS, Leak, Secrets
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed, Refused
from burnish.git import agent_gitdir, owned_files, rescue, state
from burnish.git import secret_scan as leaks
from burnish.git import staging as large
from burnish.git.checkout import TaskTree, check_out_files
from burnish.git.differences import Differences
from burnish.git.file_content import read_blobs
from burnish.git.files import copy_index, disk_errors, is_real_dir, is_sound_index, move_out_of_the_way, remove_tree
from burnish.git.integrity import find_unreadable
from burnish.git.objects import (
    BURNISH_AUTHOR,
    Author,
    list_files,
    read_commit,
    read_files,
    with_entries,
    with_files,
    with_trailers,
    write_commit,
)
from burnish.git.project import Project
from burnish.git.refs import StaleRef, read_ref, update_ref
from burnish.git.shared_blocks import copy_checkout
from burnish.git.staging import DirtyPaths, find_dirty_paths, stage, write_tree
from burnish.git.target_merge import (
    forget_target,
    keep_target,
    merge_target,
    merged_files,
    refuse_unresolved,
    target_commits,
)
from burnish.proc.folders import private_folder


class GitWorkspace:
    """The workspace of one task. `name` is the task's, e.g. `29-add-login`."""

    def __init__(
        self,
        project: Project,
        path: Path,
        name: str,
        *,
        branch: str | None = None,
        author: Author = BURNISH_AUTHOR,
        secrets: Secrets = NO_SECRETS,
        max_file_bytes: int = large.MAX_BYTES,
        clean_tree: TaskTree | None = None,
        take_files: Callable[[], TaskTree | None] | None = None,
    ) -> None:
        self.project = project
        self.path = path.absolute()
        self.name = name
        self.author = author
        self.secrets = secrets
        self.max_file_bytes = max_file_bytes
        # a new workspace shares the blocks of its files
        self.clean_tree = clean_tree
        # the files of an earlier task, which a new workspace begins with
        self._take_files = take_files
        # two tasks may share a branch
        self.branch = branch or f"burnish/{name}"
        self.ref = f"refs/heads/{self.branch}"
        self.index = project.own / "index" / name
        self._state_file = project.own / "index" / f"{name}.json"
        self._differences = Differences(project, self.ref)
        # what the last comparison of the files listed, until it is used or files may change
        self._dirt: DirtyPaths | None = None
        # new path of a foreign directory that was in the workspace's place
        self.moved_to: Path | None = None

    def exists(self) -> bool:
        return self._own_folder() is not None and read_ref(self.project, self.ref) is not None

    def is_own(self) -> bool:
        """Whether burnish created the directory; a restored copy does not count."""
        return self._own_folder() is not None

    def adopt(self) -> str | None:
        """Accept a copy of a workspace, e.g. from a backup; returns its commit, None if the directory is not a copy."""
        if not agent_gitdir.borrows_from(self.project, self.path):
            return None
        commit = self.checked_out_commit() or self._newest_readable(agent_gitdir.read_tips(self.path / ".git"))
        if commit is None:
            return None
        self._save_state(inode=self.path.lstat().st_ino, commit=commit)
        return commit

    def _newest_readable(self, commits: Sequence[str]) -> str | None:
        unreadable = find_unreadable(self.project, commits, with_trees=True)
        return next((sha for sha in commits if sha not in unreadable), None)

    def tip(self) -> str | None:
        """The newest commit of the task's branch that is not one of burnish's artifact commits."""
        sha = read_ref(self.project, self.ref)
        return owned_files.last_work(self.project, sha) if sha else None

    def head(self) -> Commit | None:
        """The commit of `tip`, its tree without the files that burnish wrote."""
        sha = self.tip()
        return self._commit(sha) if sha else None

    def plain(self, commit: str) -> str:
        """The commit without the files that burnish wrote; the same commit if there are none."""
        return owned_files.plain_commit(self.project, commit)

    def checked_out_commit(self) -> str | None:
        """The commit that the files were last reset to, or that was made from them."""
        saved_state = self._load_state()
        return saved_state.commit if saved_state else None

    # -- setting up ------------------------------------------------------------------------------

    def create(self, base: Base) -> None:
        """Create branch, files and `.git`. May be repeated after an interruption."""
        try:
            update_ref(self.project, self.ref, base.commit, self.project.zero)
        except StaleRef:
            if self.tip() != base.commit:
                raise Refused(
                    f"The branch {self.branch} already exists and is not at the base.",
                    hint=f"Continue it with `burnish retry`, or delete it: `git branch -D {self.branch}`.",
                ) from None
        self.reset_to(base.commit, base=base)

    def restart(self, base: Base) -> str | None:
        """Reset branch and files to `base`; returns the rescue ref that keeps the previous tip."""
        tip = read_ref(self.project, self.ref)
        if tip is None:
            self.create(base)
            return None
        rescue_ref = rescue.keep(self.project, f"{self.name}-restart", tip) if tip != base.commit else None
        update_ref(self.project, self.ref, base.commit, tip)
        self.reset_to(base.commit, base=base)
        return rescue_ref

    def reset_to(self, commit: str, *, base: Base) -> None:
        """Reset tracked files to `commit`, remove untracked ones, keep ignored ones, write a new `.git`."""
        self._dirt = None
        self._prepare_folder()
        self._drop_old_scratch()
        self._take_agent_gitdir("put-right")
        plain = self.plain(commit)
        is_new = not self.index.exists() and not any(self.path.iterdir())
        if not (is_new and (self._begin_with_files_of_another(plain) or self._begin_with_copy(plain))):
            check_out_files(self.project, self.index, self.path, plain, everything=False, is_new=is_new)
        facts = {"began": self.index.stat().st_mtime_ns} if is_new else {}
        self._save_state(commit=commit, base=base.commit, target=base.target, **facts)
        self._write_gitdir()

    def _begin_with_files_of_another(self, plain: str) -> bool:
        """Take the directory of an earlier task: only files that differ are written, and ignored ones are removed."""
        tree = self._take_files() if self._take_files else None
        if tree is None:
            return False
        try:
            check_out_files(self.project, tree.index, tree.path, plain, everything=True)
            # first, so that a killed run leaves a directory that counts as its own
            self._save_state(inode=tree.path.lstat().st_ino)
            with disk_errors(f"moving {tree.path}"):
                tree.path.replace(self.path)
                tree.index.replace(self.index)
        except PhaseFailed:
            # the caller writes all files, or meets the same cause
            tree.remove()
            self._prepare_folder()
            return False
        return True

    def _begin_with_copy(self, plain: str) -> bool:
        tree = self.clean_tree
        return tree is not None and copy_checkout(self.project, tree, plain, self.path, self.index)

    def hand_over(self, tree: TaskTree) -> None:
        """Leave the directory and its index as `tree`, which must not exist, and remove the rest.

        All of its work must be in git.
        """
        self._check_folder()
        with disk_errors(f"removing {self.path / '.git'}"):
            remove_tree(self.path / ".git")
        with disk_errors(f"moving {self.path}"):
            private_folder(tree.path.parent)
            self.path.rename(tree.path)
            # its mtime says since when a program had the files; git has no other use for one of second 0
            saved_state = self._load_state() or state.WorkspaceState()
            began = saved_state.began or 10**9
            os.utime(self.index, ns=(began, began))
            self.index.rename(tree.index)
        self.remove()

    def remove(self) -> None:
        """Remove the directory and its index; the branch and other refs stay."""
        with disk_errors(f"removing {self.path}"):
            agent_gitdir.sort_leftovers(self.path)
            for folder in (self.path, agent_gitdir.folder_aside(self.path)):
                remove_tree(folder)
            for file in (self.project.own / "index").glob(f"{self.name}*"):
                if file.name == self.name or file.name.startswith(f"{self.name}."):
                    file.unlink(missing_ok=True)

    # -- after the agent -------------------------------------------------------------------------

    def collect_agent_git(self, label: str) -> str | None:
        """Replace the agent's `.git`; returns the rescue ref of commits that the agent made, if any."""
        self._check_folder()
        rescue_ref = self._take_agent_gitdir(label)
        self._write_gitdir()
        return rescue_ref

    def is_dirty(self) -> bool:
        return self._dirty_tree() != (None, {})

    def dirt(self) -> DirtyPaths:
        """Paths that differ from the index, without ignored ones."""
        self._check_folder()
        if not is_sound_index(self.index):
            saved_state = self._load_state()
            self._drop_torn_index()
            args = ("read-tree", "--reset", self.plain(saved_state.commit if saved_state else str(self.tip())))
            self.project.git(*args, index=self.index, work_tree=self.path)
        return find_dirty_paths(self.project, self.index, self.path)

    def rescue(self, label: str, *, attempt: int | None = None) -> str | None:
        """Commit uncommitted work, without secrets, to a rescue ref; None if there is nothing to save.

        Each attempt gets its own ref, also if two attempts left the same files.
        """
        tree, found = self._dirty_tree()
        head = self.head()
        if head is None or (tree is None and not found):
            return None
        number = f", attempt {attempt}" if attempt else ""
        message = f"Rescued from {self.name}: {label}{number}\n{leaks.withhold(found, self.path, label)}"
        label = f"{self.name.split('-')[0]}-{label}"
        return rescue.keep_tree(self.project, label, tree or head.tree, self.plain(head.sha), message, self.author)

    def rescued(self, ref: str) -> Commit | None:
        """The commit of a rescue ref."""
        sha = read_ref(self.project, ref)
        return read_commit(self.project, sha) if sha else None

    def restore_files(self, commit: Commit) -> None:
        """Write the files of a rescue commit as uncommitted changes."""
        self._check_folder()
        # the real index stays at the branch, so that the files count as changes
        with self._scratch_index(str(self.checked_out_commit())) as (scratch, _):
            check_out_files(self.project, scratch, self.path, commit.sha, everything=False)

    def brief(self, files: Mapping[str, str], refs: Sequence[str] = ()) -> None:
        """Write `.git` again, with texts for the agent in `.git/burnish` and with the refs that they mention."""
        self._dirt = None  # the author begins
        named_refs = [(ref, sha) for ref in refs if (sha := read_ref(self.project, ref))]
        texts = [(name, self.secrets.redact(text)) for name, text in files.items()]
        self._write_gitdir(refs=tuple(named_refs), files=tuple(texts))

    def commit(
        self,
        message: str,
        trailers: Mapping[str, str],
        *,
        author: Author,
        expect: str,
        exclude_prefix: str | None = None,
        merge: TargetMerge | None = None,
    ) -> Commit | None:
        """Commit all changes on top of `expect`; None if there are none.

        `merge`: the files began as this merge, whose conflicts are resolved now. What the target has is not examined.
        """
        self._check_folder()
        start = merged_files(self.project, merge, self.plain(expect)).sha if merge else expect
        with self._scratch_index(start) as (scratch, is_at_commit):
            dirt = self._find_dirt(scratch)
            dirt = dirt.without(exclude_prefix) if exclude_prefix else dirt
            if not dirt and is_at_commit:
                return None
            large.refuse(self._too_large(dirt), self.path, self.max_file_bytes)
            leaks.refuse(self._leaks(start, dirt), self.path, self.secrets)
            tree = self._staged_tree(scratch, dirt)
            if merge:
                refuse_unresolved(self.project, merge, expect, tree)
            elif tree == self._commit(expect).tree:
                return None
            sha = self._commit_tree(tree, with_trailers(message, trailers), author, expect, merge)
            scratch.replace(self.index)
        self._take_agent_gitdir("commit")
        self._save_state(commit=sha)
        self._write_gitdir()
        return self._commit(sha)

    def commit_files(
        self, files: Mapping[str, bytes], message: str, trailers: Mapping[str, str], *, author: Author, expect: str
    ) -> Commit | None:
        """Commit new content of tracked files on top of `expect`, without the directory; None if nothing changes."""
        before = read_files(self.project, expect, list(files))
        for path, data in files.items():
            if found := leaks.find_leaks(self.secrets, data, before[path] or b""):
                raise Refused(
                    f"Nothing was committed: {path}:{found[0].line} would hold what looks like a secret.",
                    hint="Read the value from the environment instead.",
                )
        tree = self._commit(expect).tree
        new_tree = with_files(self.project, tree, {os.fsencode(path): data for path, data in files.items()})
        if new_tree == tree:
            return None
        return self._commit(self._commit_tree(new_tree, with_trailers(message, trailers), author, expect, None))

    def _commit_tree(self, tree: str, message: str, author: Author, expect: str, merge: TargetMerge | None) -> str:
        """Move the branch to a new commit of the tree, with the files that burnish wrote on its parents."""
        below = self._parent_for(expect)
        parents = (below, merge.target) if merge else (below,)
        for parent in parents:
            tree = owned_files.with_owned_files(self.project, tree, read_commit(self.project, parent).tree)
        sha = write_commit(self.project, tree, parents, message, author)
        update_ref(self.project, self.ref, sha, below)
        if merge:
            self.forget_target()
        return sha

    # -- the target ------------------------------------------------------------------------------

    def merge_target(self, base: str, target: str, *, head: str = "") -> TargetMerge:
        """The merge of a commit of the target into the branch (or `head`), whose change begins at `base`."""
        return merge_target(self.project, head or str(self.tip()), base, target)

    def lay_merge(self, merge: TargetMerge) -> None:
        """Write the files of the merge, with conflict markers, as uncommitted changes.

        The target in the agent's `.git` is the commit that is merged, so that it compares with that.
        """
        self._save_state(base=merge.target)
        self.restore_files(merged_files(self.project, merge, self.plain(str(self.tip()))))
        self._write_gitdir()

    def commit_merge(
        self, merge: TargetMerge, message: str, trailers: Mapping[str, str], *, author: Author, expect: str
    ) -> Commit:
        """Commit a merge without conflicts; the files of the workspace stay as they are."""
        return self._commit(self._commit_tree(merge.tree, with_trailers(message, trailers), author, expect, merge))

    def target_commits(self, head: str, target: str, paths: Sequence[str]) -> list[TargetCommit]:
        """The commits of the target that `head` does not have and that change these paths, newest first."""
        return target_commits(self.project, head, target, paths)

    def keep_tip(self, label: str) -> str:
        """Keep the newest commit of the branch under a rescue ref."""
        return rescue.keep(self.project, f"{self.name}-{label}", str(self.tip()))

    def keep_target(self, sha: str) -> None:
        """Keep the commit that is to be merged under a ref, until the merge is committed."""
        keep_target(self.project, self.name, sha)

    def forget_target(self) -> None:
        """Remove the ref of `keep_target`."""
        forget_target(self.project, self.name)

    def remove_junk(self) -> list[str]:
        """Reset tracked files and remove untracked ones that checks left; returns a description of each change."""
        dirt = self.dirt()
        saved_state = self._load_state()
        if not dirt or saved_state is None:
            return []
        check_out_files(self.project, self.index, self.path, self.plain(saved_state.commit), everything=False)
        new = {os.fsdecode(path) for path in dirt.new}
        return [f"removed {path}" if path in new else f"restored {path}" for path in dirt.paths]

    # -- reading ---------------------------------------------------------------------------------

    def changes(self, old: str, new: str) -> Change:
        """Changes between two commits or trees."""
        return self._differences.between(old, new)

    def with_entries(self, commit: str, entries: Sequence[TreeEntry]) -> Commit:
        """The commit without the files that burnish wrote, with these paths replaced or removed."""
        return with_entries(self.project, self.plain(commit), entries)

    def files(self, commit: str) -> list[str]:
        return list(list_files(self.project, self.plain(commit)))

    def read(self, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
        return read_files(self.project, commit, paths)

    def read_blobs(self, blobs: Sequence[str]) -> dict[str, bytes | None]:
        """Content by blob hash; None where it is missing or too large."""
        return read_blobs(self.project, blobs)

    # -- inside ----------------------------------------------------------------------------------

    def _commit(self, sha: str) -> Commit:
        commit = read_commit(self.project, sha)
        return replace(commit, tree=owned_files.plain_tree(self.project, commit.tree))

    def _parent_for(self, expect: str) -> str:
        """The parent of a new commit: the branch may have artifact commits after `expect`."""
        tip = read_ref(self.project, self.ref)
        return tip if tip and owned_files.last_work(self.project, tip) == expect else expect

    def _load_state(self) -> state.WorkspaceState | None:
        return state.load(self._state_file)

    def _save_state(self, **facts: object) -> None:
        saved_state = self._load_state() or state.WorkspaceState()
        state.save(self._state_file, replace(saved_state, **facts))  # type: ignore[arg-type]

    def _check_folder(self) -> None:
        """Fail unless burnish created the directory: a link in its place would stage foreign files."""
        here = self._own_folder()
        if here is None:
            raise PhaseFailed(
                ErrorCode.GIT_ERROR,
                f"The workspace {self.path} is not the directory that burnish created.",
                hint="`burnish retry` creates a new one from the branch.",
            )
        self._restore_rights(here)

    def _own_folder(self) -> os.stat_result | None:
        """The directory, if burnish created it: not a link or a restored copy.

        The device is not compared: it changes when a file system is mounted again.
        """
        saved_state = self._load_state()
        try:
            here = self.path.lstat()
        except OSError:
            return None
        return here if saved_state and stat.S_ISDIR(here.st_mode) and here.st_ino == saved_state.inode else None

    def _restore_rights(self, here: os.stat_result) -> None:
        """Undo `chmod 000 .` by an agent; directories below are restored when git is denied access there."""
        if here.st_mode & 0o700 != 0o700:
            with disk_errors(f"changing the permissions of {self.path}"):
                self.path.chmod(stat.S_IMODE(here.st_mode) | 0o700)

    def _prepare_folder(self) -> None:
        """Create the directory; a foreign one in its place is moved away, not deleted."""
        with disk_errors(f"creating {self.path}"):
            private_folder(self.path.parent)
            here = self._own_folder()
            if here is not None:
                self._restore_rights(here)
            elif os.path.lexists(self.path) and not (is_real_dir(self.path) and not any(self.path.iterdir())):
                self.moved_to = move_out_of_the_way(self.path)
            self.path.mkdir(mode=0o700, exist_ok=True)
            here = self.path.lstat()
            (self.project.own / "index").mkdir(exist_ok=True)
        self._save_state(inode=here.st_ino)

    def _take_agent_gitdir(self, label: str) -> str | None:
        saved_state = self._load_state() or state.WorkspaceState()
        own_commits = [
            one
            for sha in dict.fromkeys((saved_state.commit, saved_state.base))
            if sha
            for one in {sha, self.plain(sha)}
        ]
        return rescue.take_agent_gitdir(
            self.project, self.path, f"{self.name}-{label}", own_commits, secrets=self.secrets, most=self.max_file_bytes
        )

    def _write_gitdir(self, *, refs: tuple[tuple[str, str], ...] = (), files: tuple[tuple[str, str], ...] = ()) -> None:
        saved_state = self._load_state() or state.WorkspaceState()
        commit, base = (self.plain(sha) if sha else sha for sha in (saved_state.commit, saved_state.base))
        contents = agent_gitdir.AgentGitDir(self.ref, commit, base, saved_state.target, self.author, refs, files)
        agent_gitdir.create_agent_gitdir(self.project, self.path, self.index, contents)

    @contextmanager
    def _scratch_index(self, commit: str) -> Iterator[tuple[Path, bool]]:
        """A copy of the index, reset to `commit`: the real index stays valid if burnish is killed."""
        scratch = self.index.with_name(f"{self.name}.scratch-{os.getpid()}-{threading.get_ident()}")
        saved_state = self._load_state()
        self._drop_torn_index()
        is_at_commit = saved_state is not None and saved_state.commit == commit and self.index.is_file()
        try:
            with disk_errors(f"copying {self.index}"):
                if self.index.is_file():
                    copy_index(self.index, scratch)
            if not is_at_commit:
                self.project.git("read-tree", "--reset", self.plain(commit), index=scratch, work_tree=self.path)
            yield scratch, is_at_commit
        finally:
            scratch.unlink(missing_ok=True)
            scratch.with_name(scratch.name + ".lock").unlink(missing_ok=True)

    def _drop_torn_index(self) -> None:
        """Remove a truncated index; git creates it again from the commit, without changing files."""
        if not is_sound_index(self.index):
            with disk_errors(f"removing the damaged {self.index}"):
                self.index.unlink(missing_ok=True)

    def _drop_old_scratch(self) -> None:
        """Remove what killed runs left; a recent index may belong to another process."""
        agent_gitdir.sort_leftovers(self.path)
        for file in self.index.parent.glob(f"{self.name}.scratch-*"):
            with suppress(FileNotFoundError):
                if time.time() - file.stat().st_mtime > 3600:
                    file.unlink()

    def _staged_tree(self, scratch: Path, dirt: DirtyPaths) -> str:
        large.check(self.project, self.path, dirt)
        stage(self.project, scratch, self.path, dirt)
        return write_tree(self.project, scratch)

    def record_commit(self, commit: str) -> None:
        """Record that the files are those of `commit`, which replaces a lost commit with the same tree."""
        self._save_state(commit=commit)

    def write_tree_on(self, commit: str) -> str:
        """Write the tree of the files, based on a readable commit; moves and commits nothing."""
        self._check_folder()
        with self._scratch_index(commit) as (scratch, _):
            stage(
                self.project, scratch, self.path, find_dirty_paths(self.project, scratch, self.path), any_encoding=True
            )
            return write_tree(self.project, scratch)

    def _find_dirt(self, index: Path) -> DirtyPaths:
        self._dirt = find_dirty_paths(self.project, index, self.path, with_excluded=True)
        return self._dirt

    def left_out_by_name(self, but: Collection[str] = (), *, is_compared: bool = False) -> list[str]:
        """Untracked files that only burnish's own list of secret names excludes from commits; folders too deep for git.

        `is_compared`: by what `commit` or `is_dirty` listed, if it was called; nothing may have written files since.
        """
        dirt = self._dirt if is_compared else None
        if dirt is None:
            dirt = self._find_dirt(self.index)
        self._dirt = None
        found = leaks.left_out_by_name(self.project, self.index, self.path, but, untracked_paths=dirt.untracked_paths)
        return sorted(map(os.fsdecode, (*dirt.too_long, *found)))

    def _leaks(self, commit: str, dirt: DirtyPaths) -> leaks.Leaks:
        return leaks.find_secrets(self.project, self.path, commit, dirt, self.secrets)

    def _too_large(self, dirt: DirtyPaths) -> dict[bytes, int]:
        return large.too_large(self.path, dirt, self.max_file_bytes)

    def _dirty_tree(self) -> tuple[str | None, leaks.Leaks]:
        """The tree of the files, None if it equals the branch's; and the paths that must be left out."""
        self._check_folder()
        head = self.head()
        if head is None:
            return None, {}
        with self._scratch_index(head.sha) as (scratch, is_at_commit):
            dirt = self._find_dirt(scratch)
            if not dirt and is_at_commit:
                return None, {}
            # these are left out anyway, so they are not searched: a sparse file can be huge
            large_files = {
                path: [Leak(0, f"{size:,} bytes, over commit.max_file_mb")]
                for path, size in self._too_large(dirt).items()
            }
            found = {**self._leaks(head.sha, leaks.without_secrets(dirt, large_files)), **large_files}
            stage(self.project, scratch, self.path, leaks.without_secrets(dirt, found), any_encoding=True)
            tree = write_tree(self.project, scratch)
        at = self.checked_out_commit()
        # clean files do not become dirty because another process moved the branch
        is_readable = at and at != head.sha and not find_unreadable(self.project, [at])
        clean_trees = {head.tree, self._commit(str(at)).tree if is_readable else head.tree}
        return (tree if tree not in clean_trees else None), found

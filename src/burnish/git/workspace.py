"""One task's files, its branch in the user's repository, and its index in ours."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from burnish.core.change import Change
from burnish.core.commit import Base, Commit
from burnish.core.secrets import NO_SECRETS, Leak, Secrets
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed, Refused
from burnish.git import agent_gitdir as agentgit
from burnish.git import large_files as large
from burnish.git import owned_files as written
from burnish.git import rescue, state
from burnish.git import secret_scan as leaks
from burnish.git.differences import Differences
from burnish.git.file_content import read_blobs
from burnish.git.files import copy_index, disk_errors, is_real_dir, move_off, remove_tree
from burnish.git.index_file import is_sound_index
from burnish.git.layout import lay_files
from burnish.git.objects import NOBODY, Author, read_commit, with_trailers, write_commit
from burnish.git.project import Project
from burnish.git.reading import list_files, read_files
from burnish.git.refs import StaleRef, read_ref, update_ref
from burnish.git.soundness import find_unreadable
from burnish.git.staging import DirtyPaths, look, stage, write_tree
from burnish.proc.folders import private_folder


class GitWorkspace:
    """Where one task is worked on. `name` is the task's, e.g. `29-add-login`."""

    def __init__(
        self,
        project: Project,
        path: Path,
        name: str,
        *,
        branch: str | None = None,
        author: Author = NOBODY,
        secrets: Secrets = NO_SECRETS,
        max_file_bytes: int = large.MOST_BYTES,
    ) -> None:
        self.project = project
        self.path = path.absolute()
        self.name = name
        self.author = author
        self.secrets = secrets
        self.max_file_bytes = max_file_bytes
        # another's, where two tasks work on one
        self.branch = branch or f"burnish/{name}"
        self.ref = f"refs/heads/{self.branch}"
        self.index = project.own / "index" / name
        self._state_file = project.own / "index" / f"{name}.json"
        self._differences = Differences(project, self.ref)
        # where a directory is that was not burnish's own and stood in its place
        self.moved_to: Path | None = None

    def exists(self) -> bool:
        return self._own_folder() is not None and read_ref(self.project, self.ref) is not None

    def is_own(self) -> bool:
        """Is the directory the one that burnish made? A restored copy is not."""
        return self._own_folder() is not None

    def tip(self) -> str | None:
        """The newest commit of the task's branch that holds work, and not only burnish's own artifacts."""
        sha = read_ref(self.project, self.ref)
        return written.last_work(self.project, sha) if sha else None

    def head(self) -> Commit | None:
        """The same as a commit, its tree without what burnish itself wrote there."""
        sha = self.tip()
        return self._commit(sha) if sha else None

    def plain(self, commit: str) -> str:
        """The same commit without the files that burnish wrote; itself where there are none."""
        return written.plain_commit(self.project, commit)

    def checked_out_commit(self) -> str | None:
        """The commit that the files were last put right to, or that was made from them."""
        known = self._known()
        return known.commit if known else None

    # -- laying the files ------------------------------------------------------------------------

    def create(self, base: Base) -> None:
        """Branch, files and `.git`. May be repeated after a kill at any moment."""
        try:
            update_ref(self.project, self.ref, base.commit, self.project.zero)
        except StaleRef:
            if self.tip() != base.commit:
                raise Refused(
                    f"The branch {self.branch} exists already and is not at the base.",
                    hint=f"Continue it with `burnish retry`, or delete it: `git branch -D {self.branch}`.",
                ) from None
        self.reset_to(base.commit, base=base)

    def restart(self, base: Base) -> str | None:
        """Begin anew at `base`; what the branch held is kept under a rescue ref, which is returned."""
        tip = read_ref(self.project, self.ref)
        if tip is None:
            self.create(base)
            return None
        kept = rescue.keep(self.project, f"{self.name}-restart", tip) if tip != base.commit else None
        update_ref(self.project, self.ref, base.commit, tip)
        self.reset_to(base.commit, base=base)
        return kept

    def reset_to(self, commit: str, *, base: Base) -> None:
        """Tracked files as in `commit`, nothing new beside them, ignored files kept, a fresh `.git`."""
        self._claim_root()
        self._drop_old_scratch()
        self._set_aside("put-right")
        lay_files(self.project, self.index, self.path, self.plain(commit), everything=False)
        self._remember(commit=commit, base=base.commit, target=base.target)
        self._lay_git()

    def remove(self) -> None:
        """Take the directory and all that belongs to it away; the branch and the refs stay."""
        with disk_errors(f"removing {self.path}"):
            remove_tree(self.path)
            for kind in ("aside", "laying"):
                for leftover in self.path.parent.glob(f".{kind}-{self.path.name}-*"):
                    remove_tree(leftover)
            for file in (self.project.own / "index").glob(f"{self.name}*"):
                if file.name == self.name or file.name.startswith(f"{self.name}."):
                    file.unlink(missing_ok=True)

    # -- after the agent -------------------------------------------------------------------------

    def after_phase(self, label: str) -> str | None:
        """Replace the agent's `.git`; commits that it made itself are kept under the ref returned."""
        self._guard()
        kept = self._set_aside(label)
        self._lay_git()
        return kept

    def is_dirty(self) -> bool:
        return self._dirty_tree() != (None, {})

    def dirt(self) -> DirtyPaths:
        """What differs from the index, ignored files aside."""
        self._guard()
        if not is_sound_index(self.index):
            known = self._known()
            self._drop_torn_index()
            args = ("read-tree", "--reset", self.plain(known.commit if known else str(self.tip())))
            self.project.git(*args, index=self.index, work_tree=self.path)
        return look(self.project, self.index, self.path)

    def rescue(self, label: str, *, attempt: int | None = None) -> str | None:
        """Commit the whole dirty state to a ref of its own, secrets left out; None if there is nothing to save.

        Each attempt has a ref of its own, also where two left the same files.
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

    def give_back(self, rescued: Commit) -> None:
        """The files as that commit has them, uncommitted on top of the commit that they were rescued from."""
        self._guard()
        # the real index keeps what the branch has, so that all of it counts as a change
        with self._scratch_index(str(self.checked_out_commit())) as (scratch, _):
            lay_files(self.project, scratch, self.path, rescued.sha, everything=False)

    def brief(self, files: Mapping[str, str], refs: Sequence[str] = ()) -> None:
        """Lay the `.git` again, with texts for the agent in `.git/burnish` and with the refs that it is told of."""
        named = [(ref, sha) for ref in refs if (sha := read_ref(self.project, ref))]
        texts = [(name, self.secrets.redact(text)) for name, text in files.items()]
        self._lay_git(refs=tuple(named), files=tuple(texts))

    def commit(
        self,
        message: str,
        trailers: Mapping[str, str],
        *,
        author: Author,
        expect: str,
        exclude_prefix: str | None = None,
    ) -> Commit | None:
        """Everything that changed, as one commit on top of `expect`; None if nothing did."""
        self._guard()
        with self._scratch_index(expect) as (scratch, aligned):
            dirt = look(self.project, scratch, self.path)
            dirt = dirt.without(exclude_prefix) if exclude_prefix else dirt
            if not dirt and aligned:
                return None
            large.refuse(self._too_large(dirt), self.path, self.max_file_bytes)
            leaks.refuse(self._leaks(expect, dirt), self.path, self.secrets)
            tree = self._staged_tree(scratch, dirt)
            if tree == self._commit(expect).tree:
                return None
            below = self._below(expect)
            tree = written.grafted(self.project, tree, read_commit(self.project, below).tree)
            sha = write_commit(self.project, tree, (below,), with_trailers(message, trailers), author)
            update_ref(self.project, self.ref, sha, below)
            scratch.replace(self.index)
        self._set_aside("commit")
        self._remember(commit=sha)
        self._lay_git()
        return self._commit(sha)

    def remove_junk(self) -> list[str]:
        """Undo what checks did to tracked files and remove what they left; says what it did."""
        dirt = self.dirt()
        known = self._known()
        if not dirt or known is None:
            return []
        lay_files(self.project, self.index, self.path, self.plain(known.commit), everything=False)
        new = {os.fsdecode(path) for path in dirt.new}
        return [f"removed {path}" if path in new else f"restored {path}" for path in dirt.paths]

    # -- reading ---------------------------------------------------------------------------------

    def changes(self, old: str, new: str) -> Change:
        """Everything between two commits or trees, by sha."""
        return self._differences.between(old, new)

    def files(self, commit: str) -> list[str]:
        return list_files(self.project, self.plain(commit))

    def read(self, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
        return read_files(self.project, commit, paths)

    def read_blobs(self, blobs: Sequence[str]) -> dict[str, bytes | None]:
        """Content by git's name of it; None for what is missing or very large."""
        return read_blobs(self.project, blobs)

    # -- inside ----------------------------------------------------------------------------------

    def _commit(self, sha: str) -> Commit:
        commit = read_commit(self.project, sha)
        return replace(commit, tree=written.plain_tree(self.project, commit.tree))

    def _below(self, expect: str) -> str:
        """What a new commit goes on top of: burnish's own artifacts may have come after `expect`."""
        tip = read_ref(self.project, self.ref)
        return tip if tip and written.last_work(self.project, tip) == expect else expect

    def _known(self) -> state.WorkspaceState | None:
        return state.load(self._state_file)

    def _remember(self, **facts: object) -> None:
        known = self._known() or state.WorkspaceState()
        state.save(self._state_file, replace(known, **facts))  # type: ignore[arg-type]

    def _guard(self) -> None:
        """The directory must be the one we made: a link in its place would stage somebody else's files."""
        here = self._own_folder()
        if here is None:
            raise PhaseFailed(
                ErrorCode.GIT_ERROR,
                f"The workspace {self.path} is not the directory that burnish made.",
                hint="`burnish retry` makes a fresh one from the branch.",
            )
        self._open_root(here)

    def _own_folder(self) -> os.stat_result | None:
        """The directory, if it is the one that burnish made: not a link, a restored copy or another's.

        The device does not count: file systems get another number when they are mounted again.
        """
        known = self._known()
        try:
            here = self.path.lstat()
        except OSError:
            return None
        return here if known and stat.S_ISDIR(here.st_mode) and here.st_ino == known.inode else None

    def _open_root(self, here: os.stat_result) -> None:
        """Undo `chmod 000 .` by an agent; directories below get their rights back when git is refused there."""
        if here.st_mode & 0o700 != 0o700:
            with disk_errors(f"opening {self.path}"):
                self.path.chmod(stat.S_IMODE(here.st_mode) | 0o700)

    def _claim_root(self) -> None:
        """Make the directory, or move away what took its place: nothing in there is ours to delete."""
        with disk_errors(f"making {self.path}"):
            private_folder(self.path.parent)
            here = self._own_folder()
            if here is not None:
                self._open_root(here)
            elif os.path.lexists(self.path) and not (is_real_dir(self.path) and not any(self.path.iterdir())):
                self.moved_to = move_off(self.path)
            self.path.mkdir(mode=0o700, exist_ok=True)
            here = self.path.lstat()
            (self.project.own / "index").mkdir(exist_ok=True)
        self._remember(inode=here.st_ino)

    def _set_aside(self, label: str) -> str | None:
        known = self._known() or state.WorkspaceState()
        laid = [one for sha in dict.fromkeys((known.commit, known.base)) if sha for one in {sha, self.plain(sha)}]
        return rescue.take_git(
            self.project, self.path, f"{self.name}-{label}", laid, secrets=self.secrets, most=self.max_file_bytes
        )

    def _lay_git(self, *, refs: tuple[tuple[str, str], ...] = (), files: tuple[tuple[str, str], ...] = ()) -> None:
        known = self._known() or state.WorkspaceState()
        commit, base = (self.plain(sha) if sha else sha for sha in (known.commit, known.base))
        laid = agentgit.AgentGitDir(self.ref, commit, base, known.target, self.author, refs, files)
        agentgit.create_agent_gitdir(self.project, self.path, self.index, laid)

    @contextmanager
    def _scratch_index(self, commit: str) -> Iterator[tuple[Path, bool]]:
        """A copy of the index, at `commit`: if we are killed, the real one does not know of half a commit."""
        scratch = self.index.with_name(f"{self.name}.scratch-{os.getpid()}-{threading.get_ident()}")
        known = self._known()
        self._drop_torn_index()
        aligned = known is not None and known.commit == commit and self.index.is_file()
        try:
            with disk_errors(f"copying {self.index}"):
                if self.index.is_file():
                    copy_index(self.index, scratch)
            if not aligned:
                self.project.git("read-tree", "--reset", self.plain(commit), index=scratch, work_tree=self.path)
            yield scratch, aligned
        finally:
            scratch.unlink(missing_ok=True)
            scratch.with_name(scratch.name + ".lock").unlink(missing_ok=True)

    def _drop_torn_index(self) -> None:
        """One that was cut is made again from the commit; the files in the workspace are not touched by that."""
        if not is_sound_index(self.index):
            with disk_errors(f"removing the damaged {self.index}"):
                self.index.unlink(missing_ok=True)

    def _drop_old_scratch(self) -> None:
        """What killed runs left; a young index may belong to somebody who is only looking."""
        for half in self.path.parent.glob(f".laying-{self.path.name}-*"):
            remove_tree(half)
        for file in self.index.parent.glob(f"{self.name}.scratch-*"):
            with suppress(FileNotFoundError):
                if time.time() - file.stat().st_mtime > 3600:
                    file.unlink()

    def _staged_tree(self, scratch: Path, dirt: DirtyPaths) -> str:
        large.check(self.project, self.path, dirt)
        stage(self.project, scratch, self.path, dirt)
        return write_tree(self.project, scratch)

    def take_for(self, commit: str) -> None:
        """The files are those of another commit with the same tree: the one that they were laid from is gone."""
        self._remember(commit=commit)

    def tree_on(self, commit: str) -> str:
        """The tree that the files make up, compared with a commit that can be read; nothing is moved or committed."""
        self._guard()
        with self._scratch_index(commit) as (scratch, _):
            stage(self.project, scratch, self.path, look(self.project, scratch, self.path), any_encoding=True)
            return write_tree(self.project, scratch)

    def _leaks(self, commit: str, dirt: DirtyPaths) -> leaks.Leaks:
        return leaks.find_secrets(self.project, self.path, commit, dirt, self.secrets)

    def _too_large(self, dirt: DirtyPaths) -> dict[bytes, int]:
        return large.too_large(self.path, dirt, self.max_file_bytes)

    def _dirty_tree(self) -> tuple[str | None, leaks.Leaks]:
        """The tree that a commit would have now, None if it is that of the branch; and what it must leave out."""
        self._guard()
        head = self.head()
        if head is None:
            return None, {}
        with self._scratch_index(head.sha) as (scratch, aligned):
            dirt = look(self.project, scratch, self.path)
            if not dirt and aligned:
                return None, {}
            # These stay out of git whatever is in them, so they are not searched: a sparse file has no end.
            large_files = {
                path: [Leak(0, f"{size:,} bytes, over commit.max_file_mb")]
                for path, size in self._too_large(dirt).items()
            }
            found = {**self._leaks(head.sha, leaks.without_secrets(dirt, large_files)), **large_files}
            stage(self.project, scratch, self.path, leaks.without_secrets(dirt, found), any_encoding=True)
            tree = write_tree(self.project, scratch)
        at = self.checked_out_commit()
        # a branch that was moved by somebody else does not make clean files dirty
        is_readable = at and at != head.sha and not find_unreadable(self.project, [at])
        known = {head.tree, self._commit(str(at)).tree if is_readable else head.tree}
        return (tree if tree not in known else None), found

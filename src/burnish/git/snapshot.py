"""The files of one commit for a reviewer to read: kept, put right each time, and looked over afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from burnish.core.change import ChangedFile
from burnish.core.commit import Base
from burnish.core.project_files import is_named
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.git import agent_gitdir as agentgit
from burnish.git.files import disk_errors, is_real_dir, remove_tree
from burnish.git.instruction_imports import Imported, imported_paths
from burnish.git.layout import lay_files
from burnish.git.project import Project
from burnish.git.staging import look
from burnish.git.task_tree import TaskTree
from burnish.git.workspace import GitWorkspace
from burnish.proc.folders import private_folder

# Names the repositories that git would fetch into submodules.
GIT_FILES = (".gitmodules",)


@dataclass(frozen=True, slots=True)
class SnapshotFolder:
    """A directory with one commit's files, and the index that says what they should be."""

    path: Path
    project: Project
    index: Path
    device: int
    inode: int

    def breaches(self) -> list[str]:
        """Paths that were written or deleted since it was laid, ignored ones too."""
        try:
            here = self.path.lstat()
        except OSError:
            return ["."]
        if not is_real_dir(self.path) or (here.st_dev, here.st_ino) != (self.device, self.inode):
            return ["."]
        return look(self.project, self.index, self.path, ignored=True).paths


@contextmanager
def snapshot(
    workspace: GitWorkspace,
    commit: str,
    *,
    base: Base,
    path: Path,
    from_base: Sequence[str],
    trusted: bool = True,
    brief: Mapping[str, str] | None = None,
) -> Iterator[SnapshotFolder]:
    """Lay `commit` at `path`, with what `from_base` names as the base has it: files that instruct agents.

    Of a repository that is not trusted, without those files, and without links that lead out of it.
    """
    project, commit = workspace.project, workspace.plain(commit)
    tree = TaskTree.of(project, workspace.name, path)
    path, index = tree.path, tree.index
    with disk_errors(f"making {path}"):
        if not is_real_dir(path):
            path.unlink(missing_ok=True)
            private_folder(path.parent)
            path.mkdir(mode=0o700)
        here = path.lstat()
    lay_files(project, index, path, commit, everything=True)
    if trusted:
        _from_base(workspace, index, path, base, commit, from_base)
    else:
        _leave_out(project, index, path, from_base)
    files = tuple((name, workspace.secrets.redact(text)) for name, text in (brief or {}).items())
    laid = agentgit.AgentGitDir(
        workspace.ref, commit, workspace.plain(base.commit), base.target, workspace.author, files=files
    )
    agentgit.create_agent_gitdir(project, path, index, laid)
    yield SnapshotFolder(path, project, index, here.st_dev, here.st_ino)


def _from_base(workspace: GitWorkspace, index: Path, path: Path, base: Base, commit: str, names: Sequence[str]) -> None:
    wanted = (*GIT_FILES, *names)
    changed = workspace.changes(workspace.plain(base.commit), commit).files
    if not changed:
        return
    imported = imported_paths(workspace.project, workspace.plain(base.commit), names)
    # a folder that became a link goes before what was in it
    files = sorted((f for f in changed if _named(f, wanted) or _brought_in(f, imported)), key=lambda f: f.path)
    if not files:
        return
    zero = workspace.project.zero
    lines = [f"0 {zero}\t{file.path}\0" for file in files]
    back = [file for file in files if file.old_mode not in ("000000", "160000")]
    lines += [f"{file.old_mode} {file.old_blob}\t{file.old_path or file.path}\0" for file in back]
    stdin = "".join(lines).encode("utf-8", "surrogateescape")
    project = workspace.project
    project.git("update-index", "-z", "--index-info", index=index, work_tree=path, stdin=stdin)
    for file in files:
        _remove_inside(path, file.path)
    restored = "".join(f"{file.old_path or file.path}\0" for file in back).encode("utf-8", "surrogateescape")
    if restored:
        args = ("checkout-index", "-f", "-u", "-z", "--stdin")
        project.git(*args, index=index, work_tree=path, stdin=restored)


def _leave_out(project: Project, index: Path, path: Path, names: Sequence[str]) -> None:
    """Remove the agents' settings and every link out of the tree, from the files and from the index."""
    listed = project.git("ls-files", "-z", "--stage", index=index, work_tree=path).stdout
    entries = [entry.partition(b"\t") for entry in listed.split(b"\0") if entry]
    removed = []
    for head, _, raw in entries:
        name = os.fsdecode(raw)
        is_link = head.startswith(b"120000")
        if is_named(name, names) or (is_link and _leads_out(path, path / name)):
            removed.append(name)
    if not removed:
        return
    stdin = b"".join(f"0 {project.zero}\t".encode() + os.fsencode(name) + b"\0" for name in removed)
    project.git("update-index", "-z", "--index-info", index=index, work_tree=path, stdin=stdin)
    for name in removed:
        _remove_inside(path, name)


def _leads_out(root: Path, link: Path) -> bool:
    try:
        return not link.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return True


def _named(file: ChangedFile, patterns: Sequence[str]) -> bool:
    return any(is_named(path, patterns) for path in (file.path, file.old_path or file.path))


def _brought_in(file: ChangedFile, imported: Imported) -> bool:
    return imported.has(file.path) or (file.old_path is not None and imported.has(file.old_path))


def _remove_inside(root: Path, name: str) -> None:
    """Delete one file below `root`, and folders that it leaves empty; never through a link."""
    target = root / os.fsdecode(name.encode("utf-8", "surrogateescape"))
    if target.parent.resolve() != root.resolve() / target.parent.relative_to(root):
        raise PhaseFailed(ErrorCode.GIT_ERROR, f"{name!r} lies behind a link.", hint="Review it by hand.")
    remove_tree(target)
    for folder in target.relative_to(root).parents:
        # Gone already (git removed it with its last file) is as good as empty.
        if folder == Path() or (is_real_dir(root / folder) and any((root / folder).iterdir())):
            break
        remove_tree(root / folder)

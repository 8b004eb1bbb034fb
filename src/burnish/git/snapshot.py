"""Snapshots of a commit for reviewers: reused between reviews, reset before each and checked for changes after it."""

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
from burnish.git import agent_gitdir
from burnish.git.files import disk_errors, is_real_dir, remove_tree
from burnish.git.instruction_imports import Imported, imported_paths
from burnish.git.layout import check_out_files
from burnish.git.project import Project
from burnish.git.staging import find_dirty_paths
from burnish.git.task_tree import TaskTree
from burnish.git.workspace import GitWorkspace
from burnish.proc.folders import private_folder

# names the repositories that git would fetch into submodules
GIT_FILES = (".gitmodules",)
# By these, version managers (asdf, mise, volta, proto, aqua and the like) and npx choose which program they start in a
# folder, also one of the repository (`nodejs path:./tools`). What PATH has as an agent may be one of their shims.
VERSION_FILES = (
    *(".tool-versions", ".*-version", ".nvmrc", ".sdkmanrc", ".volta", ".prototools", ".proto", ".pkgx.*", "pkgx.*"),
    *("mise.toml", "mise.*.toml", "mise.lock", ".mise", ".mise.*", "mise/config.*", "mise/conf.d", ".rtx.*"),
    *(".config/mise", ".config/mise.*", "aqua.yaml", "aqua.yml", ".aqua.*", ".aqua", "aqua/aqua.*"),
    *("node_modules/.bin", ".npmrc", ".yarnrc*"),
)


@dataclass(frozen=True, slots=True)
class SnapshotFolder:
    """A directory with one commit's files, and the index to compare them with."""

    path: Path
    project: Project
    index: Path
    device: int
    inode: int

    def breaches(self) -> list[str]:
        """Paths that were written or deleted since it was created, including ignored ones."""
        try:
            here = self.path.lstat()
        except OSError:
            return ["."]
        if not is_real_dir(self.path) or (here.st_dev, here.st_ino) != (self.device, self.inode):
            return ["."]
        return find_dirty_paths(self.project, self.index, self.path, with_ignored=True).paths


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
    """Check out `commit` at `path`, with files that match `from_base` (agents' instructions) as in the base.

    So are the files of version managers. In an untrusted repository both, and links out of it, are left out.
    """
    project, commit = workspace.project, workspace.plain(commit)
    tree = TaskTree.of(project, workspace.name, path)
    path, index = tree.path, tree.index
    with disk_errors(f"creating {path}"):
        if not is_real_dir(path):
            path.unlink(missing_ok=True)
            private_folder(path.parent)
            path.mkdir(mode=0o700)
        here = path.lstat()
    check_out_files(project, index, path, commit, everything=True)
    if trusted:
        _restore_from_base(workspace, index, path, base, commit, from_base)
    else:
        _leave_out(project, index, path, (*VERSION_FILES, *from_base))
    files = tuple((name, workspace.secrets.redact(text)) for name, text in (brief or {}).items())
    contents = agent_gitdir.AgentGitDir(
        workspace.ref, commit, workspace.plain(base.commit), base.target, workspace.author, files=files
    )
    agent_gitdir.create_agent_gitdir(project, path, index, contents)
    yield SnapshotFolder(path, project, index, here.st_dev, here.st_ino)


def _restore_from_base(
    workspace: GitWorkspace, index: Path, path: Path, base: Base, commit: str, names: Sequence[str]
) -> None:
    names = (*VERSION_FILES, *names)
    patterns = (*GIT_FILES, *names)
    changed_files = workspace.changes(workspace.plain(base.commit), commit).files
    if not changed_files:
        return
    imports = imported_paths(workspace.project, workspace.plain(base.commit), names)
    # sorted, so that a link that replaced a folder is removed before the files of the folder
    files = sorted(
        (f for f in changed_files if _is_instruction_file(f, patterns) or _is_imported(f, imports)),
        key=lambda f: f.path,
    )
    if not files:
        return
    zero = workspace.project.zero
    lines = [f"0 {zero}\t{file.path}\0" for file in files]
    base_files = [file for file in files if file.old_mode not in ("000000", "160000")]
    lines += [f"{file.old_mode} {file.old_blob}\t{file.old_path or file.path}\0" for file in base_files]
    stdin = "".join(lines).encode("utf-8", "surrogateescape")
    project = workspace.project
    project.git("update-index", "-z", "--index-info", index=index, work_tree=path, stdin=stdin)
    for file in files:
        _remove_inside(path, file.path)
    names_from_base = "".join(f"{file.old_path or file.path}\0" for file in base_files).encode(
        "utf-8", "surrogateescape"
    )
    if names_from_base:
        args = ("checkout-index", "-f", "-u", "-z", "--stdin")
        project.git(*args, index=index, work_tree=path, stdin=names_from_base)


def _leave_out(project: Project, index: Path, path: Path, names: Sequence[str]) -> None:
    """Remove agents' instruction files and links out of the tree, from the directory and the index."""
    output = project.git("ls-files", "-z", "--stage", index=index, work_tree=path).stdout
    entries = [entry.partition(b"\t") for entry in output.split(b"\0") if entry]
    excluded_names = []
    for head, _, raw in entries:
        name = os.fsdecode(raw)
        is_link = head.startswith(b"120000")
        if is_named(name, names) or (is_link and _leads_out(path, path / name)):
            excluded_names.append(name)
    if not excluded_names:
        return
    stdin = b"".join(f"0 {project.zero}\t".encode() + os.fsencode(name) + b"\0" for name in excluded_names)
    project.git("update-index", "-z", "--index-info", index=index, work_tree=path, stdin=stdin)
    for name in excluded_names:
        _remove_inside(path, name)


def _leads_out(root: Path, link: Path) -> bool:
    try:
        return not link.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return True


def _is_instruction_file(file: ChangedFile, patterns: Sequence[str]) -> bool:
    return any(is_named(path, patterns) for path in (file.path, file.old_path or file.path))


def _is_imported(file: ChangedFile, imports: Imported) -> bool:
    return imports.has(file.path) or (file.old_path is not None and imports.has(file.old_path))


def _remove_inside(root: Path, name: str) -> None:
    """Delete a file below `root` and folders that become empty; links are not followed."""
    target = root / os.fsdecode(name.encode("utf-8", "surrogateescape"))
    if target.parent.resolve() != root.resolve() / target.parent.relative_to(root):
        raise PhaseFailed(ErrorCode.GIT_ERROR, f"{name!r} is behind a symbolic link.", hint="Review it by hand.")
    remove_tree(target)
    for folder in target.relative_to(root).parents:
        # git may already have removed an empty folder
        if folder == Path() or (is_real_dir(root / folder) and any((root / folder).iterdir())):
            break
        remove_tree(root / folder)

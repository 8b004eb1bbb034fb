"""Snapshots of a commit for reviewers: reused between reviews, reset before each and checked for changes after it."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from burnish.core.change import ChangedFile
from burnish.core.commit import Base
from burnish.core.path_patterns import is_named, named_paths
from burnish.core.status import ErrorCode
from burnish.errors import PhaseFailed
from burnish.git import agent_gitdir
from burnish.git.checkout import TaskTree, check_out_files
from burnish.git.files import disk_errors, is_real_dir, remove_tree
from burnish.git.objects import list_entries, read_commit, read_objects, tree_of
from burnish.git.owned_files import plain_tree
from burnish.git.project import Project
from burnish.git.staging import find_dirty_paths
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
    without: Sequence[str] = (),
    trusted: bool = True,
    brief: Mapping[str, str] | None = None,
) -> Iterator[SnapshotFolder]:
    """Check out `commit` at `path`, with files that match `from_base` (agents' instructions) as in the base.

    So are the files of version managers. In an untrusted repository both, and links out of it, are left out.
    Files that match `without` are left out of every snapshot.
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
    if not tree.claim_clean(tree_of(project, commit)):
        check_out_files(project, index, path, commit, everything=True)
    if trusted:
        _restore_from_base(workspace, index, path, base, commit, from_base)
        _leave_out(project, index, path, _entries(project, index, path, without), without)
    else:
        _leave_out(project, index, path, _entries(project, index, path), (*VERSION_FILES, *from_base), links=True)
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
    # the trees, as for the checks: a comparison is made once
    trees = plain_tree(workspace.project, base.tree), read_commit(workspace.project, commit).tree
    changed_files = workspace.changes(*trees).files
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


def _entries(project: Project, index: Path, path: Path, names: Sequence[str] | None = None) -> list[tuple[bool, str]]:
    """Whether it is a link, and the path of each file in the index; with `names`, of files and folders named so."""
    if names is not None and not names:
        return []
    patterns = [f":(icase,glob)**/{name}{rest}" for name in names or () for rest in ("", "/**")]
    output = project.git("ls-files", "-z", "--stage", "--", *patterns, index=index, work_tree=path).stdout
    entries = [entry.partition(b"\t") for entry in output.split(b"\0") if entry]
    return [(head.startswith(b"120000"), os.fsdecode(raw)) for head, _, raw in entries]


def _leave_out(
    project: Project,
    index: Path,
    path: Path,
    entries: Sequence[tuple[bool, str]],
    names: Sequence[str],
    *,
    links: bool = False,
) -> None:
    """Remove files that match `names`, and `links` out of the tree, from the directory and the index."""
    excluded_names = []
    for is_link, name in entries:
        if is_named(name, names) or (links and is_link and _leads_out(path, path / name)):
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


# -- instruction imports --------------------------------------------------------------------------
# Files that an agent's instruction files import: by `@path`, by lists in settings, and by links, transitively.
#
# Only the base is read, because reviewers get the instruction files of the base. A path that does not exist in the
# base counts too, because a change could add it.

# depth to which links and imports are followed; claude follows imports five deep
_MAX_DEPTH = 10
_MAX_FILES = 1000
_MAX_BYTES = 1_000_000
_LINK, _FILE = "120000", ("100644", "100755")
# `@docs/guide.md`, `@./a.md`, `@"a b.md"`, `@a\ b.md`; not the `@` of an address
_IMPORT = re.compile(r"""(?<![\w@/.])@(?:"([^"\n]{1,500})"|((?:\\.|[^\s\\`'"<>|*?]){1,500}))""")
_SETTINGS = (".json", ".jsonc", ".yml", ".yaml", ".toml")
_TEXT_FILE = re.compile(r"[^\s\"',\[\]{}]{1,500}\.(?:md|mdc|mdx|txt|rst)\b|\"[^\"\n]{1,500}\.(?:md|mdc|mdx|txt|rst)\"")


@dataclass(frozen=True, slots=True)
class Imported:
    """Files and folders that the instruction files of a commit import, relative to the root of the repository."""

    # `*` and `?` for globs in settings
    files: frozenset[str] = frozenset()
    # targets of links that have the name of an instruction folder
    folders: frozenset[str] = frozenset()

    def has(self, path: str) -> bool:
        """Whether the path is imported, is inside an imported folder, or replaces a folder above an imported one."""
        parts = path.split("/")
        if path in self.files or any("/".join(parts[:count]) in self.folders for count in range(1, len(parts) + 1)):
            return True
        if any(one.startswith(f"{path}/") for one in (*self.files, *self.folders)):
            return True
        return any(fnmatchcase(path, glob) for glob in self.files if "*" in glob or "?" in glob)


@dataclass(slots=True)
class _Tree:
    """The files of one commit: path → mode, type and object."""

    entries: Mapping[str, str]
    project: Project
    contents: dict[str, str] = field(default_factory=dict)

    def load(self, paths: Iterable[str]) -> None:
        """Read many files with one process."""
        missing = [path for path in dict.fromkeys(paths) if path in self.entries and path not in self.contents]
        answers = read_objects(self.project, [self.entries[path].split(" ")[2] for path in missing]) if missing else []
        for path, found in zip(missing, answers, strict=True):
            self.contents[path] = (found[1] if found else b"")[:_MAX_BYTES].decode("utf-8", "surrogateescape")

    def mode(self, path: str) -> str:
        return self.entries.get(path, "").partition(" ")[0]

    def text(self, path: str) -> str:
        self.load([path])
        return self.contents[path]

    def steps(self, path: str) -> Iterator[str]:
        """The path and the targets of the links on it, one after the other; stops at the border of the repository."""
        for _ in range(_MAX_DEPTH):
            yield path
            parts = path.split("/")
            prefixes = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
            link = next((one for one in prefixes if self.mode(one) == _LINK), None)
            rest = path[len(link) + 1 :] if link else ""
            target = _inside(posixpath.dirname(link), posixpath.join(self.text(link), rest)) if link else None
            if target is None:
                return
            path = target


def imported_paths(project: Project, commit: str, names: Sequence[str]) -> Imported:
    """Follow imports and links from every file of the commit that matches one of the patterns."""
    return _imported_paths(project, commit, tuple(names))


@lru_cache(maxsize=64)  # the base is the same in every cycle
def _imported_paths(project: Project, commit: str, names: tuple[str, ...]) -> Imported:
    tree = _Tree(list_entries(project, commit), project)
    files: set[str] = set()
    folders: set[str] = set()
    level = named_paths(tree.entries, names)
    for depth in range(_MAX_DEPTH):
        tree.load(level[:_MAX_FILES])
        following: list[str] = []
        for path in level[:_MAX_FILES]:
            steps = list(tree.steps(path))
            files.update(steps)
            if depth == 0 and len(steps) > 1 and not tree.mode(steps[-1]):
                folders.add(steps[-1])
                following += [one for one in tree.entries if one.startswith(f"{steps[-1]}/")]
            if tree.mode(steps[-1]) in _FILE:
                # programs resolve an import relative to the link, to its target, or to the root
                places = {posixpath.dirname(path), posixpath.dirname(steps[-1]), ""}
                imports = _imports(steps[-1], tree.text(steps[-1]))
                following += [one for name in imports for at in places if (one := _inside(at, name))]
        level = [path for path in dict.fromkeys(following) if path not in files]
        files.update(level)
    return Imported(frozenset(path for path in files if not is_named(path, names)), frozenset(folders))


def _imports(path: str, text: str) -> list[str]:
    if path.endswith(_SETTINGS):
        return [word.strip('"') for word in _TEXT_FILE.findall(text)][:_MAX_FILES]
    words = (in_quotes or re.sub(r"\\(.)", r"\1", plain) for in_quotes, plain in _IMPORT.findall(text))
    # punctuation may follow a path
    return [name for word in words for name in dict.fromkeys((word, word.rstrip(".,;:!)]}")))][:_MAX_FILES]


def _inside(folder: str, name: str) -> str | None:
    """The path relative to the root; None outside of the repository."""
    if not name or name.startswith(("/", "~")) or "\0" in name:
        return None
    path = posixpath.normpath(posixpath.join(folder, name))
    return None if path in (".", "..") or path.startswith("../") else path

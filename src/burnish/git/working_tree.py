"""Writes the user's index or checkout as a tree, without changing the user's repository."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from burnish.errors import BadInput, BurnishError, PhaseFailed
from burnish.git.base import copy_shared_index, file_mode
from burnish.git.checkout import gitlinks
from burnish.git.discovery import FoundRepository
from burnish.git.files import copy_index, disk_errors
from burnish.git.objects import link_objects
from burnish.git.project import SECRETS, Project, is_secret, open_project, quoted, user_settings
from burnish.git.run import bare_env, git
from burnish.git.staging import DirtyPaths, find_dirty_paths, stage, write_tree

# generated content: a missing line in .gitignore should not flood the review
INSTALLED = frozenset(
    b"node_modules bower_components __pycache__ .venv .tox .nox .mypy_cache .pytest_cache .ruff_cache".split()
)

# submodules inside of each other
_MAX_DEPTH = 10
_ENTRY = re.compile(
    rb"(?P<mode>\d+) (?P<sha>[0-9a-f]+) (?P<stage>\d)\t(?P<path>[^\0]+)\0"
    rb"  ctime: (?P<ctime>\d+):(?P<ctime_ns>\d+)\n  mtime: (?P<mtime>\d+):(?P<mtime_ns>\d+)\n"
    rb"[^\n]*\n[^\n]*\n  size: \d+\tflags: (?P<flags>[0-9a-f]+)\n"
)
# Clocks of file systems move in steps of up to ten milliseconds.
_STEP_NS = 20_000_000
_INTENT_TO_ADD, _SKIP_WORKTREE = 0x20000000, 0x40000000


@dataclass(frozen=True, slots=True)
class UserTree:
    """A tree made of the user's index or checkout, and the paths that were left out of it."""

    tree: str
    # new files that look like secrets
    secrets: tuple[str, ...] = ()
    # files and folders, also those with a name that git refuses
    unreadable: tuple[str, ...] = ()
    # new folders that are separate repositories, or that a package manager filled
    nested: tuple[str, ...] = ()
    installed: tuple[str, ...] = ()
    # staged with content that differs from the file: `git commit` would commit what was not reviewed
    staged: tuple[str, ...] = ()
    # with content that is not in the commit that is checked out there
    submodules: tuple[str, ...] = ()


def private_project(found: FoundRepository, place: Path) -> Project:
    """A temporary git dir and object store below `place`; the store borrows from the user's."""
    project = open_project(found, home=place, key="review")
    store = place / "objects"
    (store / "info").mkdir(parents=True)
    (store / "info" / "alternates").write_bytes(
        os.fsencode(quoted(link_objects(project, project.user_objects))) + b"\n"
    )
    # not ignored silently: `checkout_tree` leaves out secret files and reports their names
    exclude = project.own / "info" / "exclude"
    exclude.write_bytes(exclude.read_bytes().removesuffix(SECRETS.encode()))
    # no compression, because the store is temporary
    lines = ["[core]", "\tlooseCompression = 0"]
    if user_settings(project).get("core.autocrlf", "").lower() not in ("", "false", "no", "off", "0"):
        # files have CRLF line ends and commits LF: without this every line would count as changed
        lines.append("\tautocrlf = input")
    with (project.own / "config").open("a") as config:
        config.write("\n".join(lines) + "\n")
    return replace(project, store=store)


def index_tree(project: Project, head: str | None = None) -> UserTree:
    """Write the user's index as a tree. `head`: the commit that is checked out."""
    with _index_copy(project) as copy:
        try:
            tree = write_tree(project, copy)
            _write_again(project, copy, project.root, head)
            if tree != write_tree(project, copy):
                # git commits by these trees, and shows by the files
                raise BadInput(
                    "The index is damaged: the trees that it stores are not those of its files.",
                    hint="Write it again with `git reset`, then stage your changes.",
                )
            return UserTree(tree)
        except PhaseFailed as failed:
            conflicts = project.git("ls-files", "-u", "-z", index=copy).stdout
            if not conflicts:
                raise
            raise BadInput(
                "The index has merge conflicts, so what is staged cannot be reviewed.",
                hint="Use `burnish review --dirty` to review the files in the working tree.",
            ) from failed


def checkout_tree(project: Project, head: str | None = None) -> UserTree:
    """Write the user's working tree as a tree, with changed and new files, without ignored ones.

    `head`: the commit to compare the index with.
    """
    with _index_copy(project) as copy:
        entries = _write_again(project, copy, project.root, head)
        submodules = _take_submodules(project, copy)
        dirt = find_dirty_paths(project, copy, project.root, file_mode=file_mode(project), ours=False)
        dirt = _without(dirt, _same_content(project, dirt, entries) | _filtered(project, dirt, entries, head))
        tracked_changes = {*dirt.to_stage, *dirt.to_drop} - dirt.new
        staged_paths = _staged(project, copy, head) & tracked_changes if head and tracked_changes else set()
        inside = _foreign(project, dirt.new)
        secrets = {path for path in dirt.new - inside.keys() if is_secret(os.fsdecode(path))}
        unreadable = {p for p in dirt.to_stage if p not in secrets and p not in inside and not _can_read(project, p)}
        unreadable |= {*dirt.closed, *dirt.too_long, *dirt.forbidden}
        stage(project, copy, project.root, _without(dirt, secrets | unreadable | inside.keys()))
        folders = set(inside.values())
        installed_folders = {folder for folder in folders if not (project.root / os.fsdecode(folder) / ".git").exists()}
        names = (secrets, unreadable, folders - installed_folders, installed_folders, staged_paths, submodules)
        return UserTree(write_tree(project, copy), *map(_sorted_names, names))


def _staged(project: Project, index: Path, head: str) -> set[bytes]:
    args = ("diff-index", "--cached", "--name-only", "--no-renames", "-z", head)
    return set(project.git(*args, index=index).stdout.split(b"\0"))


@contextmanager
def _index_copy(project: Project) -> Iterator[Path]:
    """A copy of the user's index, because git may write to the index that it reads."""
    with TemporaryDirectory(dir=project.own, prefix="look-") as folder, disk_errors("copying the index"):
        copy = Path(folder) / "index"
        source = _index_of(project)
        if source.is_file():
            copy_index(source, copy)
        copy_shared_index(project)
        yield copy


def _index_of(project: Project) -> Path:
    """The user's index, or the temporary one that `git commit -a` passes to hooks."""
    variable = os.environ.get("GIT_INDEX_FILE")
    own = (project.root / variable).resolve() if variable else None
    return own if own and own.parent == project.git_dir and own.is_file() else project.git_dir / "index"


def _can_read(project: Project, path: bytes) -> bool:
    """Whether the file is readable; deleted files and links count as readable."""
    full = os.path.join(os.fsencode(project.root), path)  # noqa: PTH118 (bytes)
    return not os.path.lexists(full) or os.path.islink(full) or os.access(full, os.R_OK)  # noqa: PTH114


def _foreign(project: Project, paths: Iterable[bytes]) -> dict[bytes, bytes]:
    """New files in a nested repository or an installed package → that folder."""
    base = os.fsencode(project.root)
    homes: dict[bytes, bytes | None] = {b"": None}

    def home(folder: bytes) -> bytes | None:
        if folder not in homes:
            above = home(os.path.dirname(folder))  # noqa: PTH120 (bytes)
            homes[folder] = above or (folder if _is_foreign(base, folder) else None)
        return homes[folder]

    found = ((path, home(os.path.dirname(path))) for path in paths)  # noqa: PTH120
    return {path: folder for path, folder in found if folder is not None}


def _is_foreign(base: bytes, folder: bytes) -> bool:
    inside = (os.path.join(base, folder, name) for name in (b".git", b"pyvenv.cfg"))  # noqa: PTH118 (bytes)
    return os.path.basename(folder) in INSTALLED or any(map(os.path.lexists, inside))  # noqa: PTH119


def _without(dirt: DirtyPaths, left_out: set[bytes]) -> DirtyPaths:
    return replace(dirt, to_stage=tuple(p for p in dirt.to_stage if p not in left_out), new=dirt.new - left_out)


def _sorted_names(paths: set[bytes]) -> tuple[str, ...]:
    return tuple(os.fsdecode(path) for path in sorted(paths))


def _take_submodules(project: Project, index: Path) -> set[bytes]:
    """Stage the checked-out commit of each submodule; returns those with content that is not in that commit.

    Their files are not part of the tree: only their commits can be reviewed here.
    """
    links = gitlinks(project, index)
    if not links:
        return set()
    new_heads = {
        path: head
        for path, sha in links.items()
        if (head := _submodule_head(project, _place(project.root, path), "commit")) not in (None, sha)
    }
    lines = b"".join(f"160000 {head}\t".encode() + path + b"\0" for path, head in new_heads.items())
    if lines:
        project.git("update-index", "-z", "--index-info", index=index, work_tree=project.root, stdin=lines)
    _skip_submodules(project, index, project.root, links)
    return {path for path in links if _has_more(project, _place(project.root, path), _MAX_DEPTH)}


def _skip_submodules(project: Project, index: Path, root: Path, links: Mapping[bytes, str]) -> None:
    names = b"".join(path + b"\0" for path in links)
    project.git("update-index", "--skip-worktree", "-z", "--stdin", index=index, work_tree=root, stdin=names)


def _place(root: Path, path: bytes) -> Path:
    return root / os.fsdecode(path)


def _has_more(project: Project, root: Path, levels: int) -> bool:
    """Whether the folder has changed, new or staged content. What cannot be looked at counts as such."""
    if root.is_symlink() or not root.is_dir():
        # an absent one is an empty folder, or none
        return os.path.lexists(root)
    git_dir = _submodule_git_dir(root)
    if git_dir is None:
        return any(root.iterdir())
    try:
        return levels == 0 or _differs(project, root, git_dir, levels)
    except (BurnishError, OSError):
        return True


def _differs(project: Project, root: Path, git_dir: Path, levels: int) -> bool:
    """Compares by a copy of its index, with burnish's own settings: its own could name programs to start."""
    with TemporaryDirectory(dir=project.own, prefix="look-") as folder, disk_errors("copying the index"):
        copy = Path(folder) / "index"
        if not (git_dir / "index").is_file():
            return True
        copy_index(git_dir / "index", copy)
        entries = _write_again(project, copy, root)
        links = gitlinks(project, copy)
        if links:
            _skip_submodules(project, copy, root, links)
        dirt = find_dirty_paths(project, copy, root, file_mode=file_mode(project), ours=False)
        # its own attributes: other ones than those of its commit are a difference themselves
        same_paths = _same_content(project, dirt, entries, root) | _filtered(project, dirt, entries, None, root)
        if dirt.forbidden or _without(dirt, same_paths):
            return True
        staged_tree = project.git("write-tree", "--missing-ok", index=copy).stdout.decode().strip()
    if staged_tree != _submodule_head(project, root, "tree"):
        return True
    return any(
        _submodule_head(project, _place(root, path), "commit") not in (None, sha)
        or _has_more(project, _place(root, path), levels - 1)
        for path, sha in links.items()
    )


def _submodule_git_dir(root: Path) -> Path | None:
    dot_git = root / ".git"
    git_dir = dot_git
    if dot_git.is_file():
        text = os.fsdecode(dot_git.read_bytes())
        git_dir = dot_git.parent / text.removeprefix("gitdir:").strip("\n\r ")
    return git_dir if (git_dir / "HEAD").is_file() else None


def _submodule_head(project: Project, root: Path, kind: str) -> str | None:
    git_dir = _submodule_git_dir(root)
    if git_dir is None:
        return None
    env = bare_env(project.own) | {"GIT_DIR": str(git_dir)}
    name = f"HEAD^{{{kind}}}"
    result = git("rev-parse", "--verify", "--quiet", name, cwd=project.own, env=env, ok=(0, 1, 128))
    return result.stdout.decode().strip() or None


@dataclass(frozen=True, slots=True)
class _IndexEntry:
    """A file of the user's index, and whether its times there are those of the file."""

    mode: bytes
    sha: bytes
    has_same_times: bool


def _write_again(project: Project, index: Path, root: Path, head: str | None = None) -> dict[bytes, _IndexEntry]:
    """Write a copy of an index again with only the names and hashes of its files, so that git compares their content.

    All else may be false: an agent can write the index. By its times, its flags or its lists of new files, a changed
    file looks unchanged, and by the trees that it stores, other content is reviewed. Returns the files.
    `head`: a commit of the project whose trees need not be written again.
    """
    if not index.is_file():
        return {}
    written_ns = index.stat().st_mtime_ns
    base = os.fsencode(root)
    output = project.git("ls-files", "-s", "--debug", "-z", index=index, work_tree=root).stdout
    matches = [entry for entry in _ENTRY.finditer(output) if not int(entry["flags"], 16) & _INTENT_TO_ADD]
    index.unlink()
    if head:
        project.git("read-tree", head, index=index)
    before = set(project.git("ls-files", "-s", "-z", index=index).stdout.split(b"\0")[:-1])
    after = {b"%b %b %b\t%b" % entry.group("mode", "sha", "stage", "path") for entry in matches}
    removals = (b"0 %b\t%b" % (project.zero.encode(), line.partition(b"\t")[2]) for line in sorted(before - after))
    lines = b"".join(line + b"\0" for line in (*removals, *sorted(after - before)))
    project.git("update-index", "-z", "--index-info", index=index, work_tree=root, stdin=lines)
    # a sparse checkout does not have these files
    skipped_paths = [
        entry["path"]
        for entry in matches
        if int(entry["flags"], 16) & _SKIP_WORKTREE and not os.path.lexists(os.path.join(base, entry["path"]))  # noqa: PTH118
    ]
    if skipped_paths:
        names = b"".join(path + b"\0" for path in skipped_paths)
        project.git("update-index", "--skip-worktree", "-z", "--stdin", index=index, work_tree=root, stdin=names)
    return {
        entry["path"]: _IndexEntry(entry["mode"], entry["sha"], not _is_stale(entry, base, written_ns))
        for entry in matches
    }


def _same_content(
    project: Project, dirt: DirtyPaths, entries: Mapping[bytes, _IndexEntry], root: Path | None = None
) -> set[bytes]:
    """Files that have the bytes of the index, and that git would convert if they were staged (line ends)."""
    root = root or project.root
    base = os.fsencode(root)
    is_executable_known = file_mode(project)
    paths = [path for path in dirt.to_stage if path in entries and b"\n" not in path]
    paths = [path for path in paths if _has_mode(base, path, entries[path].mode, is_executable_known)]
    if not paths:
        return set()
    names = b"".join(os.path.join(base, path) + b"\n" for path in paths)  # noqa: PTH118
    hashes = project.git("hash-object", "--no-filters", "--stdin-paths", stdin=names).stdout.split()
    return {path for path, sha in zip(paths, hashes, strict=True) if sha == entries[path].sha}


def _has_mode(base: bytes, path: bytes, mode: bytes, is_executable_known: bool) -> bool:
    full = os.path.join(base, path)  # noqa: PTH118
    try:
        found = os.lstat(full)
    except OSError:
        return False
    is_same = not is_executable_known or bool(found.st_mode & 0o100) == (mode == b"100755")
    return stat.S_ISREG(found.st_mode) and mode.startswith(b"100") and is_same and os.access(full, os.R_OK)


def _filtered(
    project: Project,
    dirt: DirtyPaths,
    entries: Mapping[bytes, _IndexEntry],
    head: str | None,
    root: Path | None = None,
) -> set[bytes]:
    """Files that a filter of the user's git (git-crypt, Git LFS) has changed on disk, if only their content differs.

    The filter is not run, so these are compared by their times. `head`: the commit whose attributes count, so that a
    change cannot declare a filter for itself; None: those beside the files.
    """
    paths = [path for path in dirt.to_stage if (entry := entries.get(path)) and entry.has_same_times]
    if not paths:
        return set()
    names = b"".join(path + b"\0" for path in paths)
    words = ["-z", "--stdin", "filter"]
    with TemporaryDirectory(dir=project.own, prefix="look-") as folder:
        index = Path(folder) / "index"
        if root is None:
            if head is None:
                return set()
            project.git("read-tree", head, index=index)
            words.insert(0, "--cached")
        place, root = project.own / "attributes", root or project.root
        output = project.git("check-attr", *words, index=index, work_tree=root, git_dir=place, stdin=names).stdout
    fields = output.split(b"\0")
    values = dict(zip(fields[0::3], fields[2::3], strict=False))
    return {path for path in paths if values.get(path) not in (None, b"unspecified", b"unset", b"set")}


def _is_stale(entry: re.Match[bytes], base: bytes, written_ns: int) -> bool:
    """Whether the times of the file are others than in the index, or so new that it may have changed since."""
    index_times = [(int(entry[name]), int(entry[f"{name}_ns"])) for name in ("ctime", "mtime")]
    try:
        found = os.lstat(os.path.join(base, entry["path"]))  # noqa: PTH118 (bytes)
    except OSError:
        return True
    actual = [divmod(ns, 10**9) for ns in (found.st_ctime_ns, found.st_mtime_ns)]
    if not any(ns for _, ns in index_times):
        # the file system, or git, knows no parts of a second
        return [seconds for seconds, _ in actual] != [seconds for seconds, _ in index_times]
    return actual != index_times or found.st_ctime_ns > written_ns - _STEP_NS

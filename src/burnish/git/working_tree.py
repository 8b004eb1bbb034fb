"""The user's index or checkout as a tree. Their repository is read, never written."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from burnish.errors import BadInput, PhaseFailed
from burnish.git.base import copy_shared, file_mode
from burnish.git.files import copy_index, disk_errors
from burnish.git.layout import gitlinks
from burnish.git.object_links import link_objects
from burnish.git.project import SECRETS, FoundRepository, Project, open_project, quoted, user_settings
from burnish.git.run import bare_env, git
from burnish.git.staging import DirtyPaths, look, stage, write_tree

# Nobody wrote what is in these; a missing line in .gitignore should not drown the review.
INSTALLED = frozenset(
    b"node_modules bower_components __pycache__ .venv .tox .nox .mypy_cache .pytest_cache .ruff_cache".split()
)


@dataclass(frozen=True, slots=True)
class UserTree:
    """A tree made of the user's index or checkout, and the paths that were left out of it."""

    tree: str
    # new files that look like secrets
    secrets: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    # new folders that are repositories of their own, or hold what a program put there
    nested: tuple[str, ...] = ()
    installed: tuple[str, ...] = ()
    # staged with other content than the file has: `git commit` would take what was not looked at
    staged: tuple[str, ...] = ()


def private_project(found: FoundRepository, place: Path) -> Project:
    """Our own git dir below `place`, and objects of our own that borrow from the user's: all gone with `place`."""
    project = open_project(found, home=place, key="review")
    store = place / "objects"
    (store / "info").mkdir(parents=True)
    (store / "info" / "alternates").write_bytes(
        os.fsencode(quoted(link_objects(project, project.user_objects))) + b"\n"
    )
    # What looks like a secret is not to be passed over in silence: it is left out by name, below.
    exclude = project.own / "info" / "exclude"
    exclude.write_bytes(exclude.read_bytes().removesuffix(SECRETS.encode()))
    # Nothing in there outlives the review: small is not worth waiting for.
    lines = ["[core]", "\tlooseCompression = 0"]
    if user_settings(project).get("core.autocrlf", "").lower() not in ("", "false", "no", "off", "0"):
        # Their files end lines as Windows does, their commits do not: every line would look changed.
        lines.append("\tautocrlf = input")
    with (project.own / "config").open("a") as config:
        config.write("\n".join(lines) + "\n")
    return replace(project, store=store)


def index_tree(project: Project) -> UserTree:
    """What the user has staged."""
    with _index_copy(project) as copy:
        try:
            return UserTree(write_tree(project, copy))
        except PhaseFailed as failed:
            unmerged = project.git("ls-files", "-u", "-z", index=copy).stdout
            if not unmerged:
                raise
            raise BadInput(
                "The index has paths with merge conflicts, so it cannot be reviewed.",
                hint="`burnish review --dirty` reviews the files as they lie there.",
            ) from failed


def checkout_tree(project: Project, head: str | None = None) -> UserTree:
    """The files as they lie there: staged, changed and new ones, ignored ones aside.

    `head`: the commit to compare what is staged with.
    """
    with _index_copy(project) as copy:
        _look_at_every_file(project, copy)
        _take_submodules(project, copy)
        dirt = look(project, copy, project.root, file_mode=file_mode(project), ours=False)
        changed = {*dirt.taken, *dirt.dropped} - dirt.new
        staged = _staged(project, copy, head) & changed if head and changed else set()
        inside = _foreign(project, dirt.new)
        secrets = {path for path in dirt.new - inside.keys() if is_secret(os.fsdecode(path))}
        unreadable = {p for p in dirt.taken if p not in secrets and p not in inside and not _can_read(project, p)}
        stage(project, copy, project.root, _without(dirt, secrets | unreadable | inside.keys()))
        folders = set(inside.values())
        installed = {folder for folder in folders if not (project.root / os.fsdecode(folder) / ".git").exists()}
        names = (secrets, unreadable, folders - installed, installed, staged)
        return UserTree(write_tree(project, copy), *map(_named, names))


def _staged(project: Project, index: Path, head: str) -> set[bytes]:
    args = ("diff-index", "--cached", "--name-only", "--no-renames", "-z", head)
    return set(project.git(*args, index=index).stdout.split(b"\0"))


@contextmanager
def _index_copy(project: Project) -> Iterator[Path]:
    """git writes to the index it is shown; the user's is not shown to it."""
    with TemporaryDirectory(dir=project.own, prefix="look-") as folder, disk_errors("copying the index"):
        copy = Path(folder) / "index"
        source = _index_of(project)
        if source.is_file():
            copy_index(source, copy)
        copy_shared(project)
        yield copy


def _index_of(project: Project) -> Path:
    """The user's index, or the one that git has for a hook: `git commit -a` stages into one of its own."""
    named = os.environ.get("GIT_INDEX_FILE")
    own = (project.root / named).resolve() if named else None
    return own if own and own.parent == project.git_dir and own.is_file() else project.git_dir / "index"


def _can_read(project: Project, path: bytes) -> bool:
    """Deleted files and links need no reading."""
    full = os.path.join(os.fsencode(project.root), path)  # noqa: PTH118 (bytes)
    return not os.path.lexists(full) or os.path.islink(full) or os.access(full, os.R_OK)  # noqa: PTH114


def _foreign(project: Project, paths: Iterable[bytes]) -> dict[bytes, bytes]:
    """New files in a repository of its own, or that a program put there → that folder. Not this project's work."""
    base = os.fsencode(project.root)
    known: dict[bytes, bytes | None] = {b"": None}

    def home(folder: bytes) -> bytes | None:
        if folder not in known:
            above = home(os.path.dirname(folder))  # noqa: PTH120 (bytes)
            known[folder] = above or (folder if _is_foreign(base, folder) else None)
        return known[folder]

    found = ((path, home(os.path.dirname(path))) for path in paths)  # noqa: PTH120
    return {path: folder for path, folder in found if folder is not None}


def _is_foreign(base: bytes, folder: bytes) -> bool:
    inside = (os.path.join(base, folder, name) for name in (b".git", b"pyvenv.cfg"))  # noqa: PTH118 (bytes)
    return os.path.basename(folder) in INSTALLED or any(map(os.path.lexists, inside))  # noqa: PTH119


def _without(dirt: DirtyPaths, left_out: set[bytes]) -> DirtyPaths:
    return replace(dirt, taken=tuple(p for p in dirt.taken if p not in left_out), new=dirt.new - left_out)


def _named(paths: set[bytes]) -> tuple[str, ...]:
    return tuple(os.fsdecode(path) for path in sorted(paths))


def is_secret(path: str) -> bool:
    name, answer = path.rpartition("/")[2], False
    for pattern in SECRETS.split():
        if fnmatch.fnmatchcase(name, pattern.removeprefix("!")):
            answer = not pattern.startswith("!")
    return answer


def _look_at_every_file(project: Project, index: Path) -> None:
    """Take back `assume-unchanged`, and `skip-worktree` where the file is on disk: a sparse checkout has none there."""
    records = project.git("ls-files", "-v", "-z", index=index, work_tree=project.root).stdout.split(b"\0")[:-1]
    base = os.fsencode(project.root)
    assumed = [record[2:] for record in records if record[:1].islower()]
    skipped = [r[2:] for r in records if r[:1] in b"Ss" and os.path.lexists(os.path.join(base, r[2:]))]  # noqa: PTH118
    for option, paths in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)):
        if paths:
            names = b"".join(path + b"\0" for path in paths)
            project.git("update-index", option, "-z", "--stdin", index=index, work_tree=project.root, stdin=names)


def _take_submodules(project: Project, index: Path) -> None:
    """A submodule counts as the commit that its checkout stands on; its files are not looked at."""
    links = gitlinks(project, index)
    if not links:
        return
    moved = {path: head for path, sha in links.items() if (head := _submodule_head(project, path)) not in (None, sha)}
    lines = b"".join(f"160000 {head}\t".encode() + path + b"\0" for path, head in moved.items())
    if lines:
        project.git("update-index", "-z", "--index-info", index=index, work_tree=project.root, stdin=lines)
    names = b"".join(path + b"\0" for path in links)
    args = ("update-index", "--skip-worktree", "-z", "--stdin")
    project.git(*args, index=index, work_tree=project.root, stdin=names)


def _submodule_head(project: Project, path: bytes) -> str | None:
    dot_git = project.root / os.fsdecode(path) / ".git"
    git_dir = dot_git
    if dot_git.is_file():
        text = os.fsdecode(dot_git.read_bytes())
        git_dir = dot_git.parent / text.removeprefix("gitdir:").strip("\n\r ")
    if not (git_dir / "HEAD").is_file():
        return None
    env = bare_env(project.own) | {"GIT_DIR": str(git_dir)}
    done = git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", cwd=project.own, env=env, ok=(0, 1, 128))
    return done.stdout.decode().strip() or None

"""Finds the user's repository without running git. Every command does this first, so it imports little."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.errors import BadInput
from burnish.folder_walk import walk_folders
from burnish.proc.own_programs import record_checkout
from burnish.regular_files import read_regular

# files of a git dir that every git command reads
_GIT_FILES = (
    *("HEAD", "config", "config.worktree", "commondir", "index", "packed-refs", "shallow"),
    *("info/exclude", "info/attributes", "info/grafts", "objects/info/alternates"),
)
# those of them that git quotes in error messages
_QUOTED_FILES = ("packed-refs", "shallow", "info/grafts", "objects/info/alternates")


@dataclass(frozen=True, slots=True)
class FoundRepository:
    """Paths of the user's repository."""

    root: Path
    git_dir: Path
    common_dir: Path
    bare: bool = False


def discover(start: Path) -> FoundRepository:
    """The checkout that contains `start`, found without running git."""
    start = start.resolve()
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        if os.path.lexists(dot_git):
            record_checkout(folder)
        if dot_git.is_dir() and _is_git_dir(dot_git):
            return _found_repository(folder, dot_git.resolve())
        if dot_git.is_file():
            return _found_repository(folder, _read_pointer(dot_git))
        if _is_git_dir(folder):
            raise BadInput(
                f"{folder} is a bare repository or a git directory, not a checkout.",
                hint="Change to a checkout of it (`git clone` or `git worktree add`) and try again.",
            )
    raise BadInput(
        f"{start} is not inside a git repository.", hint="Change to your repository, or create one with `git init`."
    )


def _found_repository(root: Path, git_dir: Path) -> FoundRepository:
    refuse_special_files(git_dir, _GIT_FILES, follow=True)
    _refuse_foreign_files(git_dir)
    pointer = git_dir / "commondir"
    common = (git_dir / pointer.read_text().strip()).resolve() if pointer.is_file() else git_dir
    if common != git_dir:
        refuse_special_files(common, _GIT_FILES, follow=True)
        _refuse_foreign_files(common)
    if common.name == ".git":
        record_checkout(common.parent)  # the main checkout of a linked one
    return FoundRepository(root, git_dir, common)


def _read_pointer(dot_git: Path) -> Path:
    text = os.fsdecode(dot_git.read_bytes())
    if not text.startswith("gitdir:"):
        raise BadInput(f"{dot_git} does not name a git directory.", hint="Repair it with `git worktree repair`.")
    target = (dot_git.parent / text.removeprefix("gitdir:").strip("\n\r ")).resolve()
    if not (target / "HEAD").exists():
        raise BadInput(
            f"{dot_git} points to {target}, which is not a git directory.",
            hint="The main repository may have moved: run `git worktree repair` there.",
        )
    return target


def _is_git_dir(folder: Path) -> bool:
    return (
        os.path.lexists(folder / "HEAD")
        and (folder / "objects").is_dir()
        and ((folder / "refs").is_dir() or (folder / "commondir").is_file())
    )


def refuse_special_files(
    folder: Path, names: Sequence[str] = (".gitignore", ".gitattributes"), *, follow: bool = False
) -> None:
    """Refuse pipes and devices, on which git would hang. `follow`: also targets of links."""
    for name in names:
        try:
            mode = (folder / name).stat(follow_symlinks=follow).st_mode
        except OSError:
            continue
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise BadInput(
                f"{folder / name} is a pipe or a device, on which git would hang.",
                hint="Remove it, and try again.",
            )


def refuse_special_refs_and_objects(git_dir: Path) -> None:
    """The same for all files of refs and objects, also borrowed ones. Takes as long as git on a large repository."""
    pointer = _read(git_dir / "commondir").strip()
    objects = (git_dir / pointer).resolve() / "objects"
    lines = _read(objects / "info" / "alternates").splitlines()
    for top in (git_dir / "refs", objects.parent / "refs", objects, *(objects / line for line in lines)):
        for folder, _, names in walk_folders(top):
            refuse_special_files(Path(folder), names, follow=True)


def _refuse_foreign_files(git_dir: Path) -> None:
    """Refuse links to other files, because git quotes their content in errors. A link to another git dir is fine."""
    for name in _QUOTED_FILES:
        real = (git_dir / name).resolve()
        if real.name != Path(name).name:
            raise BadInput(
                f"{git_dir / name} is a link to {real}, which is not a git file.", hint="Remove it, and try again."
            )


# -- worktrees ------------------------------------------------------------------------------------
# Lists the checkouts of a repository without running git.


def list_checkouts(common_dir: Path) -> list[Path]:
    """The main checkout, if any, and all existing linked work trees."""
    folder = common_dir / "worktrees"
    try:
        folders = sorted(folder.iterdir())
    except OSError:
        folders = []
    places = [_main(common_dir), *map(worktree_of, folders)]
    return list(dict.fromkeys(place for place in places if place and (place / ".git").exists()))


def worktree_of(git_dir: Path) -> Path | None:
    """The work tree of a folder below `.git/worktrees`; newer git versions may store a relative path."""
    text = _read(git_dir / "gitdir").rstrip("\n")
    return Path(os.path.normpath(git_dir / text)).parent if text else None


def _main(common_dir: Path) -> Path | None:
    """The parent of the git dir, unless the config names another folder (a submodule, `--separate-git-dir`)."""
    setting = re.search(r'^\s*worktree\s*=\s*"?([^"\n]+)"?\s*$', _read(common_dir / "config"), re.I | re.M)
    if setting:
        return Path(os.path.normpath(common_dir / setting[1].strip()))
    return common_dir.parent if common_dir.name == ".git" else None


def _read(path: Path) -> str:
    return os.fsdecode(read_regular(path) or b"")


def has_remote_branches(found: FoundRepository) -> bool:
    """Whether a remote has branches of tasks, found without running git."""
    try:
        if any((found.common_dir / "refs" / "remotes").glob("*/burnish/*")):
            return True
        packed = (found.common_dir / "packed-refs").read_bytes()
    except OSError:
        return False
    return re.search(rb" refs/remotes/[^/\n]+/burnish/", packed) is not None

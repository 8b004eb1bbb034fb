"""Lists the checkouts of a repository without running git."""

from __future__ import annotations

import os
import re
from pathlib import Path

from burnish.regular_files import read_regular


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

"""Where a repository is checked out, read from its files: git itself is not asked."""

from __future__ import annotations

import os
import re
from pathlib import Path

from burnish.regular_files import read_regular


def list_checkouts(common_dir: Path) -> list[Path]:
    """The main checkout, if there is one, and every linked work tree that is still there."""
    linked = common_dir / "worktrees"
    try:
        folders = sorted(linked.iterdir())
    except OSError:
        folders = []
    places = [_main(common_dir), *map(linked_at, folders)]
    return list(dict.fromkeys(place for place in places if place and (place / ".git").exists()))


def linked_at(git_dir: Path) -> Path | None:
    """The work tree that a folder below `worktrees` belongs to; newer git may write its place relative to there."""
    text = _read(git_dir / "gitdir").rstrip("\n")
    return Path(os.path.normpath(git_dir / text)).parent if text else None


def _main(common_dir: Path) -> Path | None:
    """Beside its git folder, unless the settings name another place (a submodule, `--separate-git-dir`)."""
    named = re.search(r'^\s*worktree\s*=\s*"?([^"\n]+)"?\s*$', _read(common_dir / "config"), re.I | re.M)
    if named:
        return Path(os.path.normpath(common_dir / named[1].strip()))
    return common_dir.parent if common_dir.name == ".git" else None


def _read(path: Path) -> str:
    return os.fsdecode(read_regular(path) or b"")

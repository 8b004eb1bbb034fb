"""Chooses a remote of the user's repository, for what the user asked to push or fetch."""

from __future__ import annotations

from pathlib import Path

from burnish.errors import BurnishError
from burnish.git.target_branch import user_git


def choose_remote(root: Path, *, to: str, branch: str = "", hint: str) -> str:
    """The remote of the branch, else `origin`, else the only remote. `hint`: how to name one of several."""
    remotes = _lines(root, "remote")
    of_branch = _lines(root, "config", "--get", f"branch.{branch}.remote") if branch else []
    candidates = [*of_branch, "origin", *(remotes if len(remotes) == 1 else [])]
    if found := [name for name in candidates if name in remotes]:
        return found[0]
    if not remotes:
        raise BurnishError(f"There is no remote to {to}.", hint="`git remote add origin URL`")
    raise BurnishError(f"Cannot tell which remote to {to}: {', '.join(remotes)}.", hint=hint)


def _lines(root: Path, *args: str) -> list[str]:
    return user_git(root, *args).stdout.decode(errors="replace").split()

"""Remotes of the user's repository, for what the user asked to push or fetch."""

from __future__ import annotations

from pathlib import Path

from burnish.errors import BurnishError
from burnish.git.target_branch import user_git
from burnish.proc.capture import Captured

# Who can push to a remote decides what a fetch brings: of a pull request, anybody.
MAX_FILE_BYTES = 2 * 1024**3
_MAX_PRINTED_BYTES = 4 * 1024**2
# A few objects would become files of their own, and the size of each file is limited.
_ONE_PACK = ("-c", "fetch.unpackLimit=1")
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")


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


def fetch(root: Path, *args: str, options: tuple[str, ...] = (), timeout: float = 600.0) -> Captured:
    """`git fetch` with these arguments. Raises if it would bring more than MAX_FILE_BYTES."""
    words = (*options, *_ONE_PACK, *_FETCH, *args)
    result = user_git(root, *words, timeout=timeout, max_bytes=_MAX_PRINTED_BYTES, max_file_bytes=MAX_FILE_BYTES)
    if result.exit_code and _remove_cut_packs(root):
        raise BurnishError(
            f"git fetch would bring more than {MAX_FILE_BYTES // 1024**2:,} MB. Nothing was fetched.",
            hint=f"If you want it, fetch it by hand: git fetch {' '.join(args)}",
        )
    return result


def _remove_cut_packs(root: Path) -> bool:
    """Remove packs that the limit cut off: git leaves them until its next gc. False if there are none."""
    names = _lines(root, "rev-parse", "--git-path", "objects/pack")
    found = [path for path in (root / names[0]).glob("tmp_pack_*") if _is_cut(path)] if names else []
    for path in found:
        path.unlink(missing_ok=True)
    return bool(found)


def _is_cut(path: Path) -> bool:
    try:
        return path.lstat().st_size == MAX_FILE_BYTES
    except OSError:
        return False


def _lines(root: Path, *args: str) -> list[str]:
    return user_git(root, *args).stdout.decode(errors="replace").split()

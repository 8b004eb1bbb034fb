"""Finds the programs that burnish itself uses, such as git and bubblewrap: never in a checkout.

A folder of a checkout may be on PATH by its absolute path (direnv, an activated environment). The authors of the
repository control its files, and these programs run outside of the sandbox. The checkouts are recorded for the whole
process, because the code that looks for bubblewrap does not know the project.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from burnish.proc.environment import is_below, path_outside_of
from burnish.proc.socket_paths import cache_period

_lock = threading.Lock()
# Every checkout that this process used, by its real path, and whether the user trusts it.
_checkouts: dict[str, bool] = {}


def record_checkout(root: Path, *, trusted: bool | None = None) -> None:
    """Exclude `root` from the search for burnish's own programs. `trusted=None` keeps the recorded trust."""
    place = os.path.realpath(root)
    around = enclosing_checkouts(Path(place))
    with _lock:
        _checkouts[place] = _checkouts.get(place, False) if trusted is None else trusted
        for outer in around:
            _checkouts.setdefault(str(outer), False)


def enclosing_checkouts(root: Path) -> list[Path]:
    """Checkouts that contain this one, e.g. as a submodule: their folders may be on PATH as well.

    Excludes one that contains the home directory, such as a dotfiles repository: the user's own programs are there.
    """
    found = [place for place in root.parents if os.path.lexists(place / ".git")]
    home = Path.home().resolve() if found else Path()
    return [place for place in found if not home.is_relative_to(place)]


def own_path(path: str | None = None) -> str:
    """PATH without relative entries and without those in a checkout.

    Cached for moments, since every git call needs it.
    """
    with _lock:
        roots = frozenset(_checkouts)
    return _own_path(_or_own_path(path), _working_directory(), roots, cache_period())


@lru_cache(maxsize=16)
def _own_path(path: str, _folder: str, _roots: frozenset[str], _period: int) -> str:
    return path_outside_of(path, _recorded_checkouts())


# Folders of version managers, and variables that name the folder above `bin`. Most call their own `shims`.
_SHIM_FOLDERS = (f"{os.sep}shims", f"{os.sep}.volta{os.sep}bin", f"{os.sep}aquaproj-aqua{os.sep}bin")
_SHIM_ROOTS = ("VOLTA_HOME", "AQUA_ROOT_DIR")


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 (text alone)
    except OSError:
        return ""


def find_own_program(name: str, path: str | None = None) -> str | None:
    """The path of a program that is not in a checkout, also not through a link.

    A path is returned unchanged, unless it leads into an untrusted checkout. The shim of a version manager is the last
    choice: in a checkout it may start a program of it (`nodejs path:./tools` in `.tool-versions`).
    """
    entries = _or_own_path(path).split(os.pathsep)
    return _find(name, os.pathsep.join(sorted(entries, key=_is_shim_folder)), _recorded_checkouts())


def find_agent_program(name: str) -> str | None:
    """An agent's program, which may be in a trusted checkout, e.g. in its activated environment."""
    return _find(name, _or_own_path(None), _recorded_checkouts(untrusted_only=True))


def lies_in_untrusted_checkout(program: str) -> bool:
    """True if this path or its target is in an untrusted checkout; never for burnish's own interpreter."""
    return program != sys.executable and _lies_in(program, _recorded_checkouts(untrusted_only=True))


def lies_in_checkout(program: str) -> bool:
    """The same for any checkout, trusted or not."""
    return _lies_in(program, _recorded_checkouts())


def _lies_in(program: str, checkouts: set[str]) -> bool:
    forms = (os.path.realpath(program), os.path.abspath(program))  # noqa: PTH100 (no link is followed)
    return any(is_below(form, checkouts) for form in forms)


def untrusted_argument(words: Sequence[str]) -> str:
    """The first argument that names a file in an untrusted checkout; "" if none.


    `vim -u ./vimrc`, `less --lesskey-src=key`, `sh -c "./show"`: such a file may be executed.
    """
    return next((word for word in words[1:] if any(map(_is_untrusted_file, _paths_in(word)))), "")


def _is_shim_folder(entry: str) -> bool:
    """Whether it is the folder of asdf, mise, volta, aqua or the like for programs that they choose at each start."""
    folder = entry.rstrip(os.sep)
    if f"{os.sep}{folder}".endswith(_SHIM_FOLDERS):
        return True
    roots = (os.environ.get(name, "").rstrip(os.sep) for name in _SHIM_ROOTS)
    return any(root and folder == f"{root}{os.sep}bin" for root in roots)


def _paths_in(word: str) -> set[str]:
    parts = {word, *re.split(r"[\s=,:;|&()<>'\"`]+", word)}
    # A path may be attached to an option: `-u./vimrc`. `-R` does not name a file R, and `.` is a folder to open.
    option_paths = {re.sub(r"^-\w", "", part) for part in parts if part.startswith("-") and os.sep in part}
    return {os.path.expanduser(part) for part in (parts | option_paths) - {"", ".", ".."}}  # noqa: PTH111 (text alone)


def _is_untrusted_file(path: str) -> bool:
    return "\0" not in path and os.path.lexists(path) and lies_in_untrusted_checkout(path)


def _or_own_path(path: str | None) -> str:
    return os.environ.get("PATH", os.defpath) if path is None else path


def _recorded_checkouts(*, untrusted_only: bool = False) -> set[str]:
    here = _checkouts_here()
    with _lock:
        roots = {root for root, trusted in _checkouts.items() if not (untrusted_only and trusted)}
        return roots | {root for root in here if root not in _checkouts}


def _checkouts_here() -> list[str]:
    """The checkouts around the working directory: commands that need no repository do not record them."""
    try:
        folder = Path.cwd()
    except OSError:
        return []
    found = next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)
    return [str(found), *map(str, enclosing_checkouts(found))] if found else []


def _find(name: str, path: str, checkouts: set[str]) -> str | None:
    # imported here, so that commands that only read start faster
    import shutil

    if os.sep in name:
        return None if lies_in_untrusted_checkout(name) else shutil.which(name)
    for entry in path_outside_of(path, checkouts).split(os.pathsep):
        program = shutil.which(name, path=entry)
        if program and not is_below(os.path.realpath(program), checkouts):
            return program
    return None

"""Where burnish finds the programs that it starts for itself, such as git and bubblewrap: never in a checkout.

A folder of a checkout may be on PATH by its absolute path (direnv, an activated environment). What lies there is
written by the authors of the repository, and these programs run outside of the sandbox. The checkouts are recorded for
the whole process: bubblewrap is looked for in places that know of no project.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from burnish.proc.environment import is_below, path_outside_of

_lock = threading.Lock()
# every checkout that this process has looked at, by its real path, and whether a person trusts it
_checkouts: dict[str, bool] = {}


def record_checkout(root: Path, *, trusted: bool | None = None) -> None:
    """From now on no program of burnish's own is found below `root`. None: trust stays as recorded, at first none."""
    place = os.path.realpath(root)
    around = enclosing_checkouts(Path(place))
    with _lock:
        _checkouts[place] = _checkouts.get(place, False) if trusted is None else trusted
        for outer in around:
            _checkouts.setdefault(str(outer), False)


def enclosing_checkouts(root: Path) -> list[Path]:
    """Checkouts that this one lies in, e.g. as a submodule: their folders may be on PATH as well.

    Not one that the home directory lies in, such as a repository of dotfiles: the user's own programs are there.
    """
    found = [place for place in root.parents if os.path.lexists(place / ".git")]
    home = Path.home().resolve() if found else Path()
    return [place for place in found if not home.is_relative_to(place)]


def own_path(path: str | None = None) -> str:
    """PATH without relative entries and without those in a checkout."""
    return path_outside_of(_or_ours(path), _recorded())


def find_own_program(name: str, path: str | None = None) -> str | None:
    """A program by its name: one that lies in no checkout, also not behind a link.

    A path is taken as given, unless it leads into a checkout that is not trusted.
    """
    return _find(name, _or_ours(path), _recorded())


def find_agent_program(name: str) -> str | None:
    """An agent's program: it may lie in a checkout that a person trusts, e.g. in its activated environment."""
    return _find(name, _or_ours(None), _recorded(untrusted_only=True))


def lies_in_untrusted_checkout(program: str) -> bool:
    """Is this path, or what it leads to, in a checkout that is not trusted? burnish's own interpreter is not."""
    if program == sys.executable:
        return False
    forms = (os.path.realpath(program), os.path.abspath(program))  # noqa: PTH100 (no link is followed)
    untrusted = _recorded(untrusted_only=True)
    return any(is_below(form, untrusted) for form in forms)


def untrusted_argument(words: Sequence[str]) -> str:
    """The first word behind a program's name that names a file in a checkout that is not trusted; else empty.

    `vim -u ./vimrc`, `less --lesskey-src=key`, `sh -c "./show"`: a file that an argument names may be run.
    """
    return next((word for word in words[1:] if any(map(_is_untrusted_file, _paths_in(word)))), "")


def _paths_in(word: str) -> set[str]:
    parts = {word, *re.split(r"[\s=,:;|&()<>'\"`]+", word)}
    # a path may be attached to an option: `-u./vimrc`. `-R` is not a file that is named R, and `.` is a folder to open.
    attached = {re.sub(r"^-\w", "", part) for part in parts if part.startswith("-") and os.sep in part}
    return {os.path.expanduser(part) for part in (parts | attached) - {"", ".", ".."}}  # noqa: PTH111 (text alone)


def _is_untrusted_file(path: str) -> bool:
    return "\0" not in path and os.path.lexists(path) and lies_in_untrusted_checkout(path)


def _or_ours(path: str | None) -> str:
    return os.environ.get("PATH", os.defpath) if path is None else path


def _recorded(*, untrusted_only: bool = False) -> set[str]:
    here = _checkouts_here()
    with _lock:
        known = {root for root, trusted in _checkouts.items() if not (untrusted_only and trusted)}
        return known | {root for root in here if root not in _checkouts}


def _checkouts_here() -> list[str]:
    """The checkouts around the working directory: commands that need no repository do not record them."""
    try:
        folder = Path.cwd()
    except OSError:
        return []
    found = next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)
    return [str(found), *map(str, enclosing_checkouts(found))] if found else []


def _find(name: str, path: str, checkouts: set[str]) -> str | None:
    if os.sep in name:
        return None if lies_in_untrusted_checkout(name) else shutil.which(name)
    for entry in path_outside_of(path, checkouts).split(os.pathsep):
        program = shutil.which(name, path=entry)
        if program and not is_below(os.path.realpath(program), checkouts):
            return program
    return None

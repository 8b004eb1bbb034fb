"""Where burnish finds the programs that it starts for itself, such as git and bubblewrap: never in a checkout.

A folder of a checkout may be on PATH by its absolute path (direnv, an activated environment). What lies there is
written by the authors of the repository, and these programs run outside of the sandbox. The checkouts are recorded for
the whole process: bubblewrap is looked for in places that know of no project.
"""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

from burnish.proc.environment import path_outside

_lock = threading.Lock()
# every checkout that this process has looked at, and whether a person trusts it
_checkouts: dict[Path, bool] = {}


def record_checkout(root: Path, *, trusted: bool | None = None) -> None:
    """From now on no program of burnish's own is found below `root`. None: trust stays as recorded, at first none."""
    place = root.resolve()
    with _lock:
        _checkouts[place] = _checkouts.get(place, False) if trusted is None else trusted


def own_path(path: str | None = None) -> str:
    """PATH without relative entries and without those in a checkout."""
    return path_outside(_or_ours(path), *_recorded())


def find_own_program(name: str, path: str | None = None) -> str | None:
    """A program by its name: one that lies in no checkout, also not behind a link. A path is taken as given."""
    return _find(name, _or_ours(path), _recorded())


def find_agent_program(name: str) -> str | None:
    """An agent's program: it may lie in a checkout that a person trusts, e.g. in its activated environment."""
    return _find(name, _or_ours(None), _recorded(untrusted_only=True))


def _or_ours(path: str | None) -> str:
    return os.environ.get("PATH", os.defpath) if path is None else path


def _recorded(*, untrusted_only: bool = False) -> tuple[Path, ...]:
    with _lock:
        return tuple(root for root, trusted in _checkouts.items() if not (untrusted_only and trusted))


def _find(name: str, path: str, checkouts: tuple[Path, ...]) -> str | None:
    if os.sep in name:
        return shutil.which(name)
    for entry in path_outside(path, *checkouts).split(os.pathsep):
        program = shutil.which(name, path=entry)
        if program and not any(Path(os.path.realpath(program)).is_relative_to(place) for place in checkouts):
            return program
    return None

"""Facts for detection besides the files: ignored paths, programs on PATH, modules of the Python on PATH."""

from __future__ import annotations

import os
import shutil
from functools import lru_cache
from pathlib import Path

from burnish.checks.tools import Surroundings
from burnish.errors import BurnishError
from burnish.git.discovery import FoundRepository
from burnish.git.ignored_paths import is_ignored
from burnish.proc.capture import capture
from burnish.proc.environment import path_outside


def detection_context(root: Path, found: FoundRepository | None = None) -> Surroundings:
    """The machine as seen by a check of the project at `root`. Starts no program below `root`."""
    path = path_outside(os.environ.get("PATH", os.defpath), root)
    return Surroundings(
        ignored=lambda name: found is not None and _is_ignored(found, name),
        has_program=lambda name: _has_program(name, path, root),
        has_module=lambda name: _has_module(name, path),
    )


def _is_ignored(found: FoundRepository, name: str) -> bool:
    try:
        return is_ignored(found, name)
    except BurnishError:  # git is missing, which `doctor` reports; False is the safe answer
        return False


def _has_program(name: str, path: str, root: Path) -> bool:
    return shutil.which(name, path=f"{root / '.venv' / 'bin'}{os.pathsep}{path}") is not None


@lru_cache(maxsize=32)
def _has_module(name: str, path: str) -> bool:
    """True if the Python on PATH can import the module. Isolated (-I): imports nothing from the current folder."""
    program = shutil.which("python3", path=path) or shutil.which("python", path=path)
    if program is None:
        return False
    script = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    try:
        result = capture([program, "-I", "-c", script, name], cwd=Path("/"), env={"PATH": path}, timeout=20)
    except BurnishError:
        return False
    return result.exit_code == 0

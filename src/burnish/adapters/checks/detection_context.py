"""What detection needs to know besides the files: ignored paths, programs on PATH, modules of the Python on PATH."""

from __future__ import annotations

import os
import shutil
from functools import lru_cache
from pathlib import Path

from burnish.checks.tools import Surroundings
from burnish.errors import BurnishError
from burnish.git.ignored_paths import is_ignored
from burnish.git.project import FoundRepository
from burnish.proc.capture import capture
from burnish.proc.environment import path_outside


def detection_context(root: Path, found: FoundRepository | None = None) -> Surroundings:
    """This machine, as a check of the project at `root` would find it. Nothing below `root` is started."""
    path = path_outside(os.environ.get("PATH", os.defpath), root)
    return Surroundings(
        ignored=lambda name: found is not None and _is_ignored(found, name),
        has_program=lambda name: _has_program(name, path, root),
        has_module=lambda name: _has_module(name, path),
    )


def _is_ignored(found: FoundRepository, name: str) -> bool:
    try:
        return is_ignored(found, name)
    except BurnishError:  # no git here: `doctor` says it, and the answer no is the safe one
        return False


def _has_program(name: str, path: str, root: Path) -> bool:
    return shutil.which(name, path=f"{root / '.venv' / 'bin'}{os.pathsep}{path}") is not None


@lru_cache(maxsize=32)
def _has_module(name: str, path: str) -> bool:
    """Asked of the Python on PATH, isolated (-I): nothing of the current folder is imported."""
    program = shutil.which("python3", path=path) or shutil.which("python", path=path)
    if program is None:
        return False
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    try:
        done = capture([program, "-I", "-c", look, name], cwd=Path("/"), env={"PATH": path}, timeout=20)
    except BurnishError:
        return False
    return done.exit_code == 0

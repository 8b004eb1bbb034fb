"""Overlay file systems: folders that look writable while everything below them stays as it is."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from burnish.errors import BurnishError
from burnish.proc import overlay_main
from burnish.proc.capture import capture
from burnish.proc.mounts import Mount

_PROGRAM = str(Path(overlay_main.__file__).resolve())
# Separators of the mount options. A path that holds one is copied instead of mounted.
_RESERVED = frozenset(":,\\")


@dataclass(frozen=True, slots=True)
class Overlay:
    """One mount: `lower` folders, topmost first, below a writable layer in `scratch`, seen at `target`."""

    lower: tuple[Path, ...]
    # an empty folder of our own, on a disk: it holds what was written, and is deleted by its owner
    scratch: Path
    target: Path

    @property
    def upper(self) -> Path:
        return self.scratch / "upper"

    def create(self) -> None:
        """Make the folders that the mount needs."""
        for folder in (self.upper, self.scratch / "work", self.target):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def option(self) -> str:
        lower = ":".join(str(folder) for folder in self.lower)
        return f"{lower},{self.upper},{self.scratch / 'work'},{self.target}"


@dataclass(frozen=True, slots=True)
class TreeView:
    """How a program sees a tree: mounts inside its sandbox, and overlays that are mounted before it."""

    mounts: tuple[Mount, ...] = ()
    overlays: tuple[Overlay, ...] = ()

    def remove_scratch(self) -> None:
        """Delete what was written above the overlays."""
        for overlay in self.overlays:
            # the kernel leaves a folder there that its owner cannot list
            hidden = overlay.scratch / "work" / "work"
            with suppress(OSError):
                if not any(place.is_symlink() for place in (overlay.scratch, hidden.parent, hidden)):
                    hidden.chmod(0o700)
            shutil.rmtree(overlay.scratch, ignore_errors=True)


def mountable(paths: Sequence[Path]) -> bool:
    """Can these paths stand in mount options?"""
    return not any(_RESERVED.intersection(str(path)) for path in paths)


def with_overlays(argv: Sequence[str], overlays: Sequence[Overlay]) -> tuple[str, ...]:
    """The same command, with the overlays mounted for it alone."""
    if not overlays:
        return tuple(argv)
    return (sys.executable, "-I", "-S", _PROGRAM, *(overlay.option for overlay in overlays), "--", *argv)


def overlay_works(folder: Path) -> bool:
    """Can this user mount an overlay whose layers lie in `folder`? Only a trial tells; the answer is kept."""
    return sys.platform.startswith("linux") and mountable([folder]) and _tried(folder, os.geteuid())


@lru_cache
def _tried(folder: Path, _user: int) -> bool:
    try:
        with tempfile.TemporaryDirectory(prefix="overlay-", dir=folder) as place:
            here = Path(place)
            (here / "lower").mkdir()
            overlay = Overlay((here / "lower",), here / "scratch", here / "target")
            overlay.create()
            write = ("/bin/sh", "-c", 'echo x >"$0"/x', str(overlay.target))
            env = {"PATH": os.defpath}
            done = capture(with_overlays(write, [overlay]), cwd=Path("/"), env=env, timeout=10)
            return done.exit_code == 0 and (overlay.upper / "x").is_file()
    except (OSError, BurnishError):
        return False

"""Overlay file systems: folders that are writable while the layers below stay unchanged."""

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
    # An empty private folder on disk, which receives the written files; its owner deletes it.
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
        """Delete the writable layers of the overlays."""
        for overlay in self.overlays:
            # The kernel leaves a folder there that its owner cannot list.
            work_folder = overlay.scratch / "work" / "work"
            with suppress(OSError):
                if not any(place.is_symlink() for place in (overlay.scratch, work_folder.parent, work_folder)):
                    work_folder.chmod(0o700)
            shutil.rmtree(overlay.scratch, ignore_errors=True)


def mountable(paths: Sequence[Path]) -> bool:
    """True if these paths can be used in mount options."""
    return not any(_RESERVED.intersection(str(path)) for path in paths)


def with_overlays(argv: Sequence[str], overlays: Sequence[Overlay]) -> tuple[str, ...]:
    """The same command, with the overlays mounted for it alone."""
    if not overlays:
        return tuple(argv)
    return (sys.executable, "-I", "-S", _PROGRAM, *(overlay.option for overlay in overlays), "--", *argv)


def overlay_works(folder: Path) -> bool:
    """True if this user can mount an overlay with layers in `folder`. Tested by a trial mount; cached."""
    return sys.platform.startswith("linux") and mountable([folder]) and _try_overlay(folder, os.geteuid())


@lru_cache
def _try_overlay(folder: Path, _user: int) -> bool:
    try:
        with tempfile.TemporaryDirectory(prefix="overlay-", dir=folder) as place:
            here = Path(place)
            (here / "lower").mkdir()
            overlay = Overlay((here / "lower",), here / "scratch", here / "target")
            overlay.create()
            write = ("/bin/sh", "-c", 'echo x >"$0"/x', str(overlay.target))
            env = {"PATH": os.defpath}
            result = capture(with_overlays(write, [overlay]), cwd=Path("/"), env=env, timeout=10)
            return result.exit_code == 0 and (overlay.upper / "x").is_file()
    except (OSError, BurnishError):
        return False

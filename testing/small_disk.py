"""A file system of a few megabytes that can be filled and made read-only; only root mounts one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path


@contextmanager
def small_disk(place: Path, *, megabytes: int = 16) -> Iterator[Path]:
    place.mkdir(parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "tmpfs", str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True, capture_output=True)


def make_read_only(place: Path) -> None:
    _mount("-o", "remount,ro", str(place))


def fill(place: Path) -> Path:
    """Not a byte left; returns the file that takes the room."""
    file = place / "filling"
    with file.open("ab", buffering=0) as writer:
        for size in (1 << 20, 4096, 1):
            try:
                while writer.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    return file


def _mount(*args: str) -> None:
    subprocess.run(["mount", *args], check=True, capture_output=True, timeout=30)


@cache
def why_no_mount() -> str:
    """Why nothing can be mounted here; empty if it can."""
    if os.geteuid() != 0:
        return "only root mounts file systems"
    place = Path(os.environ.get("TMPDIR", "/tmp")) / f"burnish-mount-{os.getpid()}"
    try:
        with small_disk(place, megabytes=1):
            return ""
    except (subprocess.SubprocessError, OSError) as error:
        return f"nothing can be mounted here: {error}"
    finally:
        place.rmdir()

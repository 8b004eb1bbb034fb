"""A disk whose power can be cut: an ext4 image, copied at a moment as the device itself has it at that moment."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

# the kernel's journal is written only when a program asks for it, not every five seconds
_OPTIONS = "loop,noatime,commit=600"
_SIZE = 96 * 1024 * 1024


@contextmanager
def disk(image: Path, place: Path) -> Iterator[Path]:
    """The image, mounted at `place`; made first if there is none."""
    if not image.exists():
        with image.open("wb") as file:
            file.truncate(_SIZE)
        _run("mkfs.ext4", "-q", "-F", str(image))
    place.mkdir(parents=True, exist_ok=True)
    _run("mount", "-o", _OPTIONS, str(image), str(place))
    try:
        yield place
    finally:
        _run("umount", "-l", str(place))


def sync_disk(place: Path) -> None:
    """All that is written so far is safe: the cut concerns only what comes later."""
    _run("sync", "-f", str(place))


def cut_power(image: Path, copy: Path) -> Path:
    """What the device holds now; what the kernel still has in memory is not in it."""
    shutil.copyfile(image, copy)
    return copy


@cache
def why_no_disk() -> str:
    """Why images cannot be mounted here; empty if they can."""
    if os.geteuid() != 0:
        return "only root mounts images"
    if shutil.which("mkfs.ext4") is None:
        return "mkfs.ext4 is not installed"
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"burnish-power-{os.getpid()}"
    folder.mkdir()
    try:
        with disk(folder / "image", folder / "place"):
            return ""
    except (subprocess.SubprocessError, OSError) as error:
        return f"loop devices cannot be mounted here: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, timeout=60)

"""A disk whose power can be cut: an image of a file system, copied as the device itself has it at that moment."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class FileSystem:
    """How one is made and mounted, and the smallest size that it takes."""

    make: tuple[str, ...]
    options: str
    megabytes: int


# ext4: the kernel's journal is written only when a program asks for it, not every five seconds
FILE_SYSTEMS = {
    "ext4": FileSystem(("mkfs.ext4", "-q", "-F"), "loop,noatime,commit=600", 96),
    "xfs": FileSystem(("mkfs.xfs", "-q", "-f"), "loop,noatime", 320),
    "btrfs": FileSystem(("mkfs.btrfs", "-q", "-f"), "loop,noatime,commit=300", 128),
}


@contextmanager
def disk(image: Path, place: Path, kind: str = "ext4") -> Iterator[Path]:
    """The image, mounted at `place`; made first if there is none."""
    system = FILE_SYSTEMS[kind]
    if not image.exists():
        with image.open("wb") as file:
            file.truncate(system.megabytes * 1024 * 1024)
        _run(*system.make, str(image))
    place.mkdir(parents=True, exist_ok=True)
    # a copy of an xfs image has the id of the first one, which may still be mounted
    options = f"{system.options},nouuid" if kind == "xfs" else system.options
    _run("mount", "-t", kind, "-o", options, str(image), str(place))
    try:
        yield place
    finally:
        _run("umount", "-l", str(place))


def sync_disk(place: Path) -> None:
    """All that is written so far is safe: the cut concerns only what comes later."""
    _run("sync", "-f", str(place))


def cut_power(image: Path, copy: Path) -> Path:
    """What the device holds now; what the kernel still has in memory is not in it."""
    _run("cp", "--sparse=always", str(image), str(copy))
    return copy


@cache
def why_no_disk(kind: str = "ext4") -> str:
    """Why images cannot be mounted here; empty if they can."""
    if os.geteuid() != 0:
        return "only root mounts images: run this test as root to cut the power of a disk"
    if shutil.which(FILE_SYSTEMS[kind].make[0]) is None:
        return f"{FILE_SYSTEMS[kind].make[0]} is not installed"
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"burnish-power-{kind}-{os.getpid()}"
    folder.mkdir()
    try:
        with disk(folder / "image", folder / "place", kind):
            return ""
    except (subprocess.SubprocessError, OSError) as error:
        return f"loop devices cannot be mounted here: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, timeout=120)

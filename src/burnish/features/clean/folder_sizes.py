"""What many folders take on the disk, measured for a limited time and remembered for the next time.

A project may have millions of files. Each time the folders are measured first whose size is not known, or that were
measured longest ago; the others count with the size that is remembered.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

from burnish.git.files import disk_usage

# path of a folder → when it was measured, and bytes
Sizes = dict[str, tuple[float, int]]


def total_size(places: Iterable[Path], memory: Path, deadline: float) -> int:
    """Of all folders directly below the places. `deadline` is a moment of `time.monotonic`."""
    folders = [entry.path for place in places if place.is_dir() for entry in os.scandir(place)]
    sizes_by_folder = _read(memory)
    for folder in sorted(folders, key=lambda one: sizes_by_folder.get(one, (0.0, 0))[0]):
        if time.monotonic() > deadline:
            break
        size = disk_usage(Path(folder), deadline=deadline)
        if time.monotonic() > deadline:
            # only a part was counted
            size = max(size, sizes_by_folder.get(folder, (0.0, 0))[1])
        sizes_by_folder[folder] = (time.time(), size)
    sizes = {folder: sizes_by_folder[folder] for folder in folders if folder in sizes_by_folder}
    _write(memory, sizes)
    return sum(size for _, size in sizes.values())


def _read(memory: Path) -> Sizes:
    try:
        return {str(path): (float(at), int(size)) for path, (at, size) in json.loads(memory.read_bytes()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write(memory: Path, sizes: Sizes) -> None:
    # without a sync: if it is lost, the folders are measured again
    draft = memory.with_name(f".{memory.name}.{os.getpid()}")
    draft.write_text(json.dumps(sizes))
    draft.replace(memory)

"""Syncs written files to disk, so that they survive a power loss. `shim.py` loads this file: only cheap imports."""

from __future__ import annotations

import ctypes
import os


def sync_file_systems(folders: tuple[str, ...]) -> None:
    """Sync the file systems of these folders, for files written by any program."""
    syncfs = getattr(ctypes.CDLL(None), "syncfs", None)
    devices = []
    for folder in folders:
        try:
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue  # the program removed it
        device = os.fstat(fd).st_dev
        if device not in devices and (syncfs is None or syncfs(fd) != 0):
            os.sync()
        devices.append(device)
        os.close(fd)


def replace_synced(new: str, path: str) -> None:
    """Rename a file and sync its content and its name to disk."""
    _sync(new, os.O_RDONLY)
    os.rename(new, path)  # noqa: PTH104 (pathlib is not loaded)
    _sync(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)  # noqa: PTH120


def _sync(path: str, flags: int) -> None:
    fd = os.open(path, flags)
    os.fsync(fd)
    os.close(fd)

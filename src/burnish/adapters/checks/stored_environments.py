"""The stored check environments of a project: lists them, shows which are in use, deletes the others."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from burnish.git.files import disk_usage, remove_tree


@dataclass(frozen=True, slots=True)
class StoredEnvironment:
    path: Path
    bytes: int
    used_at: datetime
    in_use: bool

    def as_json(self) -> dict[str, Any]:
        used_at = self.used_at.isoformat(timespec="seconds")
        return {"name": self.path.name, "bytes": self.bytes, "used_at": used_at, "in_use": self.in_use}


def home_of(layer: Path) -> Path:
    """The folder of the files that set-up left in its home directory, if any."""
    return layer.with_name(f".{layer.name}.home")


@contextmanager
def environment_in_use(layer: Path | None) -> Iterator[None]:
    """Protects the environment from deletion. Several processes may use it at once."""
    if layer is None:
        yield
        return
    with _open_lock(layer) as fd:
        fcntl.flock(fd, fcntl.LOCK_SH)
        yield


def delete_unused(layer: Path) -> bool:
    """Delete the environment unless a process uses it."""
    with _open_lock(layer) as fd:
        if not _try_exclusive_lock(fd):
            return False
        # Renamed first, so that a partly deleted folder is not used as an environment.
        trash = layer.with_name(f".{layer.name}.deleted")
        remove_tree(trash)
        try:
            layer.rename(trash)
        except FileNotFoundError:
            return True
        remove_tree(home_of(layer))
        remove_tree(trash)
    return True


def list_environments(cache: Path, *, with_size: bool = True) -> list[StoredEnvironment]:
    """The stored environments, most recently used first. Without `with_size`, sizes are 0, which is faster."""
    try:
        layers = [Path(entry.path) for entry in os.scandir(cache) if entry.is_dir() and entry.name[0] != "."]
    except FileNotFoundError:
        return []
    found = [one for layer in layers if (one := _describe(layer, with_size=with_size))]
    return sorted(found, key=lambda one: one.used_at, reverse=True)


def size_of(layer: Path) -> int:
    """The disk usage of the environment."""
    home = home_of(layer)
    return disk_usage(layer) + (disk_usage(home) if home.is_dir() else 0)


def _describe(layer: Path, *, with_size: bool) -> StoredEnvironment | None:
    try:
        used_at = datetime.fromtimestamp(layer.stat().st_mtime, UTC)
    except FileNotFoundError:
        return None  # deleted by another process
    with _open_lock(layer) as fd:
        in_use = not _try_exclusive_lock(fd)
    return StoredEnvironment(layer, size_of(layer) if with_size else 0, used_at, in_use)


@contextmanager
def _open_lock(layer: Path) -> Iterator[int]:
    fd = os.open(layer.with_name(f".{layer.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


def _try_exclusive_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

"""File helpers for directories that agents can write to: they do not follow links, and they write atomically."""

from __future__ import annotations

import errno
import hashlib
import itertools
import math
import os
import secrets
import shutil
import stat
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from burnish.core.status import ErrorCode
from burnish.durability import is_sync_enabled
from burnish.errors import PhaseFailed
from burnish.folder_walk import walk_folders
from burnish.proc.folders import remove_folder, sync_folder
from burnish.regular_files import read_regular

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def disk_errors(doing: str) -> Iterator[None]:
    """Turn an OSError into a PhaseFailed with a hint."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise PhaseFailed(
                ErrorCode.DISK_FULL,
                f"The disk is full: {doing}.",
                hint="Free some space, then `burnish retry`.",
            ) from error
        raise PhaseFailed(
            ErrorCode.GIT_ERROR,
            f"{doing} failed: {error.strerror or error}.",
            hint=f"Check the permissions of {error.filename or 'the burnish home and the repository'}.",
        ) from error


def write_whole(
    path: Path, data: bytes, *, mode: int = 0o600, prefix: str = "", durable: bool = True, sync_name: bool = True
) -> None:
    """Write atomically: to a temporary file beside it, synced if `durable`, then renamed.

    Without `sync_name` the caller syncs the folder, once for several files.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=prefix or f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if durable:
                sync_file(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if durable and sync_name:
        sync_folder(path.parent)


def sync_file(handle: int) -> None:
    if is_sync_enabled():
        os.fsync(handle)


def write_if_changed(path: Path, data: bytes) -> None:
    try:
        if path.read_bytes() == data:
            return
    except FileNotFoundError:
        pass
    write_whole(path, data)


def copy_index(source: Path, target: Path) -> None:
    """Copy an index with its mtime: with a later one, git misses a file changed in the same tick to the same size."""
    shutil.copy2(source, target)


def is_real_dir(path: Path) -> bool:
    """Whether it is a directory, and not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


# in the names of folders that were moved out of the place of a workspace
PUT_ASIDE = ".replaced-"


def move_out_of_the_way(path: Path) -> Path:
    """Rename what is at `path` to a free name beside it; returns the new path."""
    for number in itertools.count(1):
        target = path.with_name(f"{path.name}{PUT_ASIDE}{number}")
        if not os.path.lexists(target):
            return path.rename(target)
    raise AssertionError("unreachable")


def remove_tree(path: Path) -> None:
    """Remove a file, a link or a directory; links are not followed."""
    if not is_real_dir(path):
        path.unlink(missing_ok=True)
        return
    remove_folder(path)


def restore_owner_rights(root: Path) -> None:
    """Let the owner list and change every directory below; links are not followed."""
    for here, dirs, _files in walk_folders(root):
        for name in dirs:
            target = Path(here) / name
            if is_real_dir(target) and target.lstat().st_mode & 0o700 != 0o700:
                target.chmod(target.lstat().st_mode | 0o700)


def disk_usage(folder: Path, *, deadline: float = math.inf) -> int:
    """Bytes on disk; links are not followed. After `deadline` (of `time.monotonic`) counting stops."""
    total, waiting = 0, [folder]
    # not os.walk: an agent may nest folders deeper than Python's recursion limit
    while waiting:
        here = waiting.pop()
        try:
            total += here.lstat().st_blocks * 512
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue  # removed meanwhile
    return total


_PIECE = 1024 * 1024


def copy_sparse(source: Path, target: Path) -> None:
    """Copy a regular file (readable by its owner only) or a symbolic link; pipes, sockets and devices are skipped."""
    with suppress(OSError):
        target.symlink_to(source.readlink())
        return
    reader = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(reader)
        if not stat.S_ISREG(status.st_mode):
            return
        writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            for start, end in _data_ranges(reader, status.st_size):
                _copy_range(reader, writer, start, end)
            os.ftruncate(writer, status.st_size)
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def _data_ranges(handle: int, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of the file that are not holes; the whole file where the file system does not support holes."""
    end = 0
    while end < size:
        try:
            start = os.lseek(handle, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                yield end, size
            return
        end = min(size, os.lseek(handle, start, os.SEEK_HOLE))
        yield start, end


def _copy_range(reader: int, writer: int, start: int, end: int) -> None:
    while start < end and (data := os.pread(reader, min(_PIECE, end - start), start)):
        start += os.pwrite(writer, data, start)


_SIGNATURE = b"DIRC"


def count_files(index: Path) -> int:
    """How many files an index has, by its first bytes; 0 if there is none."""
    head = read_regular(index, longest=12) or b""
    return int.from_bytes(head[8:12]) if head.startswith(_SIGNATURE) else 0


# the hash at the end of the file (by the repository's object format) and its length
_HASHES = (("sha1", 20), ("sha256", 32))


def is_sound_index(path: Path) -> bool:
    """Whether the file ends with the hash of its content. A missing file counts as sound: git creates a new one."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    hashes = ((hashlib.new(name, data[:-size], usedforsecurity=False).digest(), data[-size:]) for name, size in _HASHES)
    return data.startswith(_SIGNATURE) and any(digest == trailer for digest, trailer in hashes)


# of the flags in an entry of an index: that two more bytes follow; and the length of the name, or a longer one
_EXTENDED = 0x4000
_LONG_NAME = 0xFFF


@dataclass(frozen=True)
class IndexedPaths:
    """What an index says of a checkout: its folders, and files that were written lately."""

    folders: tuple[str, ...]
    recent_files: tuple[str, ...]


def indexed_paths(index: Path, since_ns: int, hash_size: int) -> IndexedPaths | None:
    """The folders, and the files whose ctime is in the second of `since_ns` or later; None if the form is not known."""
    data, since, at = index.read_bytes(), since_ns // 10**9, 12
    if int.from_bytes(data[4:8]) not in (2, 3):
        return None
    head = 42 + hash_size
    seconds_and_flags = struct.Struct(f">I{head - 6}xH").unpack_from
    folders, folder, recent = set[bytes](), b"", list[bytes]()
    for _ in range(int.from_bytes(data[8:12])):
        seconds, flags = seconds_and_flags(data, at)
        start = at + head + (2 if flags & _EXTENDED else 0)
        end = start + (flags & _LONG_NAME)
        if end == start + _LONG_NAME:
            end = data.index(b"\0", start)
        if seconds >= since:
            recent.append(data[start:end])
        cut = data.rfind(b"/", start, end) + 1
        if cut - start != len(folder) or not data.startswith(folder, start):
            folder = data[start:cut]
            folders.add(folder)
        # at least one NUL, up to a multiple of eight bytes
        at += (end - at + 8) & ~7
    above = {folder[: cut + 1] for folder in folders for cut in range(len(folder)) if folder[cut : cut + 1] == b"/"}
    return IndexedPaths(
        tuple(os.fsdecode(folder[:-1]) for folder in sorted(above)), tuple(os.fsdecode(path) for path in recent)
    )


def reset_folders(root: Path, paths: IndexedPaths | None = None) -> None:
    """Remove from a checkout what git does not see: a `.git` below the root, modes of folders, extended attributes.

    git writes a file again if its ctime is not that of the index, but most builds of git compare whole seconds.
    `paths`: those of a checkout without other files, and the files whose ctime can be in the same second; None if all
    can.
    """
    new_folder = root / f".new-{secrets.token_hex(8)}"
    new_folder.mkdir()
    usual_mode = stat.S_IMODE(new_folder.lstat().st_mode)
    new_folder.rmdir()
    _reset_folder(os.fspath(root), 0o700)
    if paths is None:
        _reset_all_below(root, usual_mode)
        return
    for name in paths.folders:
        folder = os.path.join(root, name)  # noqa: PTH118 (thousands of them)
        _reset_folder(folder, usual_mode)
        if os.path.lexists(f"{folder}/.git"):
            remove_tree(Path(folder, ".git"))
    for name in paths.recent_files:
        _remove_attributes(os.path.join(root, name))  # noqa: PTH118


def _reset_all_below(root: Path, usual_mode: int) -> None:
    pending = [os.fspath(root)]
    while pending:
        here = pending.pop()
        with os.scandir(here) as entries:
            below = list(entries)
        for entry in below:
            if entry.name == ".git":
                if here != os.fspath(root):
                    remove_tree(Path(entry.path))
            elif entry.is_dir(follow_symlinks=False):
                _reset_folder(entry.path, usual_mode)
                pending.append(entry.path)
            else:
                _remove_attributes(entry.path)


def _reset_folder(folder: str, mode: int) -> None:
    if stat.S_IMODE(os.lstat(folder).st_mode) != mode:
        os.chmod(folder, mode)  # noqa: PTH101
    _remove_attributes(folder)


def _remove_attributes(path: str) -> None:
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):  # the file system has none
        for name in os.listxattr(path, follow_symlinks=False):
            if name.startswith(("user.", "system.posix_acl_")):
                os.removexattr(path, name, follow_symlinks=False)

"""Copies a clean checkout by sharing blocks (reflink), where the file system can: xfs and btrfs on Linux.

The copy uses disk space only for files that change later. Its index is that of the checkout with the file times of the
copy, so that git neither reads nor writes a file again.
"""

from __future__ import annotations

import hashlib
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from burnish.errors import PhaseFailed
from burnish.git.checkout import TaskTree, check_out_files, may_have_gitlinks
from burnish.git.files import count_files, disk_errors, is_real_dir, remove_tree
from burnish.git.project import Project
from burnish.proc.capture import capture

# ioctl of Linux: clone a file
_FICLONE = 0x40049409
# names in one command line
_BATCH = 500
# seconds and nanoseconds of ctime and mtime, device, inode, mode, uid, gid, size
_STAT = struct.Struct(">10I")
_HEADER = 12
# of the flags in an entry: two more bytes follow
_EXTENDED = 0x4000
_WORD = 0xFFFFFFFF


def copy_checkout(project: Project, tree: TaskTree, commit: str, files: Path, index: Path) -> bool:
    """Fill the empty folder `files` with the commit, by way of the clean tree. False if that is not possible.

    Then `files` is empty, and `index` does not exist.
    """
    if not is_real_dir(tree.path) or index.exists() or not is_plain(tree.index) or any(files.iterdir()):
        return False
    if not _can_share(tree.index, files):
        return False
    try:
        check_out_files(project, tree.index, tree.path, commit, everything=True)
    except PhaseFailed:
        return False  # the caller writes all files, or meets the same cause
    with disk_errors(f"creating {files}"):
        if _copy_files(tree.path, files) and (data := _index_of_copy(tree, files)):
            index.write_bytes(data)
            # git compares the content of files that are not older than their index
            status = tree.index.stat()
            os.utime(index, ns=(status.st_atime_ns, status.st_mtime_ns))
            return True
        for child in files.iterdir():
            remove_tree(child)
    return False


def is_plain(index: Path) -> bool:
    """Whether it has no submodule: those have indexes of their own."""
    return count_files(index) > 0 and not may_have_gitlinks(index)


def _can_share(source: Path, folder: Path) -> bool:
    """Whether files of `folder` can share blocks with the file `source`."""
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    probe = folder / ".burnish-clone"
    try:
        with source.open("rb") as old, probe.open("xb") as new:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)
    return True


def _copy_files(source: Path, target: Path) -> bool:
    names = [entry.name for entry in os.scandir(source) if entry.name.lower() != ".git"]
    for start in range(0, len(names), _BATCH):
        some = [str(source / name) for name in names[start : start + _BATCH]]
        argv = ("cp", "-a", "--reflink=always", "-t", str(target), "--", *some)
        if capture(argv, cwd=Path("/"), env={"PATH": os.defpath}).exit_code:
            return False
    return True


def _index_of_copy(tree: TaskTree, files: Path) -> bytes | None:
    """The index of the tree for its copy. None if it has a form that is not known here."""
    data = bytearray(tree.index.read_bytes())
    size = next((n for name, n in (("sha1", 20), ("sha256", 32)) if _digest(name, data[:-n]) == data[-n:]), 0)
    if not size or int.from_bytes(data[4:8]) not in (2, 3):
        return None
    for at, path in _entries(data, size):
        _STAT.pack_into(data, at, *_status_of_copy(_STAT.unpack_from(data, at), tree.path / path, files / path))
    name = "sha1" if size == 20 else "sha256"
    return bytes(data[:-size]) + _digest(name, data[:-size])


def _digest(name: str, data: bytes | bytearray) -> bytes:
    return hashlib.new(name, data, usedforsecurity=False).digest()


def _entries(data: bytearray, hash_size: int) -> Iterator[tuple[int, str]]:
    """The offset and the path of each file."""
    at = _HEADER
    for _ in range(int.from_bytes(data[8:12])):
        flags_at = at + _STAT.size + hash_size
        start = flags_at + (4 if int.from_bytes(data[flags_at : flags_at + 2]) & _EXTENDED else 2)
        end = data.index(b"\0", start)
        yield at, os.fsdecode(bytes(data[start:end]))
        # at least one NUL, up to a multiple of eight bytes
        at += (end - at + 8) & ~7


def _status_of_copy(entry: tuple[int, ...], source: Path, copy: Path) -> tuple[int, ...]:
    """What git compares of the copied file, if the original is as its entry has it; else what makes git read it."""
    with suppress(OSError):
        old, new = source.lstat(), copy.lstat()
        same = (old.st_mtime_ns, old.st_size) == (new.st_mtime_ns, new.st_size)
        if same and _status(old, entry[6]) == entry:
            return _status(new, entry[6])
    return (0, 0, 0, 0, 0, 0, entry[6], 0, 0, 0)


def _status(found: os.stat_result, mode: int) -> tuple[int, ...]:
    times = (*divmod(found.st_ctime_ns, 10**9), *divmod(found.st_mtime_ns, 10**9))
    numbers = (*times, found.st_dev, found.st_ino, mode, found.st_uid, found.st_gid, found.st_size)
    return tuple(number & _WORD for number in numbers)

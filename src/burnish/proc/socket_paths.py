"""Finds Unix sockets and named pipes: programs can connect to them even through a read-only mount.

/proc/net/unix has the name that a socket was bound with. It says nothing of a later rename or a second hard link, has
names relative to a working directory, and lists one network namespace. So folders are searched as well.
"""
# os.path returns False where Path raises, and str keeps names that are not UTF-8.
# ruff: noqa: PTH115, PTH116, PTH118, PTH208

from __future__ import annotations

import os
import re
import stat
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

# How long a search is reused: a task starts several programs in a row.
_CACHE_SECONDS = 2.0
# A folder that changed this shortly before it was read is read again: the clock of a file system has steps.
_CLOCK_STEP_NS = 2_000_000_000
_MAX_READ_FOLDERS = 50_000
# Large, and written by package managers or git alone.
_SKIPPED_FOLDERS = frozenset({"node_modules", ".venv", "site-packages"})
_SKIPPED_IN_GIT = frozenset({"objects", "refs", "logs"})
# A socket may be bound with a name that contains a newline.
_LINE = re.compile(rb"\n(?=[0-9a-fA-F]{8,16}: )")


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """How many levels of folders are searched, and how many entries of them. A larger folder is searched in part."""

    levels: int
    entries: int


def search_folder(folder: Path, limits: SearchLimits) -> list[Path]:
    """Sockets and named pipes that are below `folder` now. Upper levels come first, in case a limit is reached."""
    found = _search(str(folder), limits, cache_period())
    # bubblewrap does not start if it has to mask a missing path.
    return [path for path in found if is_endpoint(path)]


def bound_names() -> tuple[Path, ...]:
    """Real paths of the sockets that processes of this user's network namespaces are bound to, and of open named pipes.

    With each socket come the others of its folder: it may have been renamed there, or have a second hard link.
    """
    return _bound_names(cache_period())


def is_endpoint(path: Path) -> bool:
    """Whether a program could connect or write to this path even if it is mounted read-only."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False  # removed, or not accessible for this user
    return stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)


def cache_period() -> int:
    """The number of the current period, used as an argument so that `lru_cache` entries expire."""
    return int(time.monotonic() / _CACHE_SECONDS)


@lru_cache(maxsize=256)
def _search(root: str, limits: SearchLimits, _period: int) -> tuple[Path, ...]:
    found: list[Path] = []
    count = 0
    pending = deque([(root, 1)] if not _is_skipped(root) else [])
    while pending and count < limits.entries:
        path, level = pending.popleft()
        folder = _read_folder(path)
        count += folder.entries
        found += [place for name in folder.endpoints if is_endpoint(place := Path(path, name))]
        if level < limits.levels:
            below = (os.path.join(path, name) for name in folder.folders)
            pending += [(place, level + 1) for place in below if not _is_skipped(place)]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Folder:
    """The entries of a folder that matter: all others are files and links."""

    # the folder itself, and when an entry was last added, removed or renamed; None if it could not be read to the end
    state: tuple[int, int, int] | None = None
    entries: int = 0
    folders: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()


_read_folders: dict[str, _Folder] = {}


def _read_folder(path: str) -> _Folder:
    """Read the folder, unless no entry was added, removed or renamed since it was read.

    Each of these sets the folder's ctime. No program can set it to an earlier time, unlike its mtime.
    """
    began = time.time_ns()
    try:
        status = os.stat(path)
    except OSError:
        return _Folder()  # removed, or not accessible for this user
    state = (status.st_dev, status.st_ino, status.st_ctime_ns)
    known_folder = _read_folders.get(path)
    if known_folder and known_folder.state == state:
        return known_folder
    folder = _scan(path, state)
    if folder.state and status.st_ctime_ns < began - _CLOCK_STEP_NS:
        if len(_read_folders) >= _MAX_READ_FOLDERS:
            _read_folders.clear()
        _read_folders[path] = folder
    return folder


def _scan(path: str, state: tuple[int, int, int]) -> _Folder:
    count = 0
    folders, endpoints = [], []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                count += 1
                # the type comes with the name: there is no system call for files, folders and links
                if entry.is_file(follow_symlinks=False):
                    continue  # almost every entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif _may_be_endpoint(entry):
                    endpoints.append(entry.name)
    except OSError:
        # a file, or not readable now: what was found counts once
        return _Folder(None, count, tuple(folders), tuple(endpoints))
    return _Folder(state, count, tuple(folders), tuple(endpoints))


def _may_be_endpoint(entry: os.DirEntry[str]) -> bool:
    """A socket, named pipe or device: what the folder itself lists as neither file, folder nor link."""
    return not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False) or entry.is_symlink())


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return  # a file, removed, or not readable for this user


def _is_skipped(folder: str) -> bool:
    above, name = os.path.split(folder)
    return name in _SKIPPED_FOLDERS or (name in _SKIPPED_IN_GIT and above.endswith(".git"))


@lru_cache(maxsize=1)
def _bound_names(_period: int) -> tuple[Path, ...]:
    processes = _own_processes()
    relative: dict[int, str] = {}
    names = set()
    for table in ("/proc/net/unix", *_other_namespaces(processes)):
        for inode, name in _bound_sockets(table):
            if name.startswith("/"):
                names.add(name)
            else:
                relative[inode] = name
    names.update(_held(relative, processes))
    paths = {os.path.realpath(name) for name in names}
    for folder in {os.path.dirname(path) for path in paths}:  # noqa: PTH120
        paths.update(entry.path for entry in _entries(folder) if _may_be_endpoint(entry))
    return tuple(Path(path) for path in sorted(paths))


def _bound_sockets(table: str) -> Iterator[tuple[int, str]]:
    """Inode and name of each socket that has a path."""
    try:
        lines = _LINE.split(Path(table).read_bytes().removesuffix(b"\n"))[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split(None, 6)
        # a single space separates the inode from the name, which may begin with a space itself
        inode, _, name = fields[6].partition(b" ") if len(fields) == 7 else (b"", b"", b"")
        if inode.isdigit() and name and not name.startswith(b"@") and b"\0" not in name:
            yield int(inode), os.fsdecode(name)


def _own_processes() -> list[str]:
    """Folders in /proc of the processes that this user may look into."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH112
        try:
            if name.isdigit() and os.geteuid() in (0, os.stat(f"/proc/{name}").st_uid):
                found.append(f"/proc/{name}")
        except OSError:
            continue
    return found


def _other_namespaces(processes: list[str]) -> Iterator[str]:
    """One table of sockets for each network namespace that is not ours."""
    namespaces = {_link("/proc/self/ns/net"), ""}
    for process in processes:
        namespace = _link(f"{process}/ns/net")
        if namespace not in namespaces:
            namespaces.add(namespace)
            yield f"{process}/net/unix"


def _held(relative: dict[int, str], processes: list[str]) -> Iterator[str]:
    """Of what processes hold open: sockets with a relative name, in the process's working directory; named pipes."""
    known_links: set[str] = set()
    for process in processes:
        for entry in _entries(f"{process}/fd"):
            link = _link(entry.path)
            inode = link[len("socket:[") : -1] if link.startswith("socket:[") else ""
            if inode.isdigit() and int(inode) in relative:
                folder = _link(f"{process}/cwd")
                yield from [os.path.join(folder, relative[int(inode)])] if folder else []
            elif link.startswith("/") and link not in known_links:
                # most processes have the same files open
                known_links.add(link)
                if is_endpoint(Path(link)):
                    yield link


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""

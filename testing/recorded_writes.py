"""A loss of power for users who cannot mount a disk: recorded writes, of which those that were not synced are lost.

strace records what a program and its children do to the files below one folder. `RecordedDisk` repeats it in memory and
knows for each file and folder what is on the disk for certain: the content of a file up to its last `fsync`, the names
in a folder up to the folder's last `fsync`, everything up to the last `syncfs`. `lay` writes what is left after a cut.
"""

# Paths are texts here, as the recording has them.
# ruff: noqa: PTH115, PTH118, PTH120

from __future__ import annotations

import os
import random
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_CALLS = (
    "open,openat,creat,close,dup,dup2,dup3,fcntl,lseek,write,pwrite64,writev,ftruncate,truncate,fallocate,"
    "copy_file_range,sendfile,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,"
    "rmdir,chmod,fchmod,fsync,fdatasync,syncfs,sync,chdir,fchdir,clone,clone3,fork,vfork"
)
STRACE = (
    "strace",
    "-f",
    "-qq",
    "-y",
    "-xx",
    "-s",
    "100000000",
    "--seccomp-bpf",
    "-e",
    "signal=none",
    "-e",
    f"trace={_CALLS}",
)
_LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+|\?)")
_HEX = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_FD = re.compile(r"(AT_FDCWD|-?\d+)(?:<((?:\\x[0-9a-f]{2})*)>)?")


class NotRepeated(AssertionError):
    """The recording has something that is not modelled: the model must be extended, not the result trusted."""


@dataclass(eq=False)
class Node:
    """A file, folder or link; `synced…` is what a loss of power leaves of it."""

    mode: int
    data: bytearray = field(default_factory=bytearray)
    synced_data: bytes | None = None
    names: dict[str, Node] = field(default_factory=dict)
    synced_names: dict[str, Node] = field(default_factory=dict)
    target: str = ""
    times: tuple[int, int] | None = None

    def sync(self) -> None:
        self.synced_data = bytes(self.data)
        self.synced_names = dict(self.names)

    def sync_all(self) -> None:
        self.sync()
        for node in self.names.values():
            node.sync_all()


@dataclass
class _OpenFile:
    node: Node
    at: int = 0
    append: bool = False


@dataclass
class _Process:
    cwd: str
    files: dict[int, _OpenFile] = field(default_factory=dict)

    def fork(self) -> _Process:
        return _Process(self.cwd, dict(self.files))


@cache
def why_no_recording() -> str:
    """Why nothing can be recorded here; empty if it can."""
    if shutil.which("strace") is None:
        return "strace is not installed: it records the writes that are cut"
    tried = subprocess.run([*STRACE, "-o", os.devnull, "true"], capture_output=True, text=True, timeout=60, check=False)
    return f"strace does not work here: {tried.stderr.strip()[-200:]}" if tried.returncode else ""


def record(argv: Sequence[str], env: Mapping[str, str], file: Path) -> list[str]:
    """Run a program to its end; each line is one call of it or of a child."""
    subprocess.run([*STRACE, "-o", str(file), *argv], env=dict(env), check=True, capture_output=True, timeout=200)
    return file.read_text("ascii", "replace").splitlines()


def read_tree(path: Path) -> Node:
    """A folder as it is now, all of it on the disk."""
    found = path.lstat()
    node = Node(found.st_mode, times=(found.st_atime_ns, found.st_mtime_ns))
    if stat.S_ISLNK(found.st_mode):
        node.target = os.readlink(path)
    elif stat.S_ISDIR(found.st_mode):
        node.names = {entry.name: read_tree(Path(entry.path)) for entry in os.scandir(path)}
    elif stat.S_ISREG(found.st_mode):
        node.data = bytearray(path.read_bytes())
    node.sync()
    return node


class RecordedDisk:
    """The folder `place`, as it was before the recording; `repeat` brings it forward."""

    def __init__(self, place: Path, cwd: Path) -> None:
        self.place = str(place)
        self.root = read_tree(place)
        self._cwd = str(cwd)
        self._processes: dict[int, _Process] = {}
        self._unfinished: dict[int, str] = {}

    def repeat(self, line: str) -> bool:
        """One line of the recording; whether it changed the disk or what is synced."""
        pid, _, rest = line.partition(" ")
        rest = rest.lstrip()
        if rest.endswith("<unfinished ...>"):
            self._unfinished[int(pid)] = rest.removesuffix("<unfinished ...>").rstrip()
            return False
        if rest.startswith("<... "):
            rest = self._unfinished.pop(int(pid), "") + rest.partition(" resumed>")[2]
        found = _LINE.match(f"{pid} {rest}")
        if not found or found[4] == "?" or int(found[4]) < 0:
            return False
        process = self._processes.setdefault(int(pid), _Process(self._cwd))
        call = getattr(self, f"_{_FAMILY.get(found[2], found[2])}", None)
        if call is None:
            raise NotRepeated(line[:300])
        return bool(call(process, found[2], found[3], int(found[4])))

    # names

    def _find(self, path: str) -> Node | None:
        node: Node | None = self.root
        for part in self._parts(path) if self._is_inside(path) else ():
            node = node.names.get(part) if node else None
        return node if self._is_inside(path) else None

    def _is_inside(self, path: str) -> bool:
        return path == self.place or path.startswith(self.place + "/")

    def _parts(self, path: str) -> list[str]:
        return [part for part in path[len(self.place) :].split("/") if part]

    def _parent(self, path: str) -> tuple[Node | None, str]:
        above, _, name = path.rpartition("/")
        return self._find(above), name

    def _paths(self, process: _Process, call: str, args: str) -> list[str]:
        """The paths among the arguments, absolute; each is relative to the descriptor before it, or to the folder."""
        found, folder = [], process.cwd
        for match in re.finditer(f"{_HEX.pattern}|{_FD.pattern}", args):
            if match[1] is not None:
                found.append(os.path.normpath(os.path.join(folder, _text(match[1]))))
                folder = process.cwd
            elif match[3] is not None:
                folder = _text(match[3])
        return found

    # calls

    def _open(self, process: _Process, call: str, args: str, result: int) -> bool:
        paths = self._paths(process, call, args)
        if not paths or not self._is_inside(paths[0]):
            process.files.pop(result, None)
            return False
        path, changed = self._real(paths[0]), False
        node = self._find(path)
        if node is None:
            if "O_CREAT" not in args and call != "creat":
                if "O_TMPFILE" in args:
                    raise NotRepeated(args[-200:])
                process.files.pop(result, None)
                return False  # a device or socket
            parent, name = self._parent(path)
            if parent is None:
                raise NotRepeated(f"no folder for {path}")
            mode = re.search(r", (0\d+)$", args)
            node = parent.names[name] = Node(stat.S_IFREG | (int(mode[1], 8) & ~0o022 if mode else 0o644))
            changed = True
        if "O_TRUNC" in args or call == "creat":
            changed = changed or bool(node.data)
            node.data.clear()
        process.files[result] = _OpenFile(node, append="O_APPEND" in args)
        return changed

    def _real(self, path: str) -> str:
        node = self._find(path)
        for _ in range(8):
            if node is None or not node.target:
                return path
            path = os.path.normpath(os.path.join(os.path.dirname(path), node.target))
            node = self._find(path)
        return path

    def _file(self, process: _Process, args: str) -> _OpenFile | None:
        found = _FD.match(args)
        assert found, args[:100]
        number, path = int(found[1]), _text(found[2] or "")
        if not self._is_inside(path):
            return None  # a pipe, or another file: a number may be used again after a descriptor was closed by `exec`
        node, known = self._find(path), process.files.get(number)
        if known and (node is None or node is known.node):
            return known  # also where it was renamed or removed
        if node is None:
            return None
        # opened by a call of a process that the recording has only in part: written at its end
        process.files[number] = _OpenFile(node, append=True)
        return process.files[number]

    def _write(self, process: _Process, call: str, args: str, result: int) -> bool:
        file = self._file(process, args)
        if file is None or not result:
            return False
        data = b"".join(_bytes(one) for one in _HEX.findall(args))[:result]
        if len(data) != result:
            raise NotRepeated(f"{call} of {result} bytes, recorded {len(data)}")
        at = int(args.rpartition(", ")[2]) if call == "pwrite64" else len(file.node.data) if file.append else file.at
        file.node.data.extend(b"\0" * (at - len(file.node.data)))
        file.node.data[at : at + result] = data
        if call != "pwrite64":
            file.at = at + result
        return True

    def _sendfile(self, process: _Process, call: str, args: str, result: int) -> bool:
        """Python's way to copy a file."""
        file, (_, source) = self._file(process, args), _FD.findall(args)[1]
        if file is None or not result:
            return False
        node, offset = self._find(_text(source)), re.search(r", \[(\d+)\]", args)
        if offset is None:
            raise NotRepeated(f"sendfile without an offset: {args[-100:]}")
        whole = bytes(node.data) if node else Path(_text(source)).read_bytes()
        data = whole[int(offset[1]) : int(offset[1]) + result]
        file.node.data[file.at : file.at + result] = data
        file.at += result
        return True

    def _lseek(self, process: _Process, call: str, args: str, result: int) -> bool:
        if file := self._file(process, args):
            file.at, file.append = result, file.append
        return False

    def _ftruncate(self, process: _Process, call: str, args: str, result: int) -> bool:
        file = self._file(process, args)
        return self._cut(file.node, args) if file else False

    def _truncate(self, process: _Process, call: str, args: str, result: int) -> bool:
        node = self._find(self._paths(process, call, args)[0])
        return self._cut(node, args) if node else False

    def _cut(self, node: Node, args: str) -> bool:
        size = int(args.rpartition(", ")[2])
        node.data.extend(b"\0" * (size - len(node.data)))
        del node.data[size:]
        return True

    def _unmodelled(self, process: _Process, call: str, args: str, result: int) -> bool:
        files = [self._find(_text(path)) for _, path in _FD.findall(args) if path]
        if any(files):
            raise NotRepeated(f"{call}: {args[:300]}")
        return False

    def _close(self, process: _Process, call: str, args: str, result: int) -> bool:
        process.files.pop(int(_FD.match(args)[1]), None)  # type: ignore[index]
        return False

    def _dup(self, process: _Process, call: str, args: str, result: int) -> bool:
        if call == "fcntl" and "F_DUPFD" not in args:
            return False
        number = int(_FD.match(args)[1])  # type: ignore[index]
        process.files.pop(result, None)
        if number in process.files:
            process.files[result] = process.files[number]
        return False

    def _rename(self, process: _Process, call: str, args: str, result: int) -> bool:
        old, new = self._paths(process, call, args)
        (before, name), (after, other) = self._parent(old), self._parent(new)
        if before is None and after is None:
            return False
        if before is None or after is None or name not in before.names:
            raise NotRepeated(f"rename of {old} to {new}")
        after.names[other] = before.names.pop(name)
        return True

    def _link(self, process: _Process, call: str, args: str, result: int) -> bool:
        old, new = self._paths(process, call, args)
        node, (parent, name) = self._find(old), self._parent(new)
        if parent is None:
            return False
        if node is None:
            raise NotRepeated(f"link of {old} to {new}")
        parent.names[name] = node
        return True

    def _symlink(self, process: _Process, call: str, args: str, result: int) -> bool:
        target, path = _text(_HEX.findall(args)[0]), self._paths(process, call, args)[1]
        parent, name = self._parent(path)
        if parent is None:
            return False
        parent.names[name] = Node(stat.S_IFLNK | 0o777, target=target)
        return True

    def _unlink(self, process: _Process, call: str, args: str, result: int) -> bool:
        parent, name = self._parent(self._paths(process, call, args)[0])
        return parent is not None and parent.names.pop(name, None) is not None

    def _mkdir(self, process: _Process, call: str, args: str, result: int) -> bool:
        parent, name = self._parent(self._paths(process, call, args)[0])
        if parent is None:
            return False
        parent.names[name] = Node(stat.S_IFDIR | 0o700)
        return True

    def _chmod(self, process: _Process, call: str, args: str, result: int) -> bool:
        file = self._file(process, args) if call == "fchmod" else None
        node = file.node if file else None if call == "fchmod" else self._find(self._paths(process, call, args)[0])
        if node:
            node.mode = stat.S_IFMT(node.mode) | int(args.rpartition(", ")[2], 8)
        return False

    def _fsync(self, process: _Process, call: str, args: str, result: int) -> bool:
        file = self._file(process, args)
        if file:
            file.node.sync()
        return file is not None

    def _syncfs(self, process: _Process, call: str, args: str, result: int) -> bool:
        self.root.sync_all()
        return True

    def _chdir(self, process: _Process, call: str, args: str, result: int) -> bool:
        found = _FD.match(args)
        process.cwd = _text(found[2] or "") if call == "fchdir" and found else self._paths(process, call, args)[0]
        return False

    def _fork(self, process: _Process, call: str, args: str, result: int) -> bool:
        self._processes[result] = process if "CLONE_FILES" in args else process.fork()
        return False

    # after the cut

    def lay(self, place: Path, keep: Callable[[], bool] = lambda: False) -> None:
        """Write what is left as files. `keep`: asked for each thing that was not synced, whether it is there anyway.

        Folders that are there stay the same ones: burnish trusts a repository by its identity on the disk.
        """
        _lay(self.root, place, keep)


_FAMILY = {
    "openat": "open", "creat": "open", "pwrite64": "write", "writev": "write", "dup2": "dup", "dup3": "dup",
    "fcntl": "dup", "renameat": "rename", "renameat2": "rename", "linkat": "link", "symlinkat": "symlink",
    "unlinkat": "unlink", "rmdir": "unlink", "mkdirat": "mkdir", "fchmod": "chmod", "fdatasync": "fsync",
    "sync": "syncfs", "fchdir": "chdir", "clone": "fork", "clone3": "fork", "vfork": "fork",
    "fallocate": "unmodelled", "copy_file_range": "unmodelled",
}  # fmt: skip


def _lay(node: Node, path: Path, keep: Callable[[], bool]) -> None:
    is_folder = stat.S_ISDIR(node.mode)
    if path.is_symlink() or (path.exists() and path.is_dir() != is_folder):
        _remove(path)
    if is_folder:
        path.mkdir(exist_ok=True)
        left = dict(_names_left(node, keep))
        for entry in [*path.iterdir()]:
            if entry.name not in left:
                _remove(entry)
        for name, below in left.items():
            _lay(below, path / name, keep)
    elif stat.S_ISLNK(node.mode):
        path.symlink_to(node.target)
        return
    elif stat.S_ISREG(node.mode):
        _write_file(path, _data_left(node, keep))
    else:
        return  # a socket or pipe of a process that is gone
    path.chmod(stat.S_IMODE(node.mode))
    if node.times and bytes(node.data) == node.synced_data:
        os.utime(path, ns=node.times)


def _write_file(path: Path, data: bytes) -> None:
    if not path.is_file() or path.read_bytes() != data:
        path.unlink(missing_ok=True)  # it may have a second name, or be read-only
        path.write_bytes(data)


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _names_left(node: Node, keep: Callable[[], bool]) -> Iterator[tuple[str, Node]]:
    for name in sorted({*node.names, *node.synced_names}):
        now, before = node.names.get(name), node.synced_names.get(name)
        left = now if now is before or keep() else before
        if left is not None:
            yield name, left


def _data_left(node: Node, keep: Callable[[], bool]) -> bytes:
    synced = node.synced_data or b""
    if bytes(node.data) == synced:
        return synced
    if not keep():
        return synced
    # torn: the beginning was written, the rest was not
    length = random.Random(len(node.data)).randrange(len(node.data) + 1)
    return bytes(node.data[:length]) + synced[length:]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _text(text: str) -> str:
    return os.fsdecode(_bytes(text)).removesuffix(" (deleted)")

"""Git LFS: burnish runs only the installed git-lfs, by its absolute path."""

from __future__ import annotations

import re
from pathlib import Path

from burnish.proc.own_programs import find_own_program

# a missing large file leaves its pointer in place; burnish does not download it
ENV = {"GIT_LFS_SKIP_DOWNLOAD_ERRORS": "1"}
POINTER = b"version https://git-lfs.github.com/spec/v1\n"
# git-lfs itself reads 1,024 bytes, with either line end, further `ext-` lines and older names of the format.
_MAX_POINTER_BYTES = 2048
_POINTER_START = re.compile(rb"\s*version https?://(git-lfs|hawser|git-media)")
_POINTER_LINES = (re.compile(rb"^oid sha256:", re.MULTILINE), re.compile(rb"^size \d", re.MULTILINE))


def is_pointer(data: bytes) -> bool:
    """Whether git-lfs would replace a file that begins with `data`."""
    if _POINTER_START.match(data):
        return True
    return len(data) < _MAX_POINTER_BYTES and all(pattern.search(data) for pattern in _POINTER_LINES)


def program() -> str | None:
    return find_own_program("git-lfs")


def attributes() -> bytes:
    """Attributes that disable all filters where git-lfs is not installed."""
    return b"" if program() else b"* -filter\n"


def config(common_dir: Path) -> list[str]:
    found = program()
    if found is None:
        return []
    command = "'" + found.replace("'", "'\\''") + "'"
    return [
        '[filter "lfs"]',
        f"\tclean = {_value(command + ' clean -- %f')}",
        f"\tsmudge = {_value(command + ' smudge -- %f')}",
        f"\tprocess = {_value(command + ' filter-process')}",
        "\trequired = true",
        "[lfs]",
        f"\tstorage = {_value(str(common_dir / 'lfs'))}",
        # overrides a `.lfsconfig` in the tree, which could name any server
        "\turl = file:///dev/null",
    ]


def _value(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

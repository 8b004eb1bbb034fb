"""Index entries whose recorded times are not those of the file: git compares whole seconds only.

A file that is written again within the second in which git last looked at it, with its old size and its modification
time set back, looks unchanged to git.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from burnish.git.project import Project

_ENTRY = re.compile(
    rb"(?P<mode>\d+) (?P<sha>[0-9a-f]+) (?P<stage>\d)\t(?P<path>[^\0]+)\0"
    rb"  ctime: (?P<ctime>\d+):(?P<ctime_ns>\d+)\n  mtime: (?P<mtime>\d+):(?P<mtime_ns>\d+)\n"
    rb"[^\n]*\n[^\n]*\n  size: \d+\tflags: (?P<flags>[0-9a-f]+)\n"
)
# Clocks of file systems move in steps of up to ten milliseconds.
_STEP_NS = 20_000_000
_GITLINK = b"160000"
# assume-unchanged and the extended flags, among them skip-worktree and intent-to-add
_SPECIAL_FLAGS = 0x8000 | 0x4000 | 0x20000000 | 0x40000000


def forget_stale_stat(project: Project, index: Path, root: Path) -> None:
    """Make git read the content of files whose times differ from the index, in a copy of the index."""
    try:
        written_ns = index.stat().st_mtime_ns
    except FileNotFoundError:
        return
    output = project.git("ls-files", "-s", "--debug", "-z", index=index, work_tree=root).stdout
    base = os.fsencode(root)
    stale = [
        b"%b %b\t%b\0" % entry.group("mode", "sha", "path")
        for entry in _ENTRY.finditer(output)
        if _is_plain(entry) and _is_stale(entry, base, written_ns)
    ]
    if stale:
        # an entry that is added by its hash has no times, and a size of 0: git reads the file then
        project.git("update-index", "-z", "--index-info", index=index, work_tree=root, stdin=b"".join(stale))


def _is_plain(entry: re.Match[bytes]) -> bool:
    return entry["stage"] == b"0" and entry["mode"] != _GITLINK and not int(entry["flags"], 16) & _SPECIAL_FLAGS


def _is_stale(entry: re.Match[bytes], base: bytes, written_ns: int) -> bool:
    recorded = [(int(entry[name]), int(entry[f"{name}_ns"])) for name in ("ctime", "mtime")]
    try:
        found = os.lstat(os.path.join(base, entry["path"]))  # noqa: PTH118 (bytes)
    except OSError:
        # git itself notices that
        return False
    if not any(ns for _, ns in recorded):
        # the file system, or git, knows no parts of a second
        return False
    actual = [divmod(ns, 10**9) for ns in (found.st_ctime_ns, found.st_mtime_ns)]
    return actual != recorded or found.st_ctime_ns > written_ns - _STEP_NS

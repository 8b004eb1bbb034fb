"""The file system of a folder. Several machines may share a network file system."""

from __future__ import annotations

import os
import re
from pathlib import Path

# Types in Linux's mount table; some FUSE file systems are local.
_SHARED = re.compile(r"nfs\d?|cifs|smb.*|9p|virtiofs|afs|ceph|lustre|gpfs|beegfs.*|ocfs2|gfs2|vboxsf|fuse(\..*)?")
_LOCAL_FUSE = frozenset({"fuse.fuse-overlayfs", "fuseblk", "fuse.ntfs-3g", "fuse.gocryptfs", "fuse.encfs"})


def is_shared(folder: Path) -> bool:
    """True if other machines may share this folder; False if unknown."""
    kind = file_system_of(folder)
    return kind not in _LOCAL_FUSE and _SHARED.fullmatch(kind) is not None


def file_system_of(folder: Path) -> str:
    """Its type in the mount table; "" if it cannot be read."""
    try:
        device = folder.stat().st_dev
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        before, _, after = line.partition(" - ")
        if before.split(" ")[2] == number and after:
            return after.split(" ")[0]
    return ""

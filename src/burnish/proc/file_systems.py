"""Which file system a folder lies on: several machines may use a network file system at once."""

from __future__ import annotations

import os
import re
from pathlib import Path

# of Linux's mount table; FUSE stands for many, of which these are local
_SHARED = re.compile(r"nfs\d?|cifs|smb.*|9p|virtiofs|afs|ceph|lustre|gpfs|beegfs.*|ocfs2|gfs2|vboxsf|fuse(\..*)?")
_LOCAL_FUSE = frozenset({"fuse.fuse-overlayfs", "fuseblk", "fuse.ntfs-3g", "fuse.gocryptfs", "fuse.encfs"})


def is_shared(folder: Path) -> bool:
    """May other machines have this folder, too? Where it is not known: no."""
    kind = file_system_of(folder)
    return kind not in _LOCAL_FUSE and _SHARED.fullmatch(kind) is not None


def file_system_of(folder: Path) -> str:
    """Its type, as the mount table names it; "" where that cannot be read."""
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

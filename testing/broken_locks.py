"""File locks that do not hold, for a burnish in a process of its own: as on some network and FUSE mounts."""

from __future__ import annotations

import os
from pathlib import Path

_HEADER = "import errno, fcntl, os\nflock, lockf = fcntl.flock, fcntl.lockf\n"
_FAILS = 'raise OSError(errno.ENOLCK, "No locks available")'
# each is the text of a sitecustomize.py, which Python loads before anything else
FLOCK_WITHOUT_EFFECT = "fcntl.flock = lambda fd, how: None\n"
FLOCK_FAILS = f"def fails(fd, how):\n    {_FAILS}\nfcntl.flock = fails\n"
FCNTL_WITHOUT_EFFECT = "fcntl.lockf = lambda fd, how: None\n"
FCNTL_FAILS = f"def fails(fd, how):\n    {_FAILS}\nfcntl.lockf = fails\n"
# the probe is passed, as where locks hold for each machine alone
RUNNER_LOCKS_WITHOUT_EFFECT = """
def partly(fd, how):
    if not os.path.basename(os.readlink(f"/proc/self/fd/{fd}")).startswith("runner-"):
        flock(fd, how)
fcntl.flock = partly
"""


def broken_locks(folder: Path, text: str) -> dict[str, str]:
    """The environment of a process whose locks are broken in that way."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_HEADER + text)
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}

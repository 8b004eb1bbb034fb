"""Whether files are synced to the disk. `BURNISH_NO_SYNC=1` is for tests and homes that are thrown away."""

from __future__ import annotations

import os


def sync_wanted() -> bool:
    return os.environ.get("BURNISH_NO_SYNC") != "1"

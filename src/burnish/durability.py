"""Whether files are synced to the disk. `BURNISH_NO_SYNC=1` is for tests and temporary homes."""

from __future__ import annotations

import os


def is_sync_enabled() -> bool:
    return os.environ.get("BURNISH_NO_SYNC") != "1"

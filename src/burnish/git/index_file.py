"""Checks index files: git fails where one is truncated or overwritten."""

from __future__ import annotations

import hashlib
from pathlib import Path

_SIGNATURE = b"DIRC"
# the hash at the end of the file (by the repository's object format) and its length
_HASHES = (("sha1", 20), ("sha256", 32))


def is_sound_index(path: Path) -> bool:
    """Whether the file ends with the hash of its content. A missing file counts as sound: git creates a new one."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    hashes = ((hashlib.new(name, data[:-size], usedforsecurity=False).digest(), data[-size:]) for name, size in _HASHES)
    return data.startswith(_SIGNATURE) and any(digest == trailer for digest, trailer in hashes)

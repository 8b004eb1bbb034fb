"""Whether a file is a whole index: git ends with an error where one is cut or overwritten."""

from __future__ import annotations

import hashlib
from pathlib import Path

_SIGNATURE = b"DIRC"
# the hash at the end of the file, by the format of the repository, and its length
_HASHES = (("sha1", 20), ("sha256", 32))


def is_sound_index(path: Path) -> bool:
    """Its last bytes are the hash of the others; a file that is not there is sound, too: git makes a new one."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    hashes = ((hashlib.new(name, data[:-size], usedforsecurity=False).digest(), data[-size:]) for name, size in _HASHES)
    return data.startswith(_SIGNATURE) and any(computed == stored for computed, stored in hashes)

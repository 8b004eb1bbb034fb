"""What burnish remembers of an agent's session: how often it was held up, and what was seen last."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from burnish.errors import BurnishError, Refused

FORGOTTEN_AFTER = 30 * 24 * 3600.0


class SessionBusy(Refused):
    """Another process reviews this session."""


@dataclass(slots=True)
class HookSession:
    rounds: int = 0
    # the tree that was reviewed last, and whether it was approved
    tree: str = ""
    passed: bool = False
    # the commit that the session's work is compared with
    base: str | None = None


@contextmanager
def remembered(folder: Path, agent: str, session: str, root: Path) -> Iterator[HookSession]:
    """The memory of one session, for one process at a time; what was changed in it is kept."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _forget_old(folder)
    key = "\0".join((agent, session, os.fspath(root)))
    path = folder / hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "r+b") as file:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SessionBusy("This session is being reviewed already.") from error
        memory = _read(file.read())
        yield memory
        file.seek(0)
        file.truncate()
        file.write(json.dumps(asdict(memory)).encode())


def _read(data: bytes) -> HookSession:
    if not data:
        return HookSession()
    try:
        return HookSession(**json.loads(data))
    except (ValueError, TypeError) as error:
        # Not as new: a session whose count is lost could be held up for ever.
        raise BurnishError("What burnish remembers of this session cannot be read.") from error


def _forget_old(folder: Path) -> None:
    for path in folder.iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > FORGOTTEN_AFTER:
                path.unlink()

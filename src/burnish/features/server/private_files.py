"""Small files of a server in the burnish home: whole or not at all, and nobody else's to read."""

from __future__ import annotations

from pathlib import Path

from burnish.errors import BurnishError
from burnish.git.files import write_whole
from burnish.proc.folders import private_folder


def keep(file: Path, text: str) -> None:
    try:
        private_folder(file.parent)
        write_whole(file, text.encode())
    except OSError as error:
        raise BurnishError(
            f"Cannot write {file}: {error.strerror}.", hint="Make room there, or check who may write it, and try again."
        ) from error

"""Files of the user's that a hook goes into: changed as a whole, and given back as they were."""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.errors import BurnishError
from burnish.git.files import write_whole
from burnish.proc.text import clean_text


@dataclass(frozen=True, slots=True)
class Edit:
    """One file: what it holds, and what it is to hold. None: it is not there."""

    path: Path
    old: bytes | None
    new: bytes | None
    mode: int = 0o600
    # messages for the user
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        return self.old != self.new

    def diff(self) -> str:
        def lines(data: bytes | None) -> list[str]:
            return clean_text((data or b"").decode(errors="replace")).splitlines()

        names = (
            "/dev/null" if self.old is None else str(self.path),
            "/dev/null" if self.new is None else str(self.path),
        )
        return "\n".join(difflib.unified_diff(lines(self.old), lines(self.new), *names, lineterm=""))


def read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BurnishError(
            f"Cannot read {path}: {error.strerror}.", hint="Check what it is and who owns it."
        ) from error


def mode_of(path: Path, default: int) -> int:
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        return default


@dataclass(frozen=True, slots=True)
class Backups:
    """What files held before a hook went in, in the burnish home."""

    folder: Path

    def _place(self, path: Path) -> Path:
        return self.folder / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"

    def find(self, path: Path) -> dict[str, Any] | None:
        try:
            backup = json.loads(self._place(path).read_bytes())
        except (OSError, ValueError):
            return None
        return backup if isinstance(backup, dict) and backup.get("path") == os.fspath(path) else None

    def install(self, edit: Edit, without_ours: Callable[[bytes], bytes]) -> None:
        """Back up the file, then write it; a second install keeps the backup of the first."""
        backup = self.find(edit.path)
        if backup is None or backup["after"] != _sum(edit.old):
            # The file may contain our entry from an install without a backup: it must not be restored.
            before = None if edit.old is None else without_ours(edit.old)
            backup = {
                "path": os.fspath(edit.path),
                "before": None if before is None else base64.b64encode(before).decode(),
                "mode": mode_of(edit.path, edit.mode),
                "made": [os.fspath(folder) for folder in _missing_parents(edit.path)],
            }
        record = backup | {"after": _sum(edit.new)}
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self._place(edit.path), json.dumps(record).encode())
        write(edit)

    def removal(self, path: Path, without_ours: Callable[[bytes], bytes]) -> Edit:
        """Back to what it was; of a file that was edited since, only our entry goes."""
        data, backup = read(path), self.find(path)
        if data is None:
            return Edit(path, None, None)
        if backup is not None and backup["after"] == _sum(data):
            before = backup["before"]
            return Edit(path, data, None if before is None else base64.b64decode(before), backup["mode"])
        remainder: bytes | None = without_ours(data)
        if backup is not None and backup["before"] is None and _is_empty(remainder or b""):
            remainder = None
        note = f"{path} was edited since the hook went in: only burnish's entry is taken out."
        notes = (note,) if backup is not None and remainder != data else ()
        return Edit(path, data, remainder, mode_of(path, 0o600), notes)

    def uninstall(self, edit: Edit) -> None:
        backup = self.find(edit.path)
        if edit.changes:
            write(edit)
        for folder in (backup or {}).get("made", []) if edit.new is None else []:
            with suppress(OSError):  # something else has moved in
                Path(folder).rmdir()
        self._place(edit.path).unlink(missing_ok=True)


def write(edit: Edit) -> None:
    try:
        if edit.new is None:
            edit.path.unlink(missing_ok=True)
            return
        edit.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(edit.path, edit.new, mode=edit.mode)
    except OSError as error:
        raise BurnishError(
            f"Cannot write {edit.path}: {error.strerror}.", hint="Check who owns it; `--dry-run` only shows it."
        ) from error


def _is_empty(data: bytes) -> bool:
    """Is that all that is left of a file that was made for our entry? Programs add their version to it."""
    if data.strip() in (b"", b"#!/bin/sh"):
        return True
    try:
        value = json.loads(data)
    except ValueError:
        return False
    return isinstance(value, dict) and value.keys() <= {"version", "$version"}


def _missing_parents(path: Path) -> list[Path]:
    """Folders that will have to be made, the innermost first."""
    return [folder for folder in path.parents if not folder.exists()]


def _sum(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()

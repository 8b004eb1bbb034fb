"""Files of the user's that a hook goes into: our entry is put in and taken out, and they are given back as they
were.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.agents.base import StopHook
from burnish.errors import BadInput, BurnishError
from burnish.features.hooks.programs import PATIENCE
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
    """The content; None where there is no file. The folder of a checkout may have a pipe or a device in its place."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise BurnishError(f"Cannot read {path}: it is not a regular file.", hint="Remove it, and try again.")
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


# -- settings text --------------------------------------------------------------------------------
# Our entry in somebody else's file, put in and taken out again: pure text work.

BEGIN, END = "# >>> burnish {} >>>", "# <<< burnish {} <<<"


def put_entry(data: bytes | None, hook: StopHook, command: str, path: Path) -> bytes:
    """The file with our hook in it, once; unchanged if it is there already."""
    settings = _read(data, path)
    entry = hook.entry(command, PATIENCE)
    if _entries(settings, hook, path) and _ours(settings, hook) == [entry if hook.flat else entry["hooks"][0]]:
        return data or b""
    _take(settings, hook)
    if hook.flat:
        settings.setdefault("version", 1)
    settings.setdefault("hooks", {}).setdefault(hook.event, []).append(entry)
    return _written(settings, data)


def take_entry(data: bytes, hook: StopHook, path: Path) -> bytes:
    """The file without our hook; the same bytes where there is none."""
    settings = _read(data, path)
    _entries(settings, hook, path)
    if not _ours(settings, hook):
        return data
    _take(settings, hook)
    return _written(settings, data)


def _read(data: bytes | None, path: Path) -> dict[str, Any]:
    if data is None or not data.strip():
        return {}
    try:
        found = json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_no_number, parse_float=_whole_float)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"{path} is not plain JSON ({str(error)[:100]}), so burnish does not edit it.",
            hint="Take comments and repeated keys out of it, or put in by hand what --dry-run shows on an empty file.",
        ) from error
    if not isinstance(found, dict):
        raise BadInput(f"{path} holds no JSON object, so burnish does not edit it.", hint="Look at what is in it.")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _whole_float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large")
    return number


def _entries(settings: dict[str, Any], hook: StopHook, path: Path) -> list[Any]:
    """The entries of the event. Raises `BadInput` if they have an unknown shape."""
    hooks = settings.get("hooks", {})
    entries = hooks.get(hook.event, []) if isinstance(hooks, dict) else None
    if not isinstance(entries, list):
        raise BadInput(
            f"hooks.{hook.event} in {path} is not a list, so burnish does not edit it.",
            hint=f"Look at what {hook.name} expects there.",
        )
    return entries


def _lists(settings: dict[str, Any], hook: StopHook) -> list[list[Any]]:
    """Every list in which a hook of ours may stand."""
    entries = settings.get("hooks", {}).get(hook.event, [])
    if hook.flat:
        return [entries]
    inner = (entry.get("hooks") for entry in entries if isinstance(entry, dict))
    return [hooks for hooks in inner if isinstance(hooks, list)]


def _ours(settings: dict[str, Any], hook: StopHook) -> list[Any]:
    return [one for hooks in _lists(settings, hook) for one in hooks if hook.is_ours(one)]


def _take(settings: dict[str, Any], hook: StopHook) -> None:
    """Away with our hooks, and with what is empty for the lack of them."""
    if not _ours(settings, hook):
        return
    hooks = settings["hooks"]
    empty_lists = []
    for found in _lists(settings, hook):
        remainder = [one for one in found if not hook.is_ours(one)]
        empty_lists += [id(found)] if found and not remainder else []
        found[:] = remainder
    hooks[hook.event] = [
        e for e in hooks[hook.event] if hook.flat or not (isinstance(e, dict) and id(e.get("hooks")) in empty_lists)
    ]
    if not hooks[hook.event]:
        del hooks[hook.event]
    if not hooks:
        del settings["hooks"]


def _written(settings: dict[str, Any], old: bytes | None) -> bytes:
    """In the manner of the old text: its indent, its ends of lines, its last newline."""
    before = (old or b"{\n  }\n").decode()
    found = re.search(r"\{\r?\n([ \t]+)", before)
    indent: str | int | None = found[1] if found else (None if before.strip() not in ("", "{}") else 2)
    text = json.dumps(settings, indent=indent, ensure_ascii=before.isascii())
    text += "\n" if before.endswith("\n") or not before.strip() else ""
    if "\r\n" in before:
        text = text.replace("\n", "\r\n")
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a character, written as an escape
        return json.dumps(settings, indent=indent).encode()


def put_block(data: bytes | None, name: str, lines: list[str], *, first: str = "") -> bytes:
    """The text with our marked lines in it, once: right behind `#!`, for an `exit` may stand at the end."""
    block = "\n".join([BEGIN.format(name), *lines, END.format(name), ""]).encode()
    if data is None:
        return first.encode() + block
    if _block(name).findall(data) == [block]:
        return data
    data = take_block(data, name)
    if not data.startswith(b"#!"):
        return block + data
    head, _, rest = data.partition(b"\n")
    return head + b"\n" + block + rest


def take_block(data: bytes, name: str) -> bytes:
    return _block(name).sub(b"", data)


def _block(name: str) -> re.Pattern[bytes]:
    begin, end = (re.escape(mark.format(name).encode()) for mark in (BEGIN, END))
    return re.compile(rb"^%b\n.*?^%b\n" % (begin, end), re.M | re.S)

"""Our entry in somebody else's file, put in and taken out again: pure text work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from burnish.agents.stop_hook import StopHook
from burnish.errors import BadInput
from burnish.features.hooks.programs import PATIENCE

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

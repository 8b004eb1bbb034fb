"""Compares `node_modules` with yarn.lock, using the records that yarn writes there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from burnish.regular_files import read_regular

# of yarn 1 and of yarn 2 and later
CLASSIC_RECORD, RECORD = ".yarn-integrity", ".yarn-state.yml"
_KEY = re.compile(r'("(?:[^"\\]|\\.)*"|[^\s":][^\s:]*(?:, *[^\s:]+)*):?(?:\s+(.*))?$')
_NAME = re.compile(r"(@?[^@]+)@(.*)", re.S)
_VIRTUAL = re.compile(r"^virtual:[0-9a-f]+#")
_VERSION = re.compile(r"::.*?\bversion=([^&]+)|^npm:(?:@?[^@]+@)?([^@#]+)$")


def yarn_difference(place: Path, lock: bytes) -> str:
    """Why `place`, a `node_modules`, differs from the lock file; "" if it does not."""
    text = lock.decode("utf-8", "replace")
    if "__metadata:" not in text:
        return _classic_difference(place, text)
    record = read_regular(place / RECORD)
    if record is None:
        return "yarn's record of installed packages is missing"
    installed_packages = {_identity(key) for key in _parse(record.decode("utf-8", "replace")) if key != "__metadata"}
    packages = {key: entry for key, entry in _parse(text).items() if isinstance(entry, dict) and key != "__metadata"}
    lock_packages = {_identity(str(entry.get("resolution", ""))) for entry in packages.values()}
    if unknown_packages := sorted(installed_packages - lock_packages):
        return f"{' '.join(unknown_packages[0])} is installed but not in yarn.lock"
    missing = sorted(_required(packages) - installed_packages)
    return f"{' '.join(missing[0])} is not installed" if missing else ""


def _classic_difference(place: Path, lock: str) -> str:
    try:
        record = json.loads(read_regular(place / CLASSIC_RECORD) or b"")
        installed_entries, flags = dict(record["lockfileEntries"]), list(record.get("flags", ()))
    except (ValueError, KeyError, TypeError, RecursionError):
        return "yarn's record of installed packages is missing"
    if "production" in flags:
        return "yarn installed production dependencies only"
    for keys, entry in _parse(lock).items():
        resolution = entry.get("resolved") if isinstance(entry, dict) else None
        for key in _patterns(keys):
            if installed_entries.get(key, "") != (resolution or ""):
                return (
                    f"the installed {key} differs from yarn.lock" if key in installed_entries else f"{key} is missing"
                )
    return ""


def _required(packages: dict[str, dict[str, Any]]) -> set[tuple[str, str]]:
    """The transitive dependencies of the workspaces, without optional packages and those for other systems."""
    by_pattern = {pattern: entry for keys, entry in packages.items() for pattern in _patterns(keys)}
    found: set[tuple[str, str]] = set()
    pending = [entry for entry in packages.values() if "@workspace:" in str(entry.get("resolution", ""))]
    while pending:
        entry = pending.pop()
        for pattern in _needed(entry):
            other = by_pattern.get(pattern)
            if other is None or other.get("conditions"):
                continue
            identity = _identity(str(other.get("resolution", "")))
            if identity not in found and not identity[1].startswith("workspace:"):
                found.add(identity)
                pending.append(other)
    return found


def _needed(entry: dict[str, Any]) -> Iterator[str]:
    needs, facts = entry.get("dependencies"), entry.get("dependenciesMeta")
    for name, span in needs.items() if isinstance(needs, dict) else ():
        about = facts.get(name) if isinstance(facts, dict) else None
        if not (isinstance(about, dict) and about.get("optional") == "true"):
            yield f"{name}@{span}"


def _identity(locator: str) -> tuple[str, str]:
    """Name and version: `a@npm:1.0`, `a@virtual:0f#npm:1.0` and a patched `a` of version 1.0 are the same package."""
    match = _NAME.fullmatch(locator)
    if not match:
        return locator, ""
    source = _VIRTUAL.sub("", match[2])
    version = _VERSION.search(source)
    return match[1], (version[1] or version[2]) if version else source


def _patterns(keys: str) -> list[str]:
    return [key.strip().strip('"') for key in keys.split(", ")]


def _parse(text: str) -> dict[str, Any]:
    """Nested mappings by indentation, which covers yarn's files; lists are skipped."""
    top: dict[str, Any] = {}
    levels: list[tuple[int, dict[str, Any]]] = [(-1, top)]
    for line in text.splitlines():
        words = line.strip()
        match = None if words.startswith(("#", "- ")) else _KEY.match(words) or _several(words)
        if not match:
            continue
        indent = len(line) - len(line.lstrip(" "))
        while levels[-1][0] >= indent:
            levels.pop()
        key, value = match[1].strip('"'), (match[2] or "").strip().strip('"')
        if value:
            levels[-1][1][key] = value
        else:
            below: dict[str, Any] = {}
            levels[-1][1][key] = below
            levels.append((indent, below))
    return top


def _several(words: str) -> re.Match[str] | None:
    """`a@^1, "b c@^2":`, yarn 1's syntax for several ranges of one package."""
    return re.match(r"(.+):()$", words)

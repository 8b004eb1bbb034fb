"""Compares `node_modules` with bun.lock. bun writes no record there, so each package.json is read."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from burnish.regular_files import read_regular

# bun.lock is JSON with trailing commas
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
_ALWAYS = ("dependencies", "devDependencies")


def bun_difference(place: Path, lock: bytes) -> str:
    """Why `place`, a `node_modules`, differs from the lock file; "" if it does not."""
    try:
        data = json.loads(_TRAILING.sub(lambda match: match[1] or "", lock.decode()))
        packages, workspaces = data["packages"], data["workspaces"]
        entries = {str(key): _Entry(key, value) for key, value in packages.items()}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return "bun.lock cannot be read"
    for entry in _required(entries, workspaces):
        if problem := entry.difference(place):
            return problem
    return ""


class _Entry:
    """One package of the lock file: `"a/b": ["b@1.0.0", "", {…}, "sha512-…"]` is the `b` in `a`'s own node_modules."""

    def __init__(self, key: str, value: list[Any]) -> None:
        self.key = key
        self.name, _, self.version = str(value[0]).rpartition("@")
        self.facts: dict[str, Any] = next((part for part in value[1:] if isinstance(part, dict)), {})

    @property
    def is_package(self) -> bool:
        """True for packages from a registry for all systems, not for workspaces, files and git repositories."""
        return re.match(r"\d", self.version) is not None and not (self.facts.get("os") or self.facts.get("cpu"))

    def difference(self, place: Path) -> str:
        version = _version(place / "/node_modules/".join(_names(self.key)))
        if version == self.version or self._is_isolated(place / ".bun"):
            return ""
        found = f"{self.name} {version} is installed, bun.lock has {self.version}"
        return found if version else f"{self.name} {self.version} is not installed"

    def _is_isolated(self, store: Path) -> bool:
        """With `linker = "isolated"` each package has its own folder, with a hash of its peers in the name."""
        name = f"{self.name.replace('/', '+')}@{self.version}"
        return (store / name).is_dir() or next(store.glob(f"{glob.escape(name)}+*"), None) is not None


def _version(folder: Path) -> str:
    try:
        return str(json.loads(read_regular(folder / "package.json") or b"").get("version", ""))
    except (ValueError, AttributeError, RecursionError):
        return ""


def _required(entries: dict[str, _Entry], workspaces: dict[str, Any]) -> Iterator[_Entry]:
    """The transitive dependencies of the workspaces, without optional packages."""
    pending = [(str(facts.get("name", "")), name) for facts in workspaces.values() for name in _needs(facts, _ALWAYS)]
    visited_keys: set[str] = set()
    while pending:
        entry = _found(entries, *pending.pop())
        if entry is None or entry.key in visited_keys:
            continue
        visited_keys.add(entry.key)
        if entry.is_package:
            yield entry
            pending += [(entry.key, name) for name in _needs(entry.facts, ("dependencies",))]


def _needs(facts: dict[str, Any], kinds: tuple[str, ...]) -> list[str]:
    return [str(name) for kind in kinds for name in facts.get(kind) or ()]


def _found(entries: dict[str, _Entry], above: str, name: str) -> _Entry | None:
    """The package that `above` resolves this name to: its own, else that of a parent folder."""
    names = _names(above)
    while names:
        if entry := entries.get("/".join((*names, name))):
            return entry
        names.pop()
    return entries.get(name)


def _names(key: str) -> list[str]:
    """`@a/b/c` → `@a/b`, `c`"""
    return re.findall(r"@[^/]+/[^/]+|[^/]+", key)

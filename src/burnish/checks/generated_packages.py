"""Files in node_modules that an install script generated, perhaps from the sources.

Prisma writes its client to `node_modules/.prisma` out of `schema.prisma`; scripts write clients and types the same way.
Such files belong to the sources of one tree, unlike the packages beside them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

# Folders of package managers, and caches of tools, whose entries are keyed by the content of the sources.
_KNOWN_HIDDEN = frozenset(".bin .cache .pnpm .store .yarn .vite .vite-temp .vitest .staging .tmp .ignored .bun".split())
# npm's own list of what it installed
_NPM_RECORD = ".package-lock.json"


def has_generated_packages(root: Path, contents: Mapping[str, bytes | None]) -> bool:
    """True if a node_modules folder of these projects holds files that belong to no package."""
    projects = {path.rpartition("/")[0] for path in contents if path.rpartition("/")[2] == "package.json"}
    return any(_has_generated(root / project / "node_modules") for project in sorted(projects))


def _has_generated(folder: Path) -> bool:
    npm_packages = _recorded_by_npm(folder)
    if any(_is_generated(entry, folder, npm_packages) for entry in _entries(folder)):
        return True
    # pnpm keeps the packages there, each with its own node_modules
    return any(
        entry.name.startswith(".") and entry.name not in _KNOWN_HIDDEN and entry.is_dir(follow_symlinks=False)
        for store in _scan(folder / ".pnpm")
        for entry in _scan(Path(store.path, "node_modules"))
    )


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """The entries of node_modules and of its scopes."""
    for entry in _scan(folder):
        if entry.name.startswith("@") and entry.is_dir(follow_symlinks=False):
            yield from _scan(Path(entry.path))
        else:
            yield entry


def _is_generated(entry: os.DirEntry[str], folder: Path, npm_packages: frozenset[str] | None) -> bool:
    if entry.is_symlink() or entry.name in _KNOWN_HIDDEN:
        return False
    if entry.name.startswith("."):
        return entry.is_dir()
    if not Path(entry.path, "package.json").is_file():
        return True
    return npm_packages is not None and Path(entry.path).relative_to(folder).as_posix() not in npm_packages


def _recorded_by_npm(folder: Path) -> frozenset[str] | None:
    """The packages that npm installed directly in this folder; None if it was not npm."""
    try:
        packages = json.loads((folder / _NPM_RECORD).read_bytes())["packages"]
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None
    return frozenset(path.removeprefix("node_modules/") for path in packages) if isinstance(packages, dict) else None


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []

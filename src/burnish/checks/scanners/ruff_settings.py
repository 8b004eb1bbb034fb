"""The repository's settings for ruff at the base, and the rules that they ignore."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from burnish.regular_files import parse_toml

NAMES = (".ruff.toml", "ruff.toml", "pyproject.toml")
NEWEST = "py313"
_LOWEST = re.compile(r"(?:>=|~=|==)\s*3\.(\d+)")

Read = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Settings:
    """One settings file of the base, and the files it extends, nearest first."""

    path: str
    chain: tuple[tuple[str, str], ...]
    target: str

    @property
    def folder(self) -> str:
        return str(PurePosixPath(self.path).parent)

    def silences(self, path: str, code: str) -> bool:
        """True if the settings ignore this rule for this file."""
        return any(self._ignored(text, path, code) for _, text in self.chain)

    def _ignored(self, text: str, path: str, code: str) -> bool:
        section = _section(self.path, text)
        for part in (section, section.get("lint", {})):
            if not isinstance(part, dict):
                continue
            if _listed(code, [*_list(part.get("ignore")), *_list(part.get("extend-ignore"))]):
                return True
            for key in ("per-file-ignores", "extend-per-file-ignores"):
                table = part.get(key)
                for pattern, codes in table.items() if isinstance(table, dict) else ():
                    if _matches(path, self.folder, pattern) and _listed(code, _list(codes)):
                        return True
        return False


def settings_for(path: str, read: Read) -> Settings | None:
    """The nearest settings above the file, at the base."""
    for folder in PurePosixPath(path).parents:
        for name in NAMES:
            where = str(folder / name)
            text = read(where)
            if text is None or not _is_ruffs(name, text):
                continue
            return Settings(where, tuple(_chain(where, text, read)), _target(where, text, read))
    return None


def write_settings(settings: Settings, folder: Path) -> Path:
    """Write the settings files below `folder` at their original paths, so that `extend` finds them."""
    for path, text in settings.chain:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8", errors="replace")
    return folder / settings.path


def target_version(path: str, read: Read) -> str:
    """The oldest Python that the file's project supports; else a new version, to avoid false reports."""
    for folder in PurePosixPath(path).parents:
        text = read(str(folder / "pyproject.toml"))
        if text is not None and (version := _lowest_version(text)):
            return version
    return NEWEST


def _target(where: str, text: str, read: Read) -> str:
    for key in (_section(where, text).get("target-version"),):
        if isinstance(key, str) and re.fullmatch(r"py3\d{1,2}", key):
            return key
    return target_version(where, read)


def _lowest_version(text: str) -> str | None:
    project = _loaded(text).get("project")
    requirement = project.get("requires-python") if isinstance(project, dict) else None
    match = _LOWEST.search(requirement) if isinstance(requirement, str) else None
    if not match:
        return None
    return f"py3{min(max(int(match[1]), 7), 14)}"


def _chain(where: str, text: str, read: Read) -> Iterable[tuple[str, str]]:
    for _ in range(5):
        yield where, text
        parent = _section(where, text).get("extend")
        if not isinstance(parent, str) or parent.startswith(("/", "~", "$")):
            return
        where = os.path.normpath(str(PurePosixPath(where).parent / parent))
        above = None if where.startswith("..") else read(where)
        if above is None:
            return
        text = above


def _is_ruffs(name: str, text: str) -> bool:
    return name != "pyproject.toml" or bool(_section(name, text))


def _section(where: str, text: str) -> dict[str, Any]:
    found: Any = _loaded(text)
    if PurePosixPath(where).name == "pyproject.toml":
        for key in ("tool", "ruff"):
            found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _loaded(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except (ValueError, RecursionError):
        return {}


def _list(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _listed(code: str, prefixes: list[str]) -> bool:
    return any(prefix == "ALL" or (prefix and code.startswith(prefix)) for prefix in prefixes)


def _matches(path: str, folder: str, pattern: str) -> bool:
    here = path if folder == "." else path.removeprefix(folder + "/")
    name = PurePosixPath(path).name
    return fnmatch.fnmatchcase(here, pattern) or fnmatch.fnmatchcase(name, pattern)

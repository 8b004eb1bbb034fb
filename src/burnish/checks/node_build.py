"""Finds out whether the tests of a JavaScript project need its script `build` to run first."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from burnish.checks.tools import ProjectFolder

# Scripts that npm and the like run by themselves before the tests or while installing.
_BEFORE_TESTS = tuple("pretest preinstall install postinstall prepublish preprepare prepare postprepare".split())
_COMPILERS = re.compile(r"\b(?:build|compile|tsc|tsup|rollup|esbuild|swc|babel|webpack|vite build|unbuild|parcel)\b")
_SOURCE = re.compile(r"\.[cm]?[jt]sx?")
_TEST_FILE = re.compile(r"(?:^|/)(?:tests?|__tests__|specs?)(?:/|\.)|[.-](?:test|spec)\.")
_IMPORT = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["']([^"'\n]{1,200})["']""")
_STRING = re.compile(r"""["'](\.{1,2}/[^"'\n]{1,200})["']""")
_ENTRY_KEYS = ("main", "module", "exports", "bin")
# Folders that no build makes.
_FOREIGN = re.compile(r"(?:^|/)(?:\.\.|node_modules|coverage)(?:/|$)")
MOST_FILES = 40


def needs_build(place: ProjectFolder, package: Mapping[str, Any]) -> str:
    """The folder that the tests use and only the script `build` makes, e.g. `dist`; "" if there is none."""
    scripts = package.get("scripts")
    if not isinstance(scripts, dict) or not scripts.get("build") or not scripts.get("test"):
        return ""
    if any(_COMPILERS.search(str(scripts.get(name) or "")) for name in ("test", *_BEFORE_TESTS)):
        return ""
    tracked = {path[:end] for path in place.paths for end in _slashes(path)}
    for path in dict.fromkeys(_paths_of_tests(place, package, str(scripts["test"]))):
        folder = next((path[:end] for end in _slashes(f"{path}/") if path[:end] not in tracked), "")
        if folder and folder not in place.paths and not _FOREIGN.search(folder) and place.ignores(f"{folder}/"):
            return folder
    return ""


def _slashes(path: str) -> Iterator[int]:
    return (place for place, letter in enumerate(path) if letter == "/")


def _paths_of_tests(place: ProjectFolder, package: Mapping[str, Any], command: str) -> Iterator[str]:
    """Paths that the test command and the tests name, from the folder of the project."""
    yield from (posixpath.normpath(word.strip("'\"")) for word in command.split() if "/" in word)
    entries = dict(_packages(place, package))
    files = [path for path in place.paths if _SOURCE.search(path) and _TEST_FILE.search(path)]
    for file in files[:MOST_FILES]:
        text = place.read(file)
        for name in dict.fromkeys([*_IMPORT.findall(text), *_STRING.findall(text)]):
            if name.startswith("."):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(file), name))
                yield from entries.get("", ()) if path == "." else [path]
            else:
                yield from entries.get(name, ())


def _packages(place: ProjectFolder, package: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The packages of the repository with the files that they are imported from; "" is the one of the folder."""
    own = list(_entries([package.get(key) for key in _ENTRY_KEYS]))
    yield "", own
    yield str(package.get("name")), own
    for path in [path for path in place.paths if path.endswith("/package.json")][:MOST_FILES]:
        other = package_of(place.read(path))
        inner = _entries([other.get(key) for key in _ENTRY_KEYS])
        yield str(other.get("name")), [posixpath.join(posixpath.dirname(path), entry) for entry in inner]


def package_of(text: str) -> dict[str, Any]:
    """A package.json; empty if it is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _entries(value: object, depth: int = 0) -> Iterator[str]:
    """The files that `main`, `exports` and the like name."""
    if isinstance(value, str):
        yield posixpath.normpath(value)
    elif isinstance(value, dict | list) and depth < 5:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _entries(inner, depth + 1)

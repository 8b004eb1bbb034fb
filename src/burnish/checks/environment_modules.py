"""Lists the modules that a test run can import from installed packages, without starting a program."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

_ENTRY = re.compile(r"([A-Za-z_]\w*)(?:\.py|(?:\.[\w-]+)?\.so|)$")
_PACKAGES = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages")
_ENVIRONMENTS = (".venv", "venv", "env", ".tox/*", ".nox/*")
_PROGRAMS = ("python3", "python", "pytest", "py.test", "coverage", "tox", "nox", "uv", "hatch", "poetry", "pdm")
_IN_BIN = re.compile(r"([^\s;&|'\"=]+)/bin/[\w.-]+")
# Distributions often install these by mistake, and many projects have folders of these names.
_ORDINARY = frozenset(
    "test tests testing doc docs example examples sample samples script scripts tool tools bin build dist benchmark "
    "benchmarks bench ci data assets src lib app".split()
)


def environment_modules(
    roots: Iterable[Path], *, path: str, home: Path, commands: Iterable[str] = ()
) -> frozenset[str]:
    """The top-level names in environments below `roots`, of the programs on PATH, and of those that commands name."""
    names: set[str] = set()
    for place in dict.fromkeys(_places(roots, path, home, commands)):
        names |= _names(place)
    return frozenset(names - _ORDINARY)


def _places(roots: Iterable[Path], path: str, home: Path, commands: Iterable[str]) -> Iterator[Path]:
    folders = list(roots)
    prefixes = [prefix for root in folders for pattern in _ENVIRONMENTS for prefix in _glob(root, pattern)]
    prefixes += [Path(entry).parent for entry in path.split(os.pathsep) if entry.startswith("/")]
    for name in _PROGRAMS:
        if program := shutil.which(name, path=path):
            prefixes += prefixes_of(Path(program))
    for words in commands:
        for bin_prefix in _IN_BIN.findall(words):
            absolute_prefix = bin_prefix.replace("~", str(home), 1) if bin_prefix.startswith("~/") else bin_prefix
            prefixes += [root / absolute_prefix for root in folders]
    for prefix in (*prefixes, home / ".local"):
        for pattern in _PACKAGES:
            yield from _glob(prefix, pattern)


def prefixes_of(program: Path) -> Iterator[Path]:
    """Prefixes of a program's interpreter: beside the program, at the link target, or from its first line."""
    yield Path(os.path.realpath(program)).parent.parent
    try:
        with program.open("rb") as file:
            line = file.readline(400)
    except OSError:
        return
    if line.startswith(b"#!/"):
        interpreter = Path(os.fsdecode(line[2:].split()[0]))
        yield interpreter.parent.parent
        yield Path(os.path.realpath(interpreter)).parent.parent


def _glob(place: Path, pattern: str) -> list[Path]:
    try:
        return sorted(place.glob(pattern))
    except OSError:
        return []


def _names(place: Path) -> set[str]:
    try:
        entries = sorted(entry.name for entry in place.iterdir())
    except OSError:
        return set()
    found = {match[1] for entry in entries if (match := _ENTRY.match(entry)) and not entry.startswith("__")}
    for entry in entries:
        if entry.endswith(".dist-info"):
            found -= _copied_from_sources(place / entry)
    return found


def _copied_from_sources(info: Path) -> set[str]:
    """The modules of a project that was installed from a folder, which is a copy of the tree."""
    try:
        direct = json.loads((info / "direct_url.json").read_bytes())
        record = (info / "RECORD").read_text("utf-8", "replace")
    except (OSError, ValueError):
        return set()
    if not isinstance(direct, dict) or "dir_info" not in direct:
        return set()
    heads = {line.split(",")[0].split("/")[0] for line in record.splitlines()}
    return {match[1] for head in heads if (match := _ENTRY.match(head))}

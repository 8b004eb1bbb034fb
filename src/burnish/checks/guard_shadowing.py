"""New files that a test run would load instead of its runner, the standard library or an installed package."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from burnish.core.change import ChangedFile

Text = Callable[[str], str | None]

REASON = (
    "A test run finds this file before the module that it means to load, so the checks could run this code instead of "
    "the tests, or pass whatever the tests say. Give it another name."
)
# Directories that a test run puts first on the import path: its own, `src` by settings, that of a test file.
_ROOTS = ("", "src/", "tests/", "test/")
_MODULE = re.compile(r"^(?P<name>[A-Za-z_]\w*)(?:\.py|\.pyc|(?:\.[\w-]+)?\.(?:so|pyd)|/__init__\.pyc?)$")
_RUNNERS = frozenset(
    "pytest _pytest pluggy iniconfig py xdist execnet coverage pytest_cov pytest_timeout pytest_asyncio hypothesis "
    "nose nose2 tox nox pip setuptools pkg_resources ruff mypy flake8 pylint".split()
)
_START = frozenset(("sitecustomize", "usercustomize"))
# `test` is a package of the standard library, and an ordinary name for one's own tests
_STANDARD = frozenset(sys.stdlib_module_names) - {"test"}
# A directory with entry points is a plugin of pytest as soon as it lies on the import path.
_DISTRIBUTION = re.compile(r"^(?:src/)?[^/]+\.(?:dist-info|egg-info)/")
_ENVIRONMENT = re.compile(r"^(?:\.venv|venv|node_modules)/")


def shadowing(
    files: Iterable[ChangedFile], old_text: Text, new_text: Text, installed: Collection[str]
) -> Iterator[tuple[ChangedFile, str]]:
    """Each new file that shadows something, with the title of the finding."""
    for file in files:
        what = _shadowed(file, old_text, new_text, installed) if _is_new(file) else None
        if what:
            yield file, f"{file.path} shadows {what}"


def related_paths(file: ChangedFile) -> tuple[str, ...]:
    """The paths whose existence decides whether a new file shadows anything; empty where it cannot."""
    found = _module(file.path) if _is_new(file) else None
    if found is None:
        return ()
    root, name = found
    return (f"{root}{name}.py", f"{root}{name}/__init__.py", f"{root}__init__.py")


def installed_modules(places: Iterable[Path]) -> frozenset[str]:
    """Top-level names in the virtual environments of these directories, as far as they can be listed."""
    names = set()
    for place in places:
        for entry in place.glob(".venv/lib*/python3*/site-packages/*"):
            found = re.match(r"([A-Za-z_]\w*)(?:\.py|(?:\.[\w-]+)?\.so|)$", entry.name)
            if found and not found[1].startswith("__"):
                names.add(found[1])
    return frozenset(names)


def _is_new(file: ChangedFile) -> bool:
    return file.status in ("A", "R", "C")


def _module(path: str) -> tuple[str, str] | None:
    for root in _ROOTS:
        found = _MODULE.match(path.removeprefix(root)) if path.startswith(root) else None
        if found:
            return root, found["name"]
    return None


def _shadowed(file: ChangedFile, old_text: Text, new_text: Text, installed: Collection[str]) -> str | None:
    if _DISTRIBUTION.match(file.path) or _ENVIRONMENT.match(file.path):
        return "installed packages"
    found = _module(file.path)
    if found is None:
        return None
    root, name = found
    was_there = any(old_text(path) is not None for path in (f"{root}{name}.py", f"{root}{name}/__init__.py"))
    # the modules of a package are found by its name only
    if was_there or (root and new_text(f"{root}__init__.py") is not None):
        return None
    if name in _START:
        return "the start-up of Python"
    if name in _STANDARD:
        return f"the module `{name}` of the standard library"
    if name in _RUNNERS:
        return f"the test tool `{name}`"
    return f"the installed package `{name}`" if name in installed else None

"""What set-up makes out of the sources of a tree: compiled extensions, build output. Pure but for `has_build_output`.

An environment is shared by all trees with the same dependencies. What was compiled from the sources of one tree says
nothing about another whose sources differ: a broken change would pass with the program built before it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from burnish.checks.dependency_files import install_scripts

# Sources that a Python project compiles when it is installed.
_NATIVE = re.compile(
    r"\.(?:c|h|cc|cpp|cxx|hh|hpp|hxx|inl|m|mm|cu|cuh|pyx|pxd|pxi|rs|f|f90|f95|for|s|asm|zig|pyf)(?:\.in)?$"
    r"|(?:^|/)(?:CMakeLists\.txt|[^/]+\.cmake|meson\.build|meson\.options|build\.rs)$",
    re.I,
)
_COMPILES = re.compile(
    r"\b(?:ext_modules|Extension|cythonize|rust_extensions|RustExtension|cffi_modules|pybind11|mypycify|CMakeExtension)\b"
)
_COMPILING_BACKENDS = (
    "maturin",
    "mesonpy",
    "scikit_build_core",
    "skbuild",
    "hatch_cython",
    "sipbuild",
    "numpy.distutils",
)
# Installing leaves a file in the sources that git ignores.
_WRITES_VERSION = re.compile(r"\b(?:version[-_]file|write_to|build-hooks|hooks)\b")
# Programs of install scripts that leave nothing which tests could import.
_HOOK_INSTALLERS = frozenset(
    "husky simple-git-hooks lefthook is-ci only-allow patch-package pinst playwright true exit echo".split()
)
_NATIVE_OUTPUT = (".so", ".pyd", ".dylib", ".a", ".o")
_OTHER_OUTPUT = (".js", ".mjs", ".cjs", ".node", ".wasm", ".jar", ".class")
# Extensions that are compiled from Python files.
_COMPILES_PYTHON = re.compile(r"mypyc|cythonize\([^)]*\.py[\"']")
_INSTALLED = frozenset(
    (".venv", "venv", "env", "node_modules", ".git", "__pycache__", ".yarn", ".pnpm-store", ".husky")
)
_DOCUMENT = re.compile(r"\.(?:md|rst|txt|adoc)$|(?:^|/)(?:LICENSE|CHANGELOG|AUTHORS)[^/]*$", re.I)
_TEST = re.compile(r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)test_[^/]+\.py$|[._](?:test|spec)\.\w+$")


def native_sources(paths: Iterable[str], contents: Mapping[str, bytes | None]) -> tuple[str, ...]:
    """The files that installing the project compiles; `contents` are its dependency files."""
    if not any(_compiles(path, data or b"") for path, data in contents.items()):
        return ()
    return tuple(sorted(path for path in paths if _NATIVE.search(path)))


def leaves_files(contents: Mapping[str, bytes | None]) -> bool:
    """Does installing the project leave files beside its sources? An environment folder alone is not enough then."""
    return any(_leaves_files(path, data or b"") for path, data in contents.items())


def has_build_output(layer: Path, contents: Mapping[str, bytes | None]) -> bool:
    """Did set-up leave programs outside of the folders for installed packages?

    Not those that are made of native sources, where `contents` has these: a change to them is another environment.
    """
    texts = [(data or b"").decode("utf-8", "replace") for path, data in contents.items() if not _NATIVE.search(path)]
    known = any(map(_NATIVE.search, contents)) and not any(map(_COMPILES_PYTHON.search, texts))
    suffixes = _OTHER_OUTPUT if known else (*_OTHER_OUTPUT, *_NATIVE_OUTPUT)
    for _, folders, files in os.walk(layer):
        folders[:] = [name for name in folders if name not in _INSTALLED and not name.endswith(".egg-info")]
        if any(name.endswith(suffixes) for name in files):
            return True
    return False


def may_change_output(paths: Iterable[str]) -> bool:
    """May a change to these files change what is built? Tests and documents do not."""
    return any(not _DOCUMENT.search(path) and not _TEST.search(path) for path in paths)


def _compiles(path: str, data: bytes) -> bool:
    name = path.rpartition("/")[2]
    if name == "setup.py":
        return _COMPILES.search(data.decode("utf-8", "replace")) is not None
    if name != "pyproject.toml":
        return False
    table = _toml(data)
    system = table.get("build-system")
    backend = str(system.get("build-backend", "")) if isinstance(system, dict) else ""
    tool = table.get("tool")
    setuptools = tool.get("setuptools") if isinstance(tool, dict) else None
    declared = isinstance(setuptools, dict) and "ext-modules" in setuptools
    return declared or backend.startswith(_COMPILING_BACKENDS)


def _leaves_files(path: str, data: bytes) -> bool:
    name = path.rpartition("/")[2]
    if name == "package.json":
        return any(not _only_hooks(script) for script in install_scripts(data))
    if name == "pyproject.toml":
        tool = _toml(data).get("tool")
        chosen = {key: tool.get(key) for key in ("hatch", "setuptools_scm", "pdm")} if isinstance(tool, dict) else {}
        return _compiles(path, data) or _WRITES_VERSION.search(str(chosen)) is not None
    return _compiles(path, data)


def _only_hooks(script: str) -> bool:
    commands = re.split(r"&&|\|\||;", script)
    programs = (
        re.sub(r"^\s*(?:npx\s+(?:--\S+\s+)*|node_modules/\.bin/)?", "", command).split() for command in commands
    )
    return all(not words or words[0] in _HOOK_INSTALLERS or words[0] in ("true", "exit", "echo") for words in programs)


def _toml(data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError):
        return {}

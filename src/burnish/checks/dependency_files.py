"""Which files of a tree decide what is installed for it, and a fingerprint of their content. Pure."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from burnish.checks.build_inputs import build_inputs, relevant_lines, version_modules
from burnish.regular_files import parse_toml

# Folders whose projects are not installed with this one.
_FOREIGN = re.compile(
    r"(?:^|/)(?:examples?|samples?|fixtures?|testdata|test[-_]?projects?|node_modules|site-packages|vendor|third[-_]party|"
    r"\.venv|venv|resources)/"
)
_WHOLE = frozenset(
    "uv.lock poetry.lock pdm.lock Pipfile Pipfile.lock setup.py setup.cfg package-lock.json npm-shrinkwrap.json"
    " pnpm-lock.yaml pnpm-workspace.yaml yarn.lock .yarnrc.yml bun.lock bun.lockb .npmrc go.mod go.sum Cargo.toml"
    " Cargo.lock rust-toolchain rust-toolchain.toml Gemfile Gemfile.lock pom.xml build.gradle build.gradle.kts"
    " settings.gradle settings.gradle.kts gradle.lockfile composer.json composer.lock environment.yml .python-version"
    " .nvmrc .node-version .tool-versions mise.toml environment.yaml conda-lock.yml pixi.toml pixi.lock pylock.toml"
    " .ruby-version mix.exs mix.lock deno.json deno.jsonc deno.lock .yarnrc".split()
)
_REQUIREMENTS = re.compile(
    r"(?:^|/)[^/]*(?:requirements|constraints)[^/]*\.(?:txt|in)$|(?:^|/)requirements/[^/]+\.(?:txt|in)$"
)
# Changes to packages that are made when these are installed (patch-package, pnpm, yarn).
_PATCH = re.compile(r"(?:^|/)(?:patches|\.yarn/patches)/.+\.(?:patch|diff)$")
_ENDINGS = (".txt", ".in", ".patch", ".diff")
_NAMES = _WHOLE | {"pyproject.toml", "package.json"}
# Programs of a set-up command that read a file of this name.
_READ_BY = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "just": ("justfile", "Justfile"),
    "invoke": ("tasks.py",),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
}
_INCLUDED = re.compile(r"^\s*(?:-[rc]|--requirement|--constraint)[\s=]*([^\s#]+)", re.M)
_PYPROJECT_TOOLS = (
    *("uv", "poetry", "pdm", "hatch", "setuptools", "flit", "setuptools_scm", "rye"),
    *("scikit-build", "meson-python", "maturin", "setuptools-rust", "sip"),
)
_PROJECT_KEYS = (
    "name",
    # importlib.metadata reports that of the last installation
    "version",
    "dependencies",
    "optional-dependencies",
    "requires-python",
    "scripts",
    "gui-scripts",
    "entry-points",
    "dynamic",
)
_PACKAGE_KEYS = (
    "name dependencies devDependencies optionalDependencies peerDependencies overrides resolutions pnpm workspaces"
    " packageManager engines bin"
).split()
_PACKAGE_SCRIPTS = frozenset("preinstall install postinstall prepare prepublish preprepare postprepare".split())


def dependency_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """The files that decide what is installed, sorted."""
    return _dependency_paths(tuple(paths))


@lru_cache(maxsize=4)  # several steps need those of one tree
def _dependency_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    likely = [path for path in paths if path.endswith(_ENDINGS) or path.rpartition("/")[2] in _NAMES]
    return tuple(sorted(path for path in likely if _decides(path) and not _FOREIGN.search(path)))


def named_paths(command: str, paths: Iterable[str]) -> tuple[str, ...]:
    """The files that a set-up command names, which also decide what is installed."""
    inputs = re.sub(r">+\s*\S+", " ", command)  # output redirections are not inputs
    words = {word.removeprefix("./") for word in re.split(r"[\s;&|()<'\"=]+", inputs) if word}
    words |= {name for program, names in _READ_BY.items() if program in words for name in names}
    folders = {f"{word.rstrip('/')}/" for word in re.findall(r"\bcd\s+([^\s;&|]+)", command)}
    candidates = words | {f"{folder}{word}" for folder in folders for word in words}
    return tuple(sorted(path for path in paths if path in candidates))


def included_paths(contents: Mapping[str, bytes | None], paths: Iterable[str]) -> tuple[str, ...]:
    """Files that these include or read (`-r` in requirements, a version file), except those already in `contents`."""
    paths = list(paths)
    names = set(build_inputs(contents, paths))
    for path, data in contents.items():
        if path.endswith((".txt", ".in")):
            for entry in _INCLUDED.findall((data or b"").decode("utf-8", "replace")):
                names.add(posixpath.normpath(posixpath.join(posixpath.dirname(path), entry)))
    return tuple(sorted(path for path in paths if path in names and path not in contents))


def is_whole_input(name: str) -> bool:
    """True for files whose whole content decides what is installed, such as lock files."""
    return name in _WHOLE


def _decides(path: str) -> bool:
    return path.rpartition("/")[2] in _NAMES or any(pattern.search(path) for pattern in (_REQUIREMENTS, _PATCH))


def fingerprint(contents: Mapping[str, bytes | None], *facts: str) -> str:
    """A hash of the dependencies in these files and of further facts (set-up command, tool versions)."""
    digest = hashlib.sha256()
    modules = version_modules(contents)
    for path in sorted(contents):
        digest.update(f"{path}\0".encode("utf-8", "surrogateescape"))
        digest.update(relevant(path, contents[path] or b"", modules) + b"\0")
    for fact in facts:
        digest.update(fact.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def relevant(path: str, data: bytes, modules: Collection[str] = ()) -> bytes:
    """The part of a file that decides what is installed, without tool settings in pyproject.toml and package.json.

    Of `modules`, only the version counts (`build_inputs.version_modules`).
    """
    name = path.rpartition("/")[2]
    if (lines := relevant_lines(path, data, modules)) is not None:
        return lines
    try:
        if name == "pyproject.toml":
            return _plain(_python_tables(parse_toml(data.decode())))
        if name == "package.json":
            return _plain(_package_tables(json.loads(data)))
    except (ValueError, RecursionError):
        pass
    return data


def install_scripts(data: bytes) -> tuple[str, ...]:
    """The scripts of a package.json that run when its dependencies are installed."""
    try:
        package = json.loads(data)
    except (ValueError, RecursionError):
        return ()
    scripts = package.get("scripts") if isinstance(package, dict) else None
    entries = scripts.items() if isinstance(scripts, dict) else ()
    return tuple(str(script) for name, script in entries if name in _PACKAGE_SCRIPTS and script)


def _python_tables(data: dict[str, Any]) -> dict[str, Any]:
    tool, project = data.get("tool", {}), data.get("project", {})
    return {
        "build-system": data.get("build-system"),
        "dependency-groups": data.get("dependency-groups"),
        "project": {key: project.get(key) for key in _PROJECT_KEYS} if isinstance(project, dict) else project,
        "tool": {key: tool.get(key) for key in _PYPROJECT_TOOLS} if isinstance(tool, dict) else tool,
    }


def _package_tables(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    scripts = data.get("scripts")
    scripts = scripts if isinstance(scripts, dict) else {}
    tables: dict[str, Any] = {key: data.get(key) for key in _PACKAGE_KEYS}
    return tables | {"scripts": {key: value for key, value in scripts.items() if key in _PACKAGE_SCRIPTS}}


def _plain(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode("utf-8", "surrogateescape")

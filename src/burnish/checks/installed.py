"""Environment folders in the checkout (`.venv`, `node_modules`), and whether they match the lock files."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from burnish.regular_files import parse_toml, read_regular

_VENVS = (".venv", "venv", "env", ".conda")
_TOML_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock")
_NODE_LOCKS = ("package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock")
_PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;,#]+)", re.M)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DECLARING = (".toml", "setup.py", ".cfg", "package.json")
_PYTHON, _NODE, _CACHES = "python", "node", (".cache", ".tmp", ".vite", ".vitest")


@dataclass(frozen=True, slots=True)
class EnvironmentFolder:
    """One folder with installed packages, from the root of the checkout."""

    path: str
    kind: str

    @property
    def project(self) -> str:
        """The folder that it belongs to, "" for the root."""
        return "" if "/" not in self.path else self.path.rpartition("/")[0]

    @property
    def programs(self) -> str:
        return f"{self.path}/bin" if self.kind == _PYTHON else f"{self.path}/.bin"

    @property
    def caches(self) -> tuple[str, ...]:
        """Folders in it that tools use for what they know of the sources, e.g. that their output is up to date."""
        return tuple(f"{self.path}/{name}" for name in _CACHES) if self.kind == _NODE else ()


def environment_folders(root: Path, paths: Iterable[str]) -> tuple[EnvironmentFolder, ...]:
    """Environment folders beside files that declare dependencies, except folders that git tracks."""
    tracked_paths = tuple(paths)
    python, node = _declaring_folders(tracked_paths)
    found = [
        EnvironmentFolder(_join(folder, name), _PYTHON)
        for folder in sorted(python)
        for name in _VENVS
        if _is_environment(root / folder / name)
    ]
    found += [
        EnvironmentFolder(_join(folder, "node_modules"), _NODE)
        for folder in sorted(node)
        if (root / folder / "node_modules").is_dir()
    ]
    own = [one for one in found if not (root / one.path).is_symlink()]
    return tuple(one for one in own if not any(path.startswith(f"{one.path}/") for path in tracked_paths))


@lru_cache(maxsize=4)  # several steps need those of one tree
def _declaring_folders(paths: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Folders with a file that declares dependencies of Python, and of Node."""
    likely = [path for path in paths if path.endswith(_DECLARING) or "requirements" in path]
    python = {"", *(_folder(path) for path in likely if _is_python(path))}
    return frozenset(python), frozenset(_folder(path) for path in likely if f"/{path}".endswith("/package.json"))


def _is_environment(place: Path) -> bool:
    """A virtual environment, or a prefix of conda."""
    return (place / "pyvenv.cfg").is_file() or (place / "conda-meta").is_dir()


def _is_python(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in ("pyproject.toml", "setup.py", "setup.cfg") or name.startswith("requirements")


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def difference(root: Path, folder: EnvironmentFolder, contents: Mapping[str, bytes | None]) -> str:
    """How the folder differs from its lock file; "" if it matches.


    `contents` are the dependency files of the tree under test, by path.
    """
    beside = {
        path.rpartition("/")[2]: data
        for path, data in contents.items()
        if data is not None and _folder(path) in (folder.project, "")
    }
    place = root / folder.path
    if folder.kind == _PYTHON:
        return _python_difference(place, beside)
    # The root's record lists the packages of its workspaces.
    own = any(_join(folder.project, name) in contents for name in _NODE_LOCKS)
    return _node_difference(place if own else root / "node_modules", beside)


def _python_difference(place: Path, beside: Mapping[str, bytes]) -> str:
    lock_versions = _locked_python(beside)
    if not lock_versions:
        return "there is no lock file with exact versions"
    installed_versions = dict(_installed_python(place))
    for name, version in sorted(installed_versions.items()):
        if name in lock_versions and version not in lock_versions[name]:
            return f"{name} {version} is installed, the lock file has {' or '.join(sorted(lock_versions[name]))}"
    missing = sorted(
        name for name in _direct_dependencies(beside) if name in lock_versions and name not in installed_versions
    )
    return f"{missing[0]} is not installed" if missing else ""


def _locked_python(beside: Mapping[str, bytes]) -> dict[str, set[str]]:
    lock_versions: dict[str, set[str]] = {}
    for name in _TOML_LOCKS:
        packages = _toml(beside.get(name)).get("package")
        for package in packages if isinstance(packages, list) else ():
            if isinstance(package, dict) and not _is_local(package):
                versions = lock_versions.setdefault(_normal(str(package.get("name"))), set())
                versions.add(str(package.get("version")))
    if not lock_versions:
        for name, data in beside.items():
            if name.startswith("requirements"):
                for package, version in _PINNED.findall(data.decode("utf-8", "replace")):
                    lock_versions.setdefault(_normal(package), set()).add(version)
    return lock_versions


def _is_local(package: Mapping[str, Any]) -> bool:
    source = package.get("source")
    return isinstance(source, dict) and any(key in source for key in ("editable", "virtual", "directory"))


def _installed_python(place: Path) -> Iterator[tuple[str, str]]:
    for folder in place.glob("lib/python*/site-packages/*.dist-info"):
        name, _, version = folder.name.removesuffix(".dist-info").rpartition("-")
        yield _normal(name), version


def _direct_dependencies(beside: Mapping[str, bytes]) -> set[str]:
    table = _toml(beside.get("pyproject.toml"))
    project, groups = table.get("project"), table.get("dependency-groups")
    lists = [project.get("dependencies")] if isinstance(project, dict) else []
    lists += [groups.get("dev")] if isinstance(groups, dict) else []
    words = (word for one in lists if isinstance(one, list) for word in one if isinstance(word, str))
    # A dependency with a marker may be missing on this machine.
    names = (_NAME.match(word.strip()) for word in words if ";" not in word)
    return {_normal(match[0]) for match in names if match}


def _node_difference(place: Path, beside: Mapping[str, bytes]) -> str:
    if "package-lock.json" in beside:
        return _npm_difference(place, beside["package-lock.json"])
    if "pnpm-lock.yaml" in beside:
        current = read_regular(place / ".pnpm" / "lock.yaml")
        same = current is not None and current.strip() == beside["pnpm-lock.yaml"].strip()
        return "" if same else "pnpm's record of installed packages differs from pnpm-lock.yaml"
    if "yarn.lock" in beside:
        return yarn_difference(place, beside["yarn.lock"])
    if "bun.lock" in beside:
        return bun_difference(place, beside["bun.lock"])
    return "there is no lock file with exact versions"


def _npm_difference(place: Path, lock: bytes) -> str:
    lock_packages, installed_packages = (
        _npm_packages(lock),
        _npm_packages(read_regular(place / ".package-lock.json") or b""),
    )
    if not installed_packages:
        return "npm's record of installed packages is missing"
    for path, package in sorted(lock_packages.items()):
        package_found = installed_packages.get(path)
        if package_found is None:
            # npm skips packages for other systems.
            if not any(package.get(key) for key in ("optional", "devOptional", "peer", "link", "os", "cpu")):
                return f"{path} is not installed"
        elif package_found.get("version") != package.get("version") or package_found.get("integrity") != package.get(
            "integrity"
        ):
            return f"{path} {package_found.get('version')} is installed, the lock file has {package.get('version')}"
    return ""


def _npm_packages(data: bytes) -> dict[str, dict[str, Any]]:
    try:
        packages = json.loads(data).get("packages")
    except (ValueError, AttributeError, RecursionError):
        return {}
    found = packages.items() if isinstance(packages, dict) else ()
    return {path: entry for path, entry in found if path.startswith("node_modules/") and isinstance(entry, dict)}


def _toml(data: bytes | None) -> dict[str, Any]:
    try:
        return parse_toml((data or b"").decode())
    except (ValueError, RecursionError):
        return {}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


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


# -- installed yarn -------------------------------------------------------------------------------
# Compares `node_modules` with yarn.lock, using the records that yarn writes there.

# of yarn 1 and of yarn 2 and later
CLASSIC_RECORD, RECORD = ".yarn-integrity", ".yarn-state.yml"
_KEY = re.compile(r'("(?:[^"\\]|\\.)*"|[^\s":][^\s:]*(?:, *[^\s:]+)*):?(?:\s+(.*))?$')
_YARN_NAME = re.compile(r"(@?[^@]+)@(.*)", re.S)
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
    missing = sorted(_yarn_required(packages) - installed_packages)
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


def _yarn_required(packages: dict[str, dict[str, Any]]) -> set[tuple[str, str]]:
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
    match = _YARN_NAME.fullmatch(locator)
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

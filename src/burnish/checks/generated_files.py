"""Files that set-up builds from the sources of a tree: compiled extensions, build output, copies of packages.

Pure but for `has_build_output`, `has_copied_packages`, `has_copied_project` and `has_vendored_sources`.

All trees with the same dependencies share an environment. Files compiled from the sources of one tree must not be
used to test another tree: a broken change would pass with the program built before it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from burnish.checks.dependency_files import install_scripts, is_whole_input, relevant
from burnish.folder_walk import walk_folders
from burnish.regular_files import parse_toml, read_regular

# Sources that a Python project compiles when it is installed.
_NATIVE = re.compile(
    r"\.(?:c|h|cc|cpp|cxx|c\+\+|hh|hpp|hxx|inl|m|mm|cu|cuh|pyx|pxd|pxi|rs|f|f90|f95|f03|f08|for|s|asm|zig|pyf|i|swg|sip)"
    r"(?:\.(?:in|src|tp|tmpl|templ|j2|jinja2?))?$"
    r"|(?:^|/)(?:CMakeLists\.txt|[^/]+\.cmake|meson\.build|meson\.options|build\.rs)$",
    re.I,
)
# `#include "ops.def"`, `include "common.pxi"`, `include!("table.rs")`, `include_str!("query.sql")`
_INCLUDES = re.compile(r"\binclude(?:_str|_bytes)?!?\s*[(<\"']+\s*([^\"'<>()\s]+)")
# Files that say how a project is built, and scripts that they start.
_BUILD_FILE = re.compile(
    r"^(?:pyproject\.toml|CMakeLists\.txt|meson\.build|.+\.(?:py|cmake|sh|pl|awk)|build\.rs)$", re.I
)
_FILE_NAME = re.compile(r"[\w+-][\w./+-]*\.\w+")
_IMPORTED = re.compile(r"^\s*(?:from|import)\s+([\w., ]+?(?:\s+import\s+[\w., ]+)?)\s*(?:#|$)", re.M)
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
# Extensions that are compiled from Python files, or from C that Python files hold (cffi).
_COMPILES_PYTHON = re.compile(r"mypyc|cffi_modules|cythonize\([^)]*\.py[\"']")
# Folders of packages that others wrote, and caches.
_INSTALLED = frozenset(
    ".venv venv env node_modules .git __pycache__ .yarn .pnpm-store .husky .tox .nox .eggs .bundle .cache .gradle"
    " .direnv vendor bower_components".split()
)
# Where pip and uv write down what a package was installed from.
_ORIGINS = "site-packages/*.dist-info/direct_url.json"
# In vendor/modules.txt: a module that comes from a folder.
_LOCAL_MODULE = re.compile(rb"^# .* => \.{0,2}/", re.M)
# Files that set-up leaves and that hold nothing of the sources.
_HARMLESS = re.compile(r"^\.|(?:^|_)version[^/]*\.(?:py|pyi|txt)$|\.(?:log|pth|lock)$", re.I)
# A change to these changes nothing that is built; others may be content or templates.
_DOCUMENT = re.compile(r"^(?:docs?/.*|[^/]+)\.(?:md|rst|adoc)$|^(?:LICEN[CS]E|CHANGELOG|AUTHORS|README)[^/]*$", re.I)
# Dependencies on another folder of the repository; some package managers copy them.
_LOCAL = ("file:", ".", "/", "workspace:")
_DEPENDENCIES = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


def native_sources(paths: Iterable[str], contents: Mapping[str, bytes | None]) -> tuple[str, ...]:
    """The files that installing the project compiles; `contents` are its dependency files."""
    if not any(_compiles(path, data or b"") for path, data in contents.items()):
        return ()
    return tuple(sorted(path for path in paths if _NATIVE.search(path)))


def included_sources(contents: Mapping[str, bytes | None], paths: Iterable[str]) -> tuple[str, ...]:
    """Files of any name that the sources among `contents` include, except those already in `contents`."""
    texts = ((data or b"").decode("utf-8", "replace") for path, data in contents.items() if not path.endswith(".py"))
    names = {name.rpartition("/")[2] for text in texts for name in _INCLUDES.findall(text)}
    if not names:
        return ()
    return tuple(sorted(path for path in paths if path.rpartition("/")[2] in names and path not in contents))


def build_helpers(contents: Mapping[str, bytes | None], paths: Iterable[str]) -> tuple[str, ...]:
    """Files that the build of a compiled project names, except those already in `contents`.

    These are generators of sources and their tables: `tools/gen.py` in setup.py or CMakeLists.txt, and what such a
    script names or imports in turn. Modules of a package are not searched: they are what is built, not what builds.
    """
    every = [path for path in paths if path not in contents and not _DOCUMENT.search(path)]
    packages = {path.rpartition("/")[0] for path in (*every, *contents) if path.endswith("/__init__.py")}
    words: set[str] = set()
    for path, data in contents.items():
        folder, _, name = path.rpartition("/")
        if _BUILD_FILE.search(name) and folder not in packages:
            text = relevant(path, data or b"").decode("utf-8", "replace")
            words.update(_FILE_NAME.findall(text))
            modules = _IMPORTED.findall(text) if name.endswith(".py") else ()
            words.update(f"{part}.py" for names in modules for part in re.findall(r"\w+", names))
    words.discard("__init__.py")
    return tuple(sorted(path for path in every if not words.isdisjoint(_endings(path))))


def _endings(path: str) -> Iterator[str]:
    """`tools/gen.py` and `gen.py`: the names by which a build file may call this file."""
    parts = path.split("/")
    return ("/".join(parts[n:]) for n in range(len(parts)))


def leaves_files(contents: Mapping[str, bytes | None]) -> bool:
    """True if installing the project writes files beside its sources, so that an environment folder is not enough."""
    return any(_leaves_files(path, data or b"") for path, data in contents.items())


def has_build_output(layer: Path, contents: Mapping[str, bytes | None]) -> bool:
    """True if set-up left files outside of the package folders that may be built from the sources.

    Ignores output of native sources in `contents`: a change to these leads to another environment.
    """
    texts = [(data or b"").decode("utf-8", "replace") for path, data in contents.items() if not _NATIVE.search(path)]
    are_native_sources_known = any(map(_NATIVE.search, contents)) and not any(map(_COMPILES_PYTHON.search, texts))
    for place, folders, files in walk_folders(layer):
        folders[:] = [name for name in folders if not _is_installed(Path(place, name))]
        for name in files:
            native = name.endswith(_NATIVE_OUTPUT) or _NATIVE.search(name)
            if not _HARMLESS.search(name) and not is_whole_input(name) and not (are_native_sources_known and native):
                return True
    return False


def _is_installed(folder: Path) -> bool:
    if folder.name in _INSTALLED or folder.name.endswith((".egg-info", ".dist-info")):
        return True
    return (folder / "pyvenv.cfg").is_file() or (folder / "conda-meta").is_dir()


def has_copied_packages(root: Path, contents: Mapping[str, bytes | None]) -> bool:
    """True if node_modules contains a copy of a package of this repository instead of a link to its sources."""
    packages = {path: _json(data) for path, data in contents.items() if path.rpartition("/")[2] == "package.json"}
    names = {name for package in packages.values() if isinstance(name := package.get("name"), str)}
    for path, package in packages.items():
        for name in names.intersection(_local_dependencies(package)):
            place = root / path.rpartition("/")[0] / "node_modules" / name
            if place.is_dir() and "node_modules" in place.resolve().relative_to(place.anchor).parts:
                return True
    return False


def has_copied_project(root: Path) -> bool:
    """True if tox or nox installed a copy of the project in one of their environments.

    Commands that install nothing (`tox run --skip-pkg-install`, `nox -R`) would test the copy.
    """
    records = (record for tool in (".tox", ".nox") for record in root.glob(f"{tool}/*/lib/python*/{_ORIGINS}"))
    return any(_is_copy(_json(read_regular(record))) for record in records)


def has_vendored_sources(root: Path, contents: Mapping[str, bytes | None]) -> bool:
    """True if `vendor` holds a copy of a local module: by `go mod vendor` (`replace … => ./lib`), or by composer."""
    names = [path.rpartition("/") for path in contents]
    folders = [folder for folder, _, name in names if name in ("go.mod", "go.work")]
    records = (read_regular(root / folder / "vendor" / "modules.txt") for folder in folders)
    if any(record is not None and _LOCAL_MODULE.search(record) for record in records):
        return True
    return any(_has_copies_of_composer(root / folder) for folder, _, name in names if name == "composer.json")


def _has_copies_of_composer(project: Path) -> bool:
    """True if composer copied a package of a `path` repository; by default it makes a link."""
    packages = _json(read_regular(project / "vendor/composer/installed.json")).get("packages")
    for package in packages if isinstance(packages, list) else ():
        dist = package.get("dist") if isinstance(package, dict) else None
        if isinstance(dist, dict) and dist.get("type") == "path":
            place = project / "vendor" / str(package.get("name"))
            if place.is_dir() and not place.is_symlink():
                return True
    return False


def _is_copy(origin: Mapping[str, Any]) -> bool:
    """True if a direct_url.json records an install from local files that is not editable."""
    details = origin.get("dir_info")
    editable = isinstance(details, dict) and details.get("editable") is True
    return str(origin.get("url", "")).startswith("file:") and not editable


def _local_dependencies(package: Mapping[str, Any]) -> set[str]:
    tables = (package.get(key) for key in _DEPENDENCIES)
    entries = (entry for table in tables if isinstance(table, dict) for entry in table.items())
    return {name for name, version in entries if isinstance(version, str) and version.startswith(_LOCAL)}


def may_change_output(paths: Iterable[str]) -> bool:
    """True if a change to these files may change the build output. Only documentation never does."""
    return any(not _DOCUMENT.search(path) for path in paths)


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
    tools = tool if isinstance(tool, dict) else {}
    # a build script of Poetry is there to compile
    keys = (("setuptools", "ext-modules"), ("setuptools-rust", "ext-modules"), ("poetry", "build"))
    has_extensions = any(isinstance(tools.get(name), dict) and key in tools[name] for name, key in keys)
    return has_extensions or backend.startswith(_COMPILING_BACKENDS)


def _leaves_files(path: str, data: bytes) -> bool:
    name = path.rpartition("/")[2]
    if name == "package.json":
        return any(not _only_hooks(script) for script in install_scripts(data))
    if name == "pyproject.toml":
        tool = _toml(data).get("tool")
        settings = {key: tool.get(key) for key in ("hatch", "setuptools_scm", "pdm")} if isinstance(tool, dict) else {}
        return _compiles(path, data) or _WRITES_VERSION.search(str(settings)) is not None
    return _compiles(path, data)


def _only_hooks(script: str) -> bool:
    commands = re.split(r"&&|\|\||;", script)
    programs = (
        re.sub(r"^\s*(?:npx\s+(?:--\S+\s+)*|node_modules/\.bin/)?", "", command).split() for command in commands
    )
    return all(not words or words[0] in _HOOK_INSTALLERS or words[0] in ("true", "exit", "echo") for words in programs)


def _json(data: bytes | None) -> dict[str, Any]:
    try:
        table = json.loads(data or b"")
    except (ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def _toml(data: bytes) -> dict[str, Any]:
    try:
        return parse_toml(data.decode())
    except (ValueError, RecursionError):
        return {}


# -- generated packages ---------------------------------------------------------------------------
# Files in node_modules that an install script generated, perhaps from the sources.
#
# Prisma writes its client to `node_modules/.prisma` out of `schema.prisma`; scripts write clients and types the same
# way. Such files belong to the sources of one tree, unlike the packages beside them.

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


# -- setup home -----------------------------------------------------------------------------------
# Files that set-up leaves in its home directory: those of the environment, and those built from the sources.
#
# In a sandbox, set-up has its own home directory. `pip install --user`, `npm install --global`, Poetry's virtual
# environments and Playwright's browsers are stored there, and checks must find them.

# Downloads that are not needed after installation, and compiled code.
_CACHES = (
    ".npm", ".cache/pip", ".cache/uv", ".cache/yarn", ".cache/go-build", ".cache/pypoetry/cache", ".cache/pdm",
    ".cache/pypoetry/artifacts", ".local/share/pnpm/store", ".pnpm-store", ".bun/install/cache", ".cache/ccache",
    ".cache/sccache", ".cache/mesa_shader_cache", ".local/state",
)  # fmt: skip
# Settings of package indexes and logins: checks do not get them, even if set-up wrote them.
_PRIVATE = (
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".netrc", ".pypirc", ".git-credentials", ".ssh", ".gnupg", ".aws", ".azure",
    ".docker", ".kube", ".pip", ".config/pip", ".config/uv", ".config/pypoetry", ".config/pnpm", ".config/go",
    ".config/gh", ".config/gcloud", ".cargo/config", ".cargo/config.toml", ".cargo/credentials",
    ".cargo/credentials.toml", ".bundle/config", ".gem/credentials", ".m2/settings.xml",
    ".m2/settings-security.xml", ".local/share/uv/credentials", ".local/share/keyrings", ".config/composer/auth.json",
)  # fmt: skip
_LEFT_OUT = frozenset((*_CACHES, *_PRIVATE))
# Folders of third-party code.
_PACKAGES = frozenset("site-packages dist-packages node_modules registry mod .cache .rustup .pyenv .nvm".split())
_PYTHON = re.compile(rb"#!.*\b(?:python|pypy)[\d.]*", re.I)
_LIBRARY = (".so", ".a", ".dylib")
# `mvn install` writes it beside what it installs; for downloads, the name has the id of the repository.
_INSTALLED_BY_MAVEN = "maven-metadata-local.xml"


def kept_files(layer: Path, home: Path, below: str = "") -> Iterator[str]:
    """Paths of files and links in `layer` that belong to the environment; `home` is the user's own home.

    `below` is the folder of the home that `layer` represents. Skips empty files and links left by mounts.
    """
    for entry in sorted(os.scandir(layer), key=lambda one: one.name):
        path = f"{below}/{entry.name}" if below else entry.name
        if path in _LEFT_OUT:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from kept_files(Path(entry.path), home, path)
            continue
        info = entry.stat(follow_symlinks=False)
        is_link, is_file = stat.S_ISLNK(info.st_mode), stat.S_ISREG(info.st_mode)
        is_mount_point = (is_link or not info.st_size) and os.path.lexists(home / path)
        if (is_link or is_file) and not is_mount_point:
            yield path


def has_built_programs(home: Path) -> bool:
    """True if the home contains programs or libraries that may be built from the sources, e.g. by `go install`."""
    for place, folders, files in walk_folders(home):
        here = Path(place)
        folders[:] = [name for name in folders if name not in _PACKAGES and not (here / name / "pyvenv.cfg").is_file()]
        first_part = here.relative_to(home).parts[:1]
        visible = bool(first_part) and not first_part[0].startswith(".")
        if _INSTALLED_BY_MAVEN in files:
            return True
        for name in files:
            if (visible or here.name in ("bin", "sbin") or name.endswith(_LIBRARY)) and _is_built(here / name):
                return True
    return False


def _is_built(file: Path) -> bool:
    """True for regular files that are not Python scripts: imports of Python programs are checked separately."""
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as stream:
        return _PYTHON.match(stream.read(200)) is None

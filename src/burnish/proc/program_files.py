"""Selects the entries of a folder that programs need, without showing its other files.

A folder with programs that is not a `bin` folder may hold other files: `~/.tool` on PATH has settings and logins.
"""
# os.path returns False for folders that this user may not enter; Path raises.
# ruff: noqa: PTH110

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

from burnish.proc.mounts import Mount, Overlay, TreeView, mountable, overlay_works

SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash", ".rb", ".pl", ".php", ".lua", ".jar")
_LIBRARY_SUFFIXES = (".so", ".dylib", ".dll", ".pyc", ".pyd", ".wasm", ".node")
# Folders of libraries, and what belongs to dotnet, pnpm, PyInstaller and Electron.
_LIBRARY_FOLDERS = (
    "lib", "lib64", "libs", "libexec", "share", "node_modules", "vendor", "_internal", "internal", "resources",
    "locales", "host", "sdk", "shared", "packs", ".store", "global", "nodejs", "completions",
)  # fmt: skip
# An installation rather than a folder of single programs: everything in it belongs to one package.
_PACKAGE_MARKS = ("package.json", "pyproject.toml", "setup.py", "__main__.py", "__init__.py", "composer.json")
# Well-known places of secrets below the home directory. Of them at most the programs in a `bin` folder are shown.
_SECRET_FOLDERS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".fly", ".pulumi", ".oci", ".config/gcloud", ".config/gh",
    ".config/hub", ".config/burnish", ".config/op", ".config/doctl", ".config/sops", ".config/rclone", ".config/heroku",
    ".password-store", ".local/share/keyrings", ".local/share/uv/credentials", ".mozilla", ".thunderbird", ".vault",
    ".terraform.d", ".minikube", ".gem/credentials", ".cargo/credentials.toml", ".cargo/credentials",
    ".m2/settings.xml",
)  # fmt: skip
_SECRET_NAMES = (
    "*credential*", "*secret*", "*password*", "*passwd*", "*token*", "id_rsa*", "id_ed25519*", "id_ecdsa*", "id_dsa*",
    "*.pem", "*.key", "*.p12", "*.pfx", "*.kdbx", "*.jks", "*.keystore", "auth.json", "npmrc", "pypirc", "netrc",
)  # fmt: skip


def entries_of_package(folder: Path) -> Iterator[Path]:
    """The entries of an installation, except hidden ones and those named like secrets."""
    for entry in _entries(folder):
        if not entry.name.startswith(".") and not is_secret_name(entry.name):
            yield Path(entry.path)


def entries_for_programs(folder: Path) -> Iterator[Path]:
    """The programs of a folder, scripts and libraries beside them, packages, and folders named like a program."""
    found = list(_entries(folder))
    if any(entry.name in _PACKAGE_MARKS for entry in found):
        yield from entries_of_package(folder)
        return
    programs = {entry.name for entry in found if _is_program(entry)}
    stems = {Path(name).stem for name in programs}
    for entry in found:
        # a library folder, a package of Python, or the folder of one program
        is_package = entry.is_dir() and (
            entry.name in _LIBRARY_FOLDERS
            or os.path.exists(f"{entry.path}/__init__.py")
            or (entry.name in stems and not entry.name.startswith("."))
        )
        if is_package or entry.name in programs:
            yield Path(entry.path)


def is_secret_name(name: str) -> bool:
    return any(fnmatch(name.lower(), pattern) for pattern in _SECRET_NAMES)


def shows_secrets(place: Path, home: Path) -> bool:
    """True if `place` contains a well-known place of secrets; False for programs and `bin` folders in such a place."""
    # Compares text, since some 50 places are compared with each of these for every started program.
    inner = f"{place}/"
    for name in _SECRET_FOLDERS:
        secret = f"{home}/{name}/"
        if secret.startswith(inner) and os.path.exists(secret.removesuffix("/")):
            return True
        if inner.startswith(secret):
            return not (place.name == "bin" or "bin" in place.relative_to(secret).parts[:-1])
    return False


def _is_program(entry: os.DirEntry[str]) -> bool:
    if not entry.is_file() or entry.name.startswith("."):
        return False
    suffix = Path(entry.name).suffix.lower()
    is_library = suffix in _LIBRARY_SUFFIXES or ".so." in entry.name
    return suffix in SCRIPTS or is_library or (os.access(entry.path, os.X_OK) and _begins_like_a_program(entry))


def _begins_like_a_program(entry: os.DirEntry[str]) -> bool:
    """True for executables and scripts. On some file systems every file has the executable flag."""
    try:
        with open(entry.path, "rb") as file:  # noqa: PTH123
            return file.read(2) in (b"#!", b"\x7fE", b"\xcf\xfa", b"\xca\xfe", b"MZ")
    except OSError:
        return False


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return  # removed, or not readable for this user


# -- package caches -------------------------------------------------------------------------------
# Downloaded packages of cargo, Go, Maven and Gradle in the home directory, which a sandbox hides.
#
# Programs see them below a temporary layer: builds find downloaded packages and do not change the caches. Does not
# include build results.

# (variable that names the folder, where it is without the variable, the parts that hold packages)
_CACHES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("CARGO_HOME", ".cargo", ("registry", "git")),
    ("GOMODCACHE", "go/pkg/mod", ("",)),
    ("GOPATH", "go", ("pkg/mod",)),
    ("", ".m2", ("repository", "wrapper")),
    ("GRADLE_USER_HOME", ".gradle", ("caches/modules-2", "wrapper")),
)


# Folders in which tools install programs, and their libraries.
_PROGRAMS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("CARGO_HOME", ".cargo", ("bin",)),
    ("GOBIN", "go/bin", ("",)),
    ("GOPATH", "go", ("bin",)),
    ("", ".local", ("bin", "lib", "share/pipx", "share/uv/tools")),
    ("", ".npm-global", ("bin", "lib")),
)


def package_caches(home: Path, env: Mapping[str, str], *, programs: bool = False) -> list[Path]:
    """The real paths of existing caches below the home directory; with `programs`, also of installed programs.

    Folders called `bin` only if they are on PATH: others are not shown.
    """
    home = home.resolve()
    on_path = {os.path.realpath(word) for word in env.get("PATH", "").split(os.pathsep)}
    found: dict[Path, None] = {}
    for variable, default, parts in (*_CACHES, *(_PROGRAMS if programs else ())):
        root = env.get(variable, "") if variable else ""
        folder = Path(root) if root.startswith("/") else home / default
        for part in parts:
            real = Path(os.path.realpath(folder / part))
            if real == home or not real.is_relative_to(home) or shows_secrets(real, home):
                continue  # a link may lead anywhere
            if real.name == "bin" and str(real) not in on_path:
                continue
            if os.path.isdir(real):  # noqa: PTH112  (may not be reachable)
                found[real] = None
    return list(found)


def show_package_caches(
    home: Path, env: Mapping[str, str], scratch: Path, *, programs: bool = False, added_files: Path | None = None
) -> TreeView:
    """The mounts for one call, which writes into `scratch`; without overlays the folders are read-only.

    `added_files` is a folder with files to add to those of the home, at the same relative paths.
    """
    mounts: list[Mount] = []
    overlays: list[Overlay] = []
    for cache in package_caches(home, env, programs=programs):
        if not (mountable([cache, scratch]) and overlay_works(scratch.parent)):
            mounts.append(Mount(cache, "read"))
            continue
        place = Path(tempfile.mkdtemp(prefix="packages-", dir=scratch))
        added_cache = added_files / cache.relative_to(home.resolve()) if added_files else None
        lower = (added_cache, cache) if added_cache and added_cache.is_dir() and mountable([added_cache]) else (cache,)
        overlay = Overlay(lower, place, place / "merged")
        overlay.create()
        overlays.append(overlay)
        mounts.append(Mount(cache, "write", overlay.target))
    return TreeView(tuple(mounts), tuple(overlays))

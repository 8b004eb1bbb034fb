"""Downloaded packages of cargo, Go, Maven and Gradle in the home directory, which a sandbox hides.

Programs see them below a temporary layer: builds find downloaded packages and do not change the caches.
Does not include build results.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from burnish.proc.mounts import Mount
from burnish.proc.overlay import Overlay, TreeView, mountable, overlay_works
from burnish.proc.program_files import shows_secrets

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

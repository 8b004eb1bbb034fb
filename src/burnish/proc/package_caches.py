"""Downloaded packages of cargo, Go, Maven and Gradle in the home directory, which a sandbox hides.

Programs see them below a layer that is thrown away: builds find what was downloaded, and change nothing there.
Build results are not among them.
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


# Where tools install programs, and what belongs to them.
_PROGRAMS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("CARGO_HOME", ".cargo", ("bin",)),
    ("GOBIN", "go/bin", ("",)),
    ("GOPATH", "go", ("bin",)),
    ("", ".local", ("bin", "lib", "share/pipx", "share/uv/tools")),
    ("", ".npm-global", ("bin", "lib")),
)


def package_caches(home: Path, env: Mapping[str, str], *, programs: bool = False) -> list[Path]:
    """The folders that are there, below the home directory, by their real paths; also those of installed programs.

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
    home: Path, env: Mapping[str, str], scratch: Path, *, programs: bool = False, added: Path | None = None
) -> TreeView:
    """The mounts for one call. `scratch` holds what it writes; without overlays the folders are read-only.

    `added` is a folder with files that come on top of those of the home, each at its path from there.
    """
    mounts: list[Mount] = []
    overlays: list[Overlay] = []
    for cache in package_caches(home, env, programs=programs):
        if not (mountable([cache, scratch]) and overlay_works(scratch.parent)):
            mounts.append(Mount(cache, "read"))
            continue
        place = Path(tempfile.mkdtemp(prefix="packages-", dir=scratch))
        more = added / cache.relative_to(home.resolve()) if added else None
        lower = (more, cache) if more and more.is_dir() and mountable([more]) else (cache,)
        overlay = Overlay(lower, place, place / "merged")
        overlay.create()
        overlays.append(overlay)
        mounts.append(Mount(cache, "write", overlay.target))
    return TreeView(tuple(mounts), tuple(overlays))

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


def package_caches(home: Path, env: Mapping[str, str]) -> list[Path]:
    """The folders that are there, below the home directory, by their real paths."""
    home = home.resolve()
    found: dict[Path, None] = {}
    for variable, default, parts in _CACHES:
        root = env.get(variable, "") if variable else ""
        folder = Path(root) if root.startswith("/") else home / default
        for part in parts:
            real = Path(os.path.realpath(folder / part))
            if real == home or not real.is_relative_to(home) or shows_secrets(real, home):
                continue  # a link may lead anywhere
            if os.path.isdir(real):  # noqa: PTH112  (may not be reachable)
                found[real] = None
    return list(found)


def show_package_caches(home: Path, env: Mapping[str, str], scratch: Path) -> TreeView:
    """The mounts for one call. `scratch` holds what it writes; without overlays the folders are read-only."""
    mounts: list[Mount] = []
    overlays: list[Overlay] = []
    for cache in package_caches(home, env):
        if not (mountable([cache, scratch]) and overlay_works(scratch.parent)):
            mounts.append(Mount(cache, "read"))
            continue
        place = Path(tempfile.mkdtemp(prefix="packages-", dir=scratch))
        overlay = Overlay((cache,), place, place / "merged")
        overlay.create()
        overlays.append(overlay)
        mounts.append(Mount(cache, "write", overlay.target))
    return TreeView(tuple(mounts), tuple(overlays))

"""Files that set-up leaves in its home directory: those of the environment, and those built from the sources.

In a sandbox, set-up has its own home directory. `pip install --user`, `npm install --global`, Poetry's virtual
environments and Playwright's browsers are stored there, and checks must find them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from burnish.folder_walk import walk_folders

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
_INSTALLED = frozenset("site-packages dist-packages node_modules registry mod .cache .rustup .pyenv .nvm".split())
_PYTHON = re.compile(rb"#!.*\b(?:python|pypy)[\d.]*", re.I)
_LIBRARY = (".so", ".a", ".dylib")


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
        folders[:] = [name for name in folders if name not in _INSTALLED and not (here / name / "pyvenv.cfg").is_file()]
        first_part = here.relative_to(home).parts[:1]
        visible = bool(first_part) and not first_part[0].startswith(".")
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

"""What set-up leaves in its home directory: what belongs to the environment, and what may be made of the sources.

In a sandbox set-up has a home directory of its own. `pip install --user`, `npm install --global`, virtual environments
of Poetry and browsers of Playwright lie there, and the checks have to find them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from burnish.folder_walk import walk_folders

# Downloads that are needed no more once they are installed, and compiled code.
_CACHES = (
    ".npm", ".cache/pip", ".cache/uv", ".cache/yarn", ".cache/go-build", ".cache/pypoetry/cache", ".cache/pdm",
    ".cache/pypoetry/artifacts", ".local/share/pnpm/store", ".pnpm-store", ".bun/install/cache", ".cache/ccache",
    ".cache/sccache", ".cache/mesa_shader_cache", ".local/state",
)  # fmt: skip
# Settings of package indexes and logins: checks do not get them, also not those that set-up wrote.
_PRIVATE = (
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".netrc", ".pypirc", ".git-credentials", ".ssh", ".gnupg", ".aws", ".azure",
    ".docker", ".kube", ".pip", ".config/pip", ".config/uv", ".config/pypoetry", ".config/pnpm", ".config/go",
    ".config/gh", ".config/gcloud", ".cargo/config", ".cargo/config.toml", ".cargo/credentials",
    ".cargo/credentials.toml", ".bundle/config", ".gem/credentials", ".m2/settings.xml",
    ".m2/settings-security.xml", ".local/share/uv/credentials", ".local/share/keyrings", ".config/composer/auth.json",
)  # fmt: skip
_LEFT_OUT = frozenset((*_CACHES, *_PRIVATE))
# Folders of what others wrote.
_INSTALLED = frozenset("site-packages dist-packages node_modules registry mod .cache .rustup .pyenv .nvm".split())
_PYTHON = re.compile(rb"#!.*\b(?:python|pypy)[\d.]*", re.I)
_LIBRARY = (".so", ".a", ".dylib")


def kept_files(written: Path, home: Path, below: str = "") -> Iterator[str]:
    """Paths of files and links in `written` that belong to the environment; `home` is the user's own, as it is.

    `below` is the folder of the home that `written` stands for. A mount leaves an empty file or a link behind.
    """
    for entry in sorted(os.scandir(written), key=lambda one: one.name):
        path = f"{below}/{entry.name}" if below else entry.name
        if path in _LEFT_OUT:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from kept_files(Path(entry.path), home, path)
            continue
        found = entry.stat(follow_symlinks=False)
        is_link, is_file = stat.S_ISLNK(found.st_mode), stat.S_ISREG(found.st_mode)
        is_mount_point = (is_link or not found.st_size) and os.path.lexists(home / path)
        if (is_link or is_file) and not is_mount_point:
            yield path


def has_built_programs(home: Path) -> bool:
    """Did set-up leave programs or libraries in the home that may be made of the sources, such as `go install` does?"""
    for place, folders, files in walk_folders(home):
        here = Path(place)
        folders[:] = [name for name in folders if name not in _INSTALLED and not (here / name / "pyvenv.cfg").is_file()]
        shown = here.relative_to(home).parts[:1]
        visible = bool(shown) and not shown[0].startswith(".")
        for name in files:
            if (visible or here.name in ("bin", "sbin") or name.endswith(_LIBRARY)) and _is_built(here / name):
                return True
    return False


def _is_built(file: Path) -> bool:
    """A link leads to a package or to the tree, and Python's programs import what the proof asks for."""
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as opened:
        return _PYTHON.match(opened.read(200)) is None

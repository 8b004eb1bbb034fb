"""Large files: by the installed git-lfs under its absolute path, and by nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

from burnish.git.run import safe_path

# A missing large file leaves its pointer in place; nobody is asked over the network.
ENV = {"GIT_LFS_SKIP_DOWNLOAD_ERRORS": "1"}
POINTER = b"version https://git-lfs.github.com/spec/v1\n"


def program() -> str | None:
    found = shutil.which("git-lfs", path=safe_path())
    return str(Path(found).absolute()) if found else None


def attributes() -> bytes:
    """No filter at all without git-lfs; with it, only the one that our own config knows."""
    return b"" if program() else b"* -filter\n"


def config(common_dir: Path) -> list[str]:
    found = program()
    if found is None:
        return []
    command = "'" + found.replace("'", "'\\''") + "'"
    return [
        '[filter "lfs"]',
        f"\tclean = {_value(command + ' clean -- %f')}",
        f"\tsmudge = {_value(command + ' smudge -- %f')}",
        f"\tprocess = {_value(command + ' filter-process')}",
        "\trequired = true",
        "[lfs]",
        f"\tstorage = {_value(str(common_dir / 'lfs'))}",
        # Set here it wins over a `.lfsconfig` in the tree, which could name any server.
        "\turl = file:///dev/null",
    ]


def _value(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

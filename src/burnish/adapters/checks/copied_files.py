"""`workspace.copy`: ignored files of the user's checkout that tests need."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from burnish.errors import BadInput


def copy_ignored_files(checkout: Path, names: Sequence[str], files: Path) -> None:
    """Copy them from the checkout into a tree, with their current content."""
    for name in names:
        source, target = checkout / name, files / name
        inside = source.resolve().is_relative_to(checkout.resolve()) and ".." not in Path(name).parts
        if not inside or not source.is_file():
            raise BadInput(
                f"workspace.copy names {name}, which is not a file in your checkout.",
                hint="Use a path relative to the repository's root, or remove it from burnish.yaml.",
            )
        if not target.parent.resolve().is_relative_to(files.resolve()):
            continue  # a link that an agent created
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy2(source, target)


def copied_files_digest(checkout: Path, names: Sequence[str]) -> str:
    """A hash of the files' content; missing files are reported when they are copied."""
    digest = hashlib.sha256()
    for name in sorted(names):
        source = checkout / name
        content = source.read_bytes() if source.is_file() else b""
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()

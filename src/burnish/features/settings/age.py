"""Were settings or prompts written after something was approved? For commands that load no settings."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.core.status import Status

if TYPE_CHECKING:
    from burnish.store.store import Store

APPROVED = (Status.VERIFIED, Status.WAITING_APPROVAL)


def settings_are_newer(store: Store, key: str, root: Path) -> bool:
    """Whether a file of settings or prompts was written after an approval that stands was given. Reads no settings."""
    approvals = store.approvals(key, APPROVED)
    approval_times = [datetime.fromisoformat(one.ts).timestamp() for one in approvals if one.valid and not one.by]
    if not approval_times:
        return False
    from burnish.user_settings import user_folder

    return any(place.stat().st_mtime > min(approval_times) for place in _files(root, user_folder()))


def _files(root: Path, user: Path) -> Iterator[Path]:
    folders = (root / ".burnish" / "prompts", user / "prompts")
    places = (root / "burnish.yaml", root / "pyproject.toml", user / "config.yaml", root / ".burnish", *folders)
    yield from (place for place in places if place.exists())
    yield from (file for folder in folders if folder.is_dir() for file in folder.iterdir() if file.is_file())

"""Folders of the burnish home: nobody else's to look into."""

from __future__ import annotations

from pathlib import Path


def private_folder(place: Path) -> None:
    """Made, with every folder above it that is missing, for this user alone; what is there keeps its mode.

    `mkdir(parents=True)` gives its mode to the last folder only, and leaves those above it open to everybody.
    """
    if place.is_dir():
        return
    private_folder(place.parent)
    place.mkdir(mode=0o700, exist_ok=True)

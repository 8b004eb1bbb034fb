"""Reads the output of programs with limited memory, and cleans it for display."""

from __future__ import annotations

import os
from pathlib import Path

from burnish.sanitize import clean_text

__all__ = ["clean_text", "read_text"]


def read_text(path: Path, *, limit: int = 8 * 1024 * 1024) -> str:
    """Decoded with replacement; of a file over `limit` bytes head and tail. A missing file is empty."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return ""
    with file:
        size = os.fstat(file.fileno()).st_size
        if size <= limit:
            return file.read(limit).decode("utf-8", "replace")
        head = file.read(limit // 4).decode("utf-8", "replace")
        tail = limit - limit // 4
        file.seek(size - tail)
        left_out = size - limit
        return f"{head}\n[burnish: {left_out} bytes left out here]\n{file.read(tail).decode('utf-8', 'replace')}"

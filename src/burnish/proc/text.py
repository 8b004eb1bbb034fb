"""What programs print, made safe to hold in memory and to show."""

from __future__ import annotations

import os
import re
from pathlib import Path

# Operating system commands and other strings, control sequences, two-letter escapes; each up to its own end.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
# C0 without tab and newline, DEL, C1; marks that turn the direction of writing; what hides in plain sight.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff]"
)


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


def clean_text(text: str) -> str:
    """Without terminal controls and direction marks: what is shown is what was written."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    return _CONTROLS.sub("", text.replace("\r", "\n"))

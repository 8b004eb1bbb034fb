"""Images in descriptions of tasks (`![name](burnish-image:<sha256>.png)`), and files that checks leave to look at."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SCHEME = "burnish-image:"
NAME = re.compile(r"[0-9a-f]{64}\.(?:png|jpg|gif|webp)")
MAX_BYTES = 5_000_000
# more than any screen has; programs that open the image allocate memory for all of it
MAX_SIDE = 20_000
MAX_IMAGES = 20
TYPES = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
_REFERENCE = re.compile(r"!\[[^\]\n]{0,300}\]\(burnish-image:([0-9a-f]{64}\.(?:png|jpg|gif|webp))\)")


def image_kind(data: bytes) -> str | None:
    """`png`, `jpg`, `gif` or `webp` by the content; None for anything else, also for SVG, which is a program."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR" and len(data) >= 33:
        return "png" if _is_small(*struct.unpack(">II", data[16:24])) else None
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 13:
        return "gif" if _is_small(*struct.unpack("<HH", data[6:10])) else None
    if data[:3] == b"\xff\xd8\xff" and len(data) >= 100:
        return "jpg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and data[12:15] == b"VP8" and len(data) >= 30:
        return "webp"
    return None


def _is_small(width: int, height: int) -> bool:
    return 0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE


def image_name(data: bytes, kind: str) -> str:
    return f"{hashlib.sha256(data).hexdigest()}.{kind}"


def image_reference(name: str, label: str) -> str:
    """The Markdown of a stored image."""
    words = re.sub(r"[^\w .,()+-]", " ", label).replace("(", "").replace(")", "").strip()[:100]
    return f"![{words or 'image'}]({SCHEME}{name})"


def image_names(text: str) -> tuple[str, ...]:
    """The stored images that a text refers to, each once."""
    return tuple(dict.fromkeys(_REFERENCE.findall(text)))[:MAX_IMAGES]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A file that a check left to be looked at, e.g. a screenshot. Without a `name` it was not stored."""

    path: str  # as the check named it; "3 more": how many others were not stored
    name: str  # of the stored file
    kind: str  # ending that stands for its type: png, jpg, gif, webp, mp4, webm, html
    bytes: int  # size of the stored file
    reason: str = ""  # why it was not stored


def images_text(paths: Iterable[Path]) -> str:
    """The part of a prompt that says where the images of the description are; empty without any."""
    rows = [f"- {SCHEME}{path.name} is {path}\n" for path in paths]
    heading = "\n\n## Images\n\nThe description refers to these files. Look at them if you can open images:\n\n"
    return heading + "".join(rows) if rows else ""

"""Blocks of the documentation that a run of the bench writes."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def write_block(page: str, command: str, text: str) -> None:
    """Replace what stands between the two markers of the command; the page must have them."""
    place = ROOT / page
    begin, end = (f"<!-- written by `{command}`: {word} -->" for word in ("begin", "end"))
    before, found, rest = place.read_text("utf-8").partition(begin)
    _, has_end, after = rest.partition(end)
    if not found or not has_end:
        raise SystemExit(f"{page} has no block of `{command}`.")
    place.write_text(f"{before}{begin}\n\n{text}\n\n{machine()}\n\n{end}{after}", "utf-8")


def machine() -> str:
    day = datetime.now(UTC).date().isoformat()
    load = os.getloadavg()[0]
    state = "idle otherwise" if load < (os.cpu_count() or 1) + 1 else "shared with other work"
    return f"Measured on {day} with {os.cpu_count()} cores, load {load:.1f} at the end ({state})."

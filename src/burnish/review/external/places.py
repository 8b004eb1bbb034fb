"""Checks the places in a review: they count only if the reviewed tree has the file and the line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from burnish.core.finding import Remark


def existing_places(
    remarks: Sequence[Remark], changed_paths: Sequence[str], text_of: Callable[[str], str | None]
) -> tuple[Remark, ...]:
    return tuple(_with_existing_place(remark, changed_paths, text_of) for remark in remarks)


def _with_existing_place(remark: Remark, changed_paths: Sequence[str], text_of: Callable[[str], str | None]) -> Remark:
    if remark.file is None:
        return replace(remark, line=None, end_line=None) if remark.line else remark
    path = _known_path(remark.file.removeprefix("./"), changed_paths, text_of)
    if path is None:
        return _without_place(remark)
    count = len((text_of(path) or "").splitlines())
    if remark.line is None or not 0 < remark.line <= count:
        return replace(remark, file=path, line=None, end_line=None)
    end = remark.end_line if remark.end_line and remark.line <= remark.end_line <= count else None
    return replace(remark, file=path, end_line=end)


def _known_path(name: str, changed_paths: Sequence[str], text_of: Callable[[str], str | None]) -> str | None:
    """The path if it exists or was changed; else the only changed path that ends with the name."""
    if name in changed_paths or text_of(name) is not None:
        return name
    ending = [path for path in changed_paths if path.endswith(f"/{name}")]
    return ending[0] if len(ending) == 1 else None


def _without_place(remark: Remark) -> Remark:
    """Move an unknown place into the description, for people to read."""
    where = f"{remark.file}:{remark.line}" if remark.line else str(remark.file)
    words = remark.description if where in remark.description else f"{remark.description}\n(at {where})".strip()
    return replace(remark, file=None, line=None, end_line=None, description=words)

"""Places that a review names: they count only if the file is in the reviewed tree and has such a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from burnish.core.finding import Remark


def existing_places(
    remarks: Sequence[Remark], changed: Sequence[str], text_of: Callable[[str], str | None]
) -> tuple[Remark, ...]:
    return tuple(_checked(remark, changed, text_of) for remark in remarks)


def _checked(remark: Remark, changed: Sequence[str], text_of: Callable[[str], str | None]) -> Remark:
    if remark.file is None:
        return replace(remark, line=None, end_line=None) if remark.line else remark
    path = _known_path(remark.file.removeprefix("./"), changed, text_of)
    if path is None:
        return _without_place(remark)
    count = len((text_of(path) or "").splitlines())
    if remark.line is None or not 0 < remark.line <= count:
        return replace(remark, file=path, line=None, end_line=None)
    end = remark.end_line if remark.end_line and remark.line <= remark.end_line <= count else None
    return replace(remark, file=path, end_line=end)


def _known_path(name: str, changed: Sequence[str], text_of: Callable[[str], str | None]) -> str | None:
    """The file itself, a deleted one of the change, or the only changed file whose path ends so."""
    if name in changed or text_of(name) is not None:
        return name
    ending = [path for path in changed if path.endswith(f"/{name}")]
    return ending[0] if len(ending) == 1 else None


def _without_place(remark: Remark) -> Remark:
    """The words stay: a person can see what was meant."""
    where = f"{remark.file}:{remark.line}" if remark.line else str(remark.file)
    words = remark.description if where in remark.description else f"{remark.description}\n(at {where})".strip()
    return replace(remark, file=None, line=None, end_line=None, description=words)

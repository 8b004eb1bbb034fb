"""Where a task's branch starts, and the commits on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Base:
    """The commit a task starts from; `target` is the branch it will be merged to, None when detached."""

    commit: str
    tree: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...] = ()
    message: str = ""
    trailers: Mapping[str, str] = field(default_factory=dict)

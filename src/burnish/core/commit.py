"""Where a task's branch starts, and the commits on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def left_out_words(names: Sequence[str]) -> str:
    """A message that lists the files left out of a commit because of their names, and what to do."""
    listing = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else "")
    whose, it = ("its name", "it") if len(names) == 1 else ("their names", "them")
    return (
        f"Left out because of {whose}: {listing}. "
        f"Rename {it} or commit {it} on the branch by hand to have {it} in the change, else add {it} to .gitignore."
    )

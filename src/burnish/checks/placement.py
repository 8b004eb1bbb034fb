"""Where checks run: a tree on disk, and the path at which programs see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# argv, name of the check, its report folder → argv
Wrap = Callable[[tuple[str, ...], str, Path], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Placement:
    """`files` is the tree on the disk; a sandbox may mount it at another `path`."""

    files: Path
    path: Path
    wrap: Wrap | None = None
    # name of a check → the folder on disk with the files that it wrote into the tree
    written: Callable[[str], Path] | None = None
    # The user's checkout, whose programs tests must not start; None if the checkout itself is tested.
    checkout: Path | None = None
    # when the tree was written, in seconds since the epoch
    made_at: float = 0.0
    # The home directory, and a folder with the files that set-up left in it, which checks see there.
    home: tuple[Path, Path] | None = None

    @classmethod
    def plain(
        cls, files: Path, wrap: Wrap | None = None, *, checkout: Path | None = None, made_at: float = 0.0
    ) -> Placement:
        """A placement without another mount path."""
        return cls(files, files, wrap, checkout=checkout, made_at=made_at)

    def written_by(self, check: str) -> Path:
        return self.written(check) if self.written else self.files

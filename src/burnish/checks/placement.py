"""Where checks run: a tree on disk, and the path at which programs see it."""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    # name of a check → parts of the home directory, each with the folder on disk that holds what the check wrote there
    home_written: Callable[[str], Sequence[tuple[Path, Path]]] | None = None

    @classmethod
    def plain(
        cls, files: Path, wrap: Wrap | None = None, *, checkout: Path | None = None, made_at: float = 0.0
    ) -> Placement:
        """A placement without another mount path."""
        return cls(files, files, wrap, checkout=checkout, made_at=made_at)

    def written_by(self, check: str) -> Path:
        return self.written(check) if self.written else self.files

    def home_written_by(self, check: str) -> Sequence[tuple[Path, Path]]:
        return self.home_written(check) if self.home_written else ()


# -- tree paths -----------------------------------------------------------------------------------
# The paths of a tree as programs see them, with links resolved.

# Path → target of a link, "" for a plain file. External content (a submodule) is a link to OUTSIDE.
TreeFiles = Mapping[str, str]
OUTSIDE = "/"
# The maximum length of a chain of links.
_ROUNDS = 4
# The depth of paths below a linked folder: `tests/unit -> ../x` with `x/package/__init__.py`.
_DEPTH = 2


@dataclass(frozen=True, slots=True)
class TreePaths:
    """All paths that can be opened, and for paths below a link, the link's path in git."""

    paths: Collection[str] = frozenset()
    links: Mapping[str, str] = field(default_factory=dict)

    def source(self, path: str) -> str:
        return self.links.get(path, path)

    def brought_in(self, link: str) -> tuple[str, ...]:
        return tuple(path for path, source in self.links.items() if source == link)


def follow_links(files: TreeFiles) -> TreePaths:
    links = {path: target for path, target in files.items() if target}
    paths, link_sources = dict.fromkeys(files), {path: path for path in links}
    for _ in range(_ROUNDS if links else 0):
        found = dict(_below_links(sorted(paths), links))
        new_paths = {path: link for path, link in found.items() if path not in paths}
        if not new_paths:
            break
        paths |= dict.fromkeys(new_paths)
        link_sources |= new_paths
    return TreePaths(paths.keys(), link_sources)


def _below_links(paths: list[str], links: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for link, target in links.items():
        place = posixpath.normpath(posixpath.join(posixpath.dirname(link), target))
        if place.startswith(("/", "../")) or place == "..":
            # The content is unknown: it may be a package.
            yield f"{link}/__init__.py", link
            continue
        prefix = "" if place == "." else f"{place}/"
        for path in _starting_with(paths, prefix):
            rest = path[len(prefix) :]
            if rest.count("/") < _DEPTH and not path.startswith(f"{link}/"):
                yield f"{link}/{rest}", link


def _starting_with(paths: list[str], prefix: str) -> Iterator[str]:
    for position in range(bisect_left(paths, prefix), len(paths)):
        if not paths[position].startswith(prefix):
            return
        yield paths[position]

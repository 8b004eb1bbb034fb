"""The paths of a tree as programs see them, with links resolved."""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

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

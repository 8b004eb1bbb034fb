"""The mounts of a sandbox as data, and the bubblewrap options that create them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Mode = Literal["empty", "read", "write", "device", "link"]
_BIND = {"read": "--ro-bind-try", "write": "--bind", "device": "--dev-bind-try"}


@dataclass(frozen=True, slots=True)
class Mount:
    """At `target`: an empty private folder, `source` (None: what is at the same path outside), or a link to it."""

    target: Path
    mode: Mode
    source: Path | None = None
    # of an empty folder
    permissions: str = "0755"
    # an empty folder that cannot be written once everything below it is mounted
    sealed: bool = False

    def options(self) -> tuple[str, ...]:
        if self.mode == "empty":
            return ("--perms", self.permissions, "--tmpfs", str(self.target))
        if self.mode == "link":
            return ("--symlink", str(self.source), str(self.target))
        return (_BIND[self.mode], str(self.source or self.target), str(self.target))


def mount_options(mounts: Iterable[Mount]) -> tuple[str, ...]:
    """Options for all mounts. Of two at the same target the later one counts; parents come before children."""
    by_target = {mount.target: mount for mount in mounts}
    sorted_mounts = sorted(by_target.values(), key=lambda mount: len(mount.target.parts))
    binds = [word for mount in sorted_mounts for word in mount.options()]
    seals = [word for mount in sorted_mounts if mount.sealed for word in ("--remount-ro", str(mount.target))]
    return (*binds, *seals)


def without_lost_masks(argv: Sequence[str]) -> tuple[str, ...]:
    """A bubblewrap command without masks for missing files, e.g. sockets, because bubblewrap cannot create them."""
    bind = (_BIND["read"], os.devnull)
    missing_positions = {
        i for i in range(len(argv) - 2) if tuple(argv[i : i + 2]) == bind and not os.path.lexists(argv[i + 2])
    }
    return tuple(word for i, word in enumerate(argv) if not missing_positions & {i, i - 1, i - 2})


def covering(mounts: Sequence[Mount], place: Path) -> Mount | None:
    """The mount that determines what is visible at `place`: the deepest one at or above it."""
    above = [mount for mount in mounts if place.is_relative_to(mount.target)]
    # of two at the same depth the later one counts, as in `mount_options`
    return max(reversed(above), key=lambda mount: len(mount.target.parts), default=None)


def masked_links(places: Iterable[Path], mounts: Sequence[Mount]) -> list[Mount]:
    """Symbolic links by which `places` are named, where an empty folder covers them: /home/me -> /data/me."""
    targets = {mount.target for mount in mounts}
    found = []
    for link, source in {pair for place in places for pair in _links_to(place)}:
        mount = covering(mounts, link)
        if mount and mount.mode == "empty" and link not in targets:
            found.append(Mount(link, "link", source=source))
    return found


def _links_to(place: Path) -> Iterator[tuple[Path, Path]]:
    """Each symbolic link on the way to a place, with what it points to."""
    here, parts = Path("/"), list(place.parts[1:])
    for _ in range(40):  # as many as Linux follows
        while parts and not os.path.islink(here / parts[0]):  # noqa: PTH114 - Path raises where it may not look
            here /= parts.pop(0)
        if not parts:
            return
        link = here / parts.pop(0)
        source = link.readlink()
        yield link, source
        here = Path(os.path.normpath(here / source))
        if here != here.resolve():
            here, parts = Path("/"), [*here.parts[1:], *parts]

"""The mounts of a sandbox as data, and the bubblewrap options that create them."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from burnish.errors import BurnishError
from burnish.proc import overlay_main
from burnish.proc.capture import capture
from burnish.proc.socket_paths import cache_period

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


_ROOT = Path("/")


def covering(mounts: Sequence[Mount], place: Path) -> Mount | None:
    """The mount that determines what is visible at `place`: the deepest one at or above it."""
    # compared as texts, since each start of a sandbox compares thousands of pairs
    text, found, longest = f"{place}/", None, 0
    for mount in mounts:
        target = f"{mount.target}/" if mount.target != _ROOT else "/"
        # of two at the same place the later one counts, as in `mount_options`
        if len(target) >= longest and text.startswith(target):
            found, longest = mount, len(target)
    return found


def masked_links(places: Iterable[Path], mounts: Sequence[Mount]) -> list[Mount]:
    """Symbolic links by which `places` are named, where an empty folder covers them: /home/me -> /data/me."""
    targets = {mount.target for mount in mounts}
    found = []
    for link, source in {pair for place in places for pair in links_on_the_way(place)}:
        mount = covering(mounts, link)
        if mount and mount.mode == "empty" and link not in targets:
            found.append(Mount(link, "link", source=source))
    return found


def links_on_the_way(place: Path) -> tuple[tuple[Path, Path], ...]:
    """As `links_to`, cached for moments."""
    return _found_links(place, cache_period())


@lru_cache(maxsize=2048)
def _found_links(place: Path, _period: int) -> tuple[tuple[Path, Path], ...]:
    return tuple(links_to(place))


def links_to(place: Path) -> Iterator[tuple[Path, Path]]:
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


# -- bind mounts ----------------------------------------------------------------------------------
# Other paths of a folder, through a bind mount or a second mount of the same file system.

_MOUNT_TABLE = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class MountedFolder:
    """One line of the mount table: `root` of a file system (a device number) is seen at `target`."""

    device: str
    root: Path
    target: Path


def mounted_folders() -> list[MountedFolder]:
    """The mount table in the order of mounting; empty if it cannot be read."""
    try:
        lines = _MOUNT_TABLE.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    rows = [line.split(" ") for line in lines]
    return [MountedFolder(row[2], _path(row[3]), _path(row[4])) for row in rows if len(row) > 4]


def other_names(folder: Path, table: list[MountedFolder]) -> list[Path]:
    """Other paths that lead to this folder (a real path) through a mount."""
    holder = _holder(folder, table)
    if holder is None:
        return []
    path_on_device = holder.root / folder.relative_to(holder.target)
    same = [mount for mount in table if mount.device == holder.device and path_on_device.is_relative_to(mount.root)]
    names = [mount.target / path_on_device.relative_to(mount.root) for mount in same]
    # Another mount above a path may hide it.
    return [name for name in names if name != folder and _is_same(name, folder)]


def _holder(place: Path, table: list[MountedFolder]) -> MountedFolder | None:
    """The mount on which this place (a real path) is."""
    holders = [mount for mount in table if place.is_relative_to(mount.target)]
    # Of several mounts at the same target, the last one is visible.
    return max(reversed(holders), key=lambda mount: len(mount.target.parts)) if holders else None


# Reads the mount table inside of a sandbox, and executes the program if each place shows what it should.
_VERIFICATION = """
number=$1
shift
while [ "$number" -gt 0 ]; do
  shown=
  while read -r _ _ _ root place _; do
    if [ "$place" = "$1" ]; then shown=$root; fi
  done </proc/self/mountinfo
  if [ "$shown" != "$2" ]; then
    echo "burnish: $1 was replaced while the sandbox started" >&2
    exit 126
  fi
  shift 2
  number=$((number - 1))
done
exec "$@"
"""


def verified(argv: Sequence[str], mounts: Sequence[Mount]) -> tuple[str, ...]:
    """The command, started inside of a sandbox only if these mounts are at their targets and show their sources.

    A program of another sandbox may replace a folder that it can write by a link, while bubblewrap looks for it.
    """
    if not mounts:
        return tuple(argv)
    table, words = mounted_folders(), []
    for mount in mounts:
        source = mount.source or mount.target
        holder = _holder(source, table)
        if holder:
            words += [_escaped(mount.target), _escaped(holder.root / source.relative_to(holder.target))]
    return ("/bin/sh", "-c", _VERIFICATION, "sh", str(len(words) // 2), *words, *argv)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.stat(), other.stat())
    except OSError:
        return False  # not readable for this user, nor for programs that the user starts


def _escaped(path: Path) -> str:
    """The path as the mount table has it."""
    return re.sub(r"[ \t\n\\]", lambda found: f"\\{ord(found[0]):03o}", str(path))


def _path(text: str) -> Path:
    return Path(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), text))


# -- overlay --------------------------------------------------------------------------------------
# Overlay file systems: folders that are writable while the layers below stay unchanged.

_PROGRAM = str(Path(overlay_main.__file__).resolve())
# Separators of the mount options. A path that holds one is copied instead of mounted.
_RESERVED = frozenset(":,\\")


@dataclass(frozen=True, slots=True)
class Overlay:
    """One mount: `lower` folders, topmost first, below a writable layer in `scratch`, seen at `target`."""

    lower: tuple[Path, ...]
    # An empty private folder on disk, which receives the written files; its owner deletes it.
    scratch: Path
    target: Path

    @property
    def upper(self) -> Path:
        return self.scratch / "upper"

    def create(self) -> None:
        """Make the folders that the mount needs."""
        for folder in (self.upper, self.scratch / "work", self.target):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def option(self) -> str:
        lower = ":".join(str(folder) for folder in self.lower)
        return f"{lower},{self.upper},{self.scratch / 'work'},{self.target}"


@dataclass(frozen=True, slots=True)
class TreeView:
    """How a program sees a tree: mounts inside its sandbox, and overlays that are mounted before it."""

    mounts: tuple[Mount, ...] = ()
    overlays: tuple[Overlay, ...] = ()

    def remove_scratch(self) -> None:
        """Delete the writable layers of the overlays."""
        for overlay in self.overlays:
            # The kernel leaves a folder there that its owner cannot list.
            work_folder = overlay.scratch / "work" / "work"
            with suppress(OSError):
                if not any(place.is_symlink() for place in (overlay.scratch, work_folder.parent, work_folder)):
                    work_folder.chmod(0o700)
            shutil.rmtree(overlay.scratch, ignore_errors=True)


def mountable(paths: Sequence[Path]) -> bool:
    """True if these paths can be used in mount options."""
    return not any(_RESERVED.intersection(str(path)) for path in paths)


def with_overlays(argv: Sequence[str], overlays: Sequence[Overlay]) -> tuple[str, ...]:
    """The same command, with the overlays mounted for it alone."""
    if not overlays:
        return tuple(argv)
    return (sys.executable, "-I", "-S", _PROGRAM, *(overlay.option for overlay in overlays), "--", *argv)


def overlay_works(folder: Path) -> bool:
    """True if this user can mount an overlay with layers in `folder`. Tested by a trial mount; cached."""
    return sys.platform.startswith("linux") and mountable([folder]) and _try_overlay(folder, os.geteuid())


@lru_cache
def _try_overlay(folder: Path, _user: int) -> bool:
    try:
        with tempfile.TemporaryDirectory(prefix="overlay-", dir=folder) as place:
            here = Path(place)
            (here / "lower").mkdir()
            overlay = Overlay((here / "lower",), here / "scratch", here / "target")
            overlay.create()
            write = ("/bin/sh", "-c", 'echo x >"$0"/x', str(overlay.target))
            env = {"PATH": os.defpath}
            result = capture(with_overlays(write, [overlay]), cwd=Path("/"), env=env, timeout=10)
            return result.exit_code == 0 and (overlay.upper / "x").is_file()
    except (OSError, BurnishError):
        return False

"""Runs agents and checks in bubblewrap: with their own processes and temporary files, and listed writable places."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from burnish.errors import BurnishError
from burnish.proc.capture import capture
from burnish.proc.environment import certificate_files
from burnish.proc.mounts import (
    Mount,
    covering,
    links_to,
    masked_links,
    mount_options,
    mounted_folders,
    other_names,
    verified,
)
from burnish.proc.own_programs import find_own_program
from burnish.proc.private_places import (
    marker_mounts,
    masked_sockets,
    masked_token_files,
    needed_of_system,
    private_folders,
)
from burnish.proc.sandbox_entry import ENCLOSURE
from burnish.proc.toolchains import programs_below

__all__ = ["Sandbox", "available"]

# Capabilities of root inside: those of a container, without devices, raw sockets and chroot. SETFCAP is needed to map
# user 0 in a nested user namespace (Linux 5.12), which codex's own sandbox does.
_ROOT_KEEPS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETUID")
# of the empty folder in place of the home directory
_OF_HOME = "0700"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The sandbox for the programs of one project."""

    home: Path
    checkout: Path
    burnish_home: Path
    network: bool = True
    # Read-only at any place: e.g. the git folder of a checkout that is a linked work tree.
    readable: tuple[Path, ...] = ()
    # other work trees and projects: read-only even below a place that `write` lists
    untouched: tuple[Path, ...] = ()
    # `sandbox.read` and `sandbox.write` of the user's settings
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    # for every program: e.g. the user's objects, under a name that a tree at the checkout's path does not hide
    mounts: tuple[Mount, ...] = ()

    def around(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        writable: Sequence[Path],
        readable: Sequence[Path] = (),
        mounts: Sequence[Mount] = (),
        trees: Sequence[Mount] = (),
    ) -> tuple[str, ...]:
        """`argv` inside bubblewrap. `mounts` come last: they replace what would be at the same target.

        `trees` replace all that would be at or below their targets.

        A bare name that is not on PATH is returned unchanged: it cannot be started, and the error should name it.
        """
        wrapper, program = find_own_program("bwrap"), shutil.which(argv[0], path=env.get("PATH"))
        if not wrapper:
            raise BurnishError("bubblewrap is no longer installed.", hint="Install the package `bubblewrap` again.")
        if not program and "/" not in argv[0]:
            return tuple(argv)
        # A relative path is resolved in the program's working directory.
        words = (program or argv[0], *argv[1:])
        readable = (*self._certificates(env), *readable)
        base_mounts = self._mounts(words, env=env, writable=writable, readable=readable, trees=trees)
        all_mounts = (*base_mounts, *self._without_private(_at_real_paths(self.mounts)), *mounts, *trees)
        masked_files = masked_token_files(self.burnish_home, all_mounts)
        masked_files += self._masked_sockets(all_mounts, readable, (*mounts, *trees))
        pins = self._pins(all_mounts)
        options = mount_options((*pins, *all_mounts, *masked_files))
        network = () if self.network else ("--unshare-net",)
        words = verified(argv, [*pins, *self._replaceable(all_mounts)])
        return (wrapper, *SYSTEM, *options, *_capabilities(), *NAMESPACES, *network, "--", *words)

    def _mounts(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        writable: Sequence[Path],
        readable: Sequence[Path],
        trees: Sequence[Mount],
    ) -> list[Mount]:
        """All mounts except those of the call, in order of increasing priority."""
        masks = self._masks(env)
        mask_targets = {mask.target for mask in masks}
        # programs of a tree, e.g. of its `.venv`, come with the tree: they stay writable, or are replaced with it
        own = [*(place.resolve() for place in (*writable, *self.write)), *(tree.target for tree in trees)]
        sources = [tree.source.resolve() for tree in trees if tree.source]
        home, state = self.home.resolve(), self.burnish_home.resolve()
        written = {place for place in (*own, *sources, self.checkout.resolve()) if not home.is_relative_to(place)}
        programs = programs_below(
            home,
            mask_targets,
            argv=argv,
            path=env.get("PATH", ""),
            trees=written,
            state=None if home.is_relative_to(state) else state,
        )
        program_places = [place for place in programs.places if not any(place.is_relative_to(tree) for tree in own)]
        mounts = [*masks, *needed_of_system(), *(Mount(place, "read") for place in program_places)]
        mounts += _binds("read", (self.checkout, *self.readable, *readable))
        # A checkout that is the home directory does not make it visible.
        mounts += [mask for mask in masks if mask.permissions == _OF_HOME]
        mounts += self._listed()
        mounts += _binds("write", writable)
        mounts += self._kept_from_writing(mounts, writable)
        known_places = (self.home, self.burnish_home, self.checkout, *self.readable, *self.read, *self.write)
        mounts += masked_links(
            (*known_places, *programs.names, *readable, *writable, Path(env.get("TMPDIR") or "/")), mounts
        )
        return [*mounts, *marker_mounts(mounts)]

    def _certificates(self, env: Mapping[str, str]) -> list[Path]:
        """The certificate files, except folders that contain a private place."""
        private = (self.home.resolve(), self.burnish_home.resolve())
        found = [(path, path.resolve()) for path in certificate_files(env)]
        return [path for path, real in found if not any(one.is_relative_to(real) for one in private)]

    def _masks(self, env: Mapping[str, str]) -> list[Mount]:
        """The empty folders: shared ones, the home directory, and burnish's own home."""
        home, ours = self.home.resolve(), self.burnish_home.resolve()
        masks = private_folders(env)
        if home != Path("/") and (home.is_dir() or covering(masks, home)):
            masks.append(Mount(home, "empty", permissions=_OF_HOME))
        # Of burnish's home only the mounts below it are visible: neither other tasks nor the database.
        if ours.is_dir() or covering(masks, ours):
            masks.append(Mount(ours, "empty", sealed=not home.is_relative_to(ours)))
        return [*masks, *_under_other_names(masks)]

    def _without_private(self, mounts: Sequence[Mount]) -> list[Mount]:
        """The mounts of folders under other names, with what they show of the home directory hidden again.

        The checkout may be the home directory or contain it: then it would be readable under that name.
        """
        private = [place for place in (self.home.resolve(), self.burnish_home.resolve()) if place.is_dir()]
        sources = [(mount, mount.source.resolve()) for mount in mounts if mount.source]
        masks = [
            Mount(mount.target / place.relative_to(source), "empty", permissions=_OF_HOME)
            for mount, source in sources
            for place in private
            if place.is_relative_to(source)
        ]
        return [*mounts, *masks]

    def _listed(self) -> list[Mount]:
        """The places in the user's settings; device files stay devices."""
        found = []
        for mode, places in (("read", self.read), ("write", self.write)):
            visible = [place for place in places if place.exists() and not is_redirected(place, self.write)]
            for place in (self._real_path(place) for place in visible):
                is_device = place.is_relative_to("/dev")
                found.append(Mount(place, "device" if is_device else "read" if mode == "read" else "write"))
        return found

    def _real_path(self, place: Path) -> Path:
        """Below a folder of `write`, a program of another sandbox may be making links: none of them is followed."""
        above = [folder for folder in self.write if folder != place and place.is_relative_to(folder)]
        if not above:
            return place.resolve()
        folder = min(above, key=lambda one: len(one.parts))
        return folder.resolve() / place.relative_to(folder)

    def _replaceable(self, mounts: Sequence[Mount]) -> list[Mount]:
        """The listed places that a program of another sandbox may replace by a link while bubblewrap mounts them."""
        listed_mounts = self._listed()
        folders = [mount.target for mount in listed_mounts if mount.mode == "write"]
        inner = [
            mount
            for mount in listed_mounts
            if any(mount.target != folder and mount.target.is_relative_to(folder) for folder in folders)
        ]
        # of two at the same target the later one counts
        last = {mount.target: mount for mount in mounts}
        return [mount for mount in inner if last.get(mount.target) == mount]

    def _pins(self, mounts: Sequence[Mount]) -> list[Mount]:
        """Mounts for the folders between a folder of `write` and what is mounted or hidden below it.

        A program could rename another folder, and what is hidden below it would be visible to the next program.
        """
        folders = [mount for mount in self._listed() if mount.mode == "write"]
        parents = {parent for mount in mounts for parent in mount.target.parents}
        inner = [
            parent
            for parent in sorted(parents)
            if any(parent != folder.target and parent.is_relative_to(folder.target) for folder in folders)
        ]
        return [Mount(place, "write") for place in inner if covering(mounts, place) in folders and place.is_dir()]

    def _masked_sockets(
        self, all_mounts: Sequence[Mount], readable: Sequence[Path], mounts: Sequence[Mount]
    ) -> list[Mount]:
        """Masks for sockets in all mounts of a call; `readable` and `mounts` are those of this call alone."""
        places = {place.resolve() for place in (self.checkout, *self.readable, *self.untouched, *readable)}
        targets = places | {mount.target for mount in (*self.mounts, *mounts)}
        ours, checkout = self.burnish_home.resolve(), self.checkout.resolve()
        sources = {mount.target: (mount.source or mount.target) for mount in all_mounts}
        # Files written by burnish, e.g. a snapshot or a copy of a login, contain no sockets of the user.
        folders = {one for one in targets if one == checkout or not sources.get(one, one).is_relative_to(ours)}
        listed_places = {mount.target for mount in self._listed()}
        return masked_sockets(all_mounts, listed_places, user_folders=folders)

    def _kept_from_writing(self, mounts: Sequence[Mount], writable: Sequence[Path]) -> list[Mount]:
        """Read-only mounts for other work trees and projects that a wider mount would make writable."""
        own = {place.resolve() for place in writable}
        found = []
        for place in (place.resolve() for place in self.untouched if place.exists()):
            mount = covering(mounts, place)
            if mount and mount.mode == "write" and mount.target not in own and mount.target != place:
                found.append(Mount(place, "read"))
        return found


def is_redirected(place: Path, writable: Sequence[Path]) -> bool:
    """Whether a link below one of the writable folders leads to this place: a program may have made the link."""
    folders = {name for folder in writable for name in (folder, folder.resolve()) if name != place}
    return any(link != folder and link.is_relative_to(folder) for link, _ in links_to(place) for folder in folders)


def _under_other_names(masks: Sequence[Mount]) -> list[Mount]:
    """The same masks at the other paths of masked folders: /data/home/me is /home/me through a bind mount."""
    table, mask_targets = mounted_folders(), {mask.target for mask in masks}
    pairs = [(name, mask) for mask in masks for name in other_names(mask.target, table)]
    return [replace(mask, target=name) for name, mask in pairs if name not in mask_targets]


def _at_real_paths(mounts: Sequence[Mount]) -> tuple[Mount, ...]:
    """The same mounts with the real folders of their targets: bubblewrap mounts nothing behind a link that it made."""
    return tuple(replace(mount, target=mount.target.parent.resolve() / mount.target.name) for mount in mounts)


def _binds(mode: str, places: Sequence[Path]) -> list[Mount]:
    return [Mount(place.resolve(), "write" if mode == "write" else "read") for place in places]


def _capabilities() -> tuple[str, ...]:
    """A normal user has none inside. Root's are those of `_ROOT_KEEPS`."""
    if os.geteuid() != 0:
        return ()
    return ("--cap-drop", "ALL", *(word for name in _ROOT_KEEPS for word in ("--cap-add", f"CAP_{name}")))


# -- sandbox support ------------------------------------------------------------------------------
# Checks whether this machine supports the sandbox, and if not, explains why and how to fix it.

# The file system of a sandbox before its own mounts: all of it read-only, with own devices and processes.
SYSTEM = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent")
_CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why there is no sandbox here, and how to get one."""

    cause: str
    cure: str


def available(*, network: bool = True) -> str | None:
    """Why programs cannot be confined here; None if they can."""
    obstacle = sandbox_obstacle(network=network)
    return obstacle.cause if obstacle else None


def sandbox_obstacle(*, network: bool = True) -> Obstacle | None:
    """Why bubblewrap does not work here; None if it works."""
    if not sys.platform.startswith("linux"):
        return Obstacle(
            "bubblewrap is not available on this system", "Run burnish in a Linux container or virtual machine."
        )
    program = find_own_program("bwrap")
    if program is None:
        return Obstacle("bubblewrap is not installed", "Install the package `bubblewrap`.")
    return _trial(program, Path(program).stat().st_mtime_ns, network)


def nesting_bubblewrap() -> str:
    """The bubblewrap in which another one can run; "" if a setuid bit or an AppArmor profile forbids it."""
    program = find_own_program("bwrap")
    return program if program and _nesting_trial(program, Path(program).stat().st_mtime_ns) else ""


@lru_cache
def _nesting_trial(program: str, _mtime: int) -> bool:
    argv = [program, *ENCLOSURE, program, *SYSTEM, "--tmpfs", "/tmp", *NAMESPACES, "--", "true"]
    try:
        return capture(argv, cwd=Path("/"), env={"PATH": os.defpath}, timeout=10).exit_code == 0
    except BurnishError:
        return False


@lru_cache
def _trial(program: str, _mtime: int, network: bool) -> Obstacle | None:
    """Start bubblewrap, since many settings decide whether namespaces and mounts are allowed."""
    network_options = () if network else ("--unshare-net",)
    argv = [program, *SYSTEM, "--tmpfs", "/tmp", *NAMESPACES, *network_options, "--", "true"]
    try:
        result = capture(argv, cwd=Path("/"), env={"PATH": os.defpath}, timeout=10)
    except BurnishError as error:
        return Obstacle(error.what.rstrip("."), "Run `bwrap --ro-bind / / true` by hand to see what it needs.")
    if result.exit_code == 0:
        return None
    message = (result.stderr.decode(errors="replace").strip().splitlines() or ["it failed"])[-1][:200]
    cause, cure = _diagnosis(message)
    return Obstacle(f"bubblewrap cannot run ({message}){': ' + cause if cause else ''}", cure)


def _diagnosis(message: str) -> tuple[str, str]:
    """The setting of the kernel or the container that forbids it, most specific first, and how to change it."""
    if _setting("/proc/sys/user/max_user_namespaces") == "0":
        return "user.max_user_namespaces is 0", "Allow user namespaces: `sysctl user.max_user_namespaces=15000`."
    if _setting("/proc/sys/kernel/unprivileged_userns_clone") == "0":
        cure = "Allow user namespaces: `sysctl kernel.unprivileged_userns_clone=1`."
        return "kernel.unprivileged_userns_clone is 0", cure
    if _setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" and os.geteuid() != 0:
        cure = "Load an AppArmor profile that allows bwrap `userns` (docs/sandbox.md has one)."
        return "AppArmor restricts user namespaces", cure
    if "mount proc" in message:
        cure = "Start the container with `--security-opt systempaths=unconfined` (podman: `unmask=ALL`)."
        return "this container hides parts of /proc", cure
    if "permi" in message.lower() and (_in_container() or _has_seccomp_filter()):
        cure = "Start the container with `--security-opt seccomp=unconfined`, or run burnish outside of it."
        return "this container forbids namespaces", cure
    return "", "Allow unprivileged user namespaces; see docs/sandbox.md."


def _setting(path: str) -> str:
    try:
        return Path(path).read_text("ascii", "replace").strip()
    except OSError:
        return ""


def _in_container() -> bool:
    return any(map(os.path.exists, _CONTAINER_FILES)) or "container" in os.environ


def _has_seccomp_filter() -> bool:
    lines = _setting("/proc/self/status").splitlines()
    return any(line.split() == ["Seccomp:", "2"] for line in lines)

"""Places that every sandbox has for itself or does not show: temporary files, sockets, other people's homes."""
# os.path answers False where Path raises: a folder that this user may not enter.
# ruff: noqa: PTH110, PTH112, PTH114

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from burnish.proc.mounts import Mount, covering

# Everybody may write there, and programs put their sockets there (tmux, ssh-agent, X11, editors).
_TEMPORARY = ("/tmp", "/var/tmp")
# Sockets of the system and of the user's session: D-Bus, docker, podman, systemd, Wayland, gpg-agent.
_RUNTIME = ("/run", "/var/run")
_HOMES = ("/home", "/root")
# Of /run, what programs need to start: NixOS has its programs and drivers there.
_NEEDED_OF_RUNTIME = ("/run/current-system", "/run/opengl-driver")
# Files of /etc that may be symbolic links into /run.
_NAME_SERVICE = ("/etc/resolv.conf", "/etc/hosts", "/etc/hostname", "/etc/localtime", "/etc/nsswitch.conf")
# Written by root without any capability, and not part of a namespace: sysctl, interrupts, devices.
_KERNEL_SETTINGS = ("sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi", "mtrr", "driver", "dynamic_debug")
_PROC_UNIX = Path("/proc/net/unix")

# Folders that exist in sandboxes alone, see `burnish.proc.inside`. Each is a mount of its own: it can be neither
# written, moved nor removed. A program that nests bubblewrap (codex) has a new /dev and keeps /run.
MARKERS = (Path("/dev/burnish-phase"), Path("/run/burnish-phase"))


def private_folders(env: Mapping[str, str]) -> list[Mount]:
    """Empty folders in place of those that are shared outside. A target must exist: the rest is read-only."""
    found = [Mount(place, "empty", permissions="1777") for place in _folders((*_TEMPORARY, env.get("TMPDIR", "")))]
    found.append(Mount(Path("/dev/shm"), "empty", permissions="1777"))
    found += [Mount(place, "empty") for place in _folders((*_RUNTIME, *_HOMES))]
    return found


def _folders(names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        # a folder that this user may not enter needs no mask, and bubblewrap could not mount there
        if name.startswith("/") and os.path.isdir(name) and os.access(name, os.X_OK):
            place = Path(name).resolve()
            if place != Path("/"):
                yield place


def needed_of_system() -> list[Mount]:
    """What of the masked folders every program needs: names of hosts, and on NixOS the system itself."""
    found = [Mount(Path(name), "read") for name in _NEEDED_OF_RUNTIME if os.path.isdir(name)]
    targets = {Path(name).resolve() for name in _NAME_SERVICE if os.path.islink(name)}
    found += [Mount(place, "read") for place in targets if place.is_relative_to("/run") and place.is_file()]
    if os.geteuid() == 0:
        names = [f"/proc/{name}" for name in _KERNEL_SETTINGS]
        found += [Mount(Path(name), "read") for name in names if os.path.exists(name)]
    return found


def marker_mounts(mounts: Sequence[Mount]) -> list[Mount]:
    """The markers, where there is an empty folder to put them in."""
    found = [Mount(place, "empty", sealed=True) for place in MARKERS]
    return [one for one in found if one.target.parent == Path("/dev") or _is_empty(mounts, one.target)]


def _is_empty(mounts: Sequence[Mount], place: Path) -> bool:
    mount = covering(mounts, place)
    return mount is not None and mount.mode == "empty"


def masked_sockets(mounts: Sequence[Mount], listed: Sequence[Path]) -> list[Mount]:
    """Sockets that `mounts` leave in sight: a read-only mount does not keep a program from connecting.

    Those at or below a place that the settings list stay, and those where the call may write.
    """
    found = []
    for place in _listening():
        mount = covering(mounts, place)
        seen = mount is None or (mount.mode == "read" and mount.target not in listed)
        if seen and _is_socket(place):
            found.append(Mount(place, "read", source=Path(os.devnull)))
    return found


def _listening() -> list[Path]:
    """Paths of Unix sockets in this network namespace."""
    try:
        lines = _PROC_UNIX.read_text("utf-8", "replace").splitlines()[1:]
    except OSError:
        return []
    names = {fields[7] for line in lines if len(fields := line.split(None, 7)) == 8 and fields[7].startswith("/")}
    return [Path(os.path.realpath(name)) for name in sorted(names)]


def _is_socket(place: Path) -> bool:
    try:
        return stat.S_ISSOCK(place.stat().st_mode)
    except OSError:
        return False  # gone, or not to be reached by this user

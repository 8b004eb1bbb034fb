"""Places that are private to each sandbox or hidden in it: temporary files, sockets, homes, the server's token."""
# os.path returns False for folders that this user may not enter; Path raises.
# ruff: noqa: PTH110, PTH112, PTH113, PTH114

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from burnish.proc.folders import private_folder
from burnish.proc.mounts import Mount, covering, mounted_folders, other_names
from burnish.proc.socket_paths import SearchLimits, bound_names, is_endpoint, search_folder

# All users may write there, and programs create sockets there (tmux, ssh-agent, X11, editors).
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
# Where sockets are searched: a folder of programs only at its top, it has many files.
_USER_FOLDER = SearchLimits(levels=1000, entries=200_000)
_PROGRAM_FOLDER = SearchLimits(levels=3, entries=20_000)

# Folders that exist in sandboxes alone, see `burnish.proc.inside`. Each is a mount of its own: it can be neither
# written, moved nor removed. A program that nests bubblewrap (codex) has a new /dev and keeps /run.
MARKERS = (Path("/dev/burnish-phase"), Path("/run/burnish-phase"))

# In the burnish home: the files that contain the token of `burnish serve`.
_TOKEN_FILES = Path("serve") / "token-files.json"
_MAX_TOKEN_FILES = 100


def private_folders(env: Mapping[str, str]) -> list[Mount]:
    """Empty folders in place of those that are shared outside. A target must exist: the rest is read-only."""
    found = [Mount(place, "empty", permissions="1777") for place in _folders((*_TEMPORARY, env.get("TMPDIR", "")))]
    found.append(Mount(Path("/dev/shm"), "empty", permissions="1777"))
    found += [Mount(place, "empty") for place in _folders((*_RUNTIME, *_HOMES))]
    return found


def _folders(names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        # A folder that this user may not enter needs no mask, and bubblewrap could not mount there.
        if name.startswith("/") and os.path.isdir(name) and os.access(name, os.X_OK):
            place = Path(name).resolve()
            if place != Path("/"):
                yield place


def needed_of_system() -> list[Mount]:
    """The parts of masked folders that every program needs: host names, and on NixOS the system itself."""
    found = [Mount(Path(name), "read") for name in _NEEDED_OF_RUNTIME if os.path.isdir(name)]
    targets = {Path(name).resolve() for name in _NAME_SERVICE if os.path.islink(name)}
    found += [Mount(place, "read") for place in targets if place.is_relative_to("/run") and place.is_file()]
    if os.geteuid() == 0:
        names = [f"/proc/{name}" for name in _KERNEL_SETTINGS]
        found += [Mount(Path(name), "read") for name in names if os.path.exists(name)]
    return found


def marker_mounts(mounts: Sequence[Mount]) -> list[Mount]:
    """The markers whose parent is an empty folder."""
    found = [Mount(place, "empty", sealed=True) for place in MARKERS]
    return [one for one in found if one.target.parent == Path("/dev") or _is_empty(mounts, one.target)]


def _is_empty(mounts: Sequence[Mount], place: Path) -> bool:
    mount = covering(mounts, place)
    return mount is not None and mount.mode == "empty"


def masked_sockets(
    mounts: Sequence[Mount], listed_places: Collection[Path], *, user_folders: Collection[Path]
) -> list[Mount]:
    """Masks for sockets and named pipes that are visible with `mounts`, the complete list of the sandbox.

    Keeps those at or below `listed_places` (of the settings), and those in writable folders. Searches `user_folders`
    completely; other targets below an empty folder contain programs, and only their upper levels are searched.
    """
    found = [place for place in bound_names() if is_endpoint(place) and _is_connectable(mounts, place, listed_places)]
    last = {mount.target: mount for mount in mounts}
    read_mounts = [mount for mount in last.values() if mount.mode == "read" and mount.target not in listed_places]
    masks = [mount.target for mount in last.values() if mount.mode == "empty" and str(mount.target) not in _RUNTIME]
    for mount in read_mounts:
        if mount.target in user_folders:
            limits = _USER_FOLDER
        elif any(mount.target.is_relative_to(mask) for mask in masks):
            limits = _PROGRAM_FOLDER
        else:
            continue
        source = mount.source or mount.target
        targets = [mount.target / path.relative_to(source) for path in search_folder(source, limits)]
        # A deeper mount may hide the path.
        found += [target for target in targets if covering(mounts, target) == mount]
    return [Mount(place, "read", source=Path(os.devnull)) for place in dict.fromkeys(found)]


def _is_connectable(mounts: Sequence[Mount], place: Path, listed_places: Collection[Path]) -> bool:
    mount = covering(mounts, place)
    if mount is None:
        return True
    # a mount with another source shows other files at this path
    return mount.mode == "read" and mount.source in (None, mount.target) and mount.target not in listed_places


def record_token_files(burnish_home: Path, places: Iterable[Path]) -> None:
    """Add `places` to the list. Earlier ones stay: a token that the user sets is used again at the next start."""
    names = [os.path.abspath(place) for place in places if place.is_file()]  # noqa: PTH100 - links are not followed
    if not names:
        return
    earlier = [name for name in _recorded_token_files(burnish_home) if name not in names and os.path.lexists(name)]
    file = burnish_home / _TOKEN_FILES
    private_folder(file.parent)
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps([*earlier, *names][-_MAX_TOKEN_FILES:]))
    draft.replace(file)


def masked_token_files(burnish_home: Path, mounts: Sequence[Mount]) -> list[Mount]:
    """Masks for the recorded files at each path where `mounts`, the complete list of the sandbox, shows them."""
    files = dict.fromkeys(Path(name).resolve() for name in _recorded_token_files(burnish_home) if os.path.isfile(name))
    if not files:
        return []
    table = mounted_folders()
    places = dict.fromkeys(name for file in files for name in (file, *other_names(file, table)))
    found = [place for file in places for place in _visible_at(file, mounts)]
    return [Mount(place, "read", source=Path(os.devnull)) for place in dict.fromkeys(found)]


def _visible_at(file: Path, mounts: Sequence[Mount]) -> list[Path]:
    """Where a sandbox shows this file: at its own path if no mount covers it, and in every mount that contains it."""
    found = [] if covering(mounts, file) else [file]
    for mount in mounts:
        source = (mount.source or mount.target).resolve()
        if mount.mode in ("read", "write", "device") and file.is_relative_to(source):
            target = mount.target / file.relative_to(source)
            if covering(mounts, target) == mount:
                found.append(target)
    return found


def _recorded_token_files(burnish_home: Path) -> list[str]:
    try:
        names = json.loads((burnish_home / _TOKEN_FILES).read_text())
    except (OSError, ValueError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

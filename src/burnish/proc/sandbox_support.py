"""Checks whether this machine supports the sandbox, and if not, explains why and how to fix it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from burnish.errors import BurnishError
from burnish.proc.capture import capture
from burnish.proc.own_programs import find_own_program
from burnish.proc.sandbox_entry import ENCLOSURE

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

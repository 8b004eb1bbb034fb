"""Bubblewrap around agents and checks: the home directory and burnish's own are masked, the user's checkout can only be
read. Processes stay in the system's own numbering: the shim must find them, and they must find the shim.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from burnish.errors import BurnishError
from burnish.proc.capture import capture
from burnish.proc.toolchains import programs_below

# Who starts burnish as root keeps root's rights over files, but may not undo mounts or look into other processes.
_DROPPED = ("CAP_SYS_ADMIN", "CAP_SYS_PTRACE")
# Settings that make a program run something the next time a person starts it, in its own login folder.
_STARTS_THINGS = ("settings.json", "config.toml", "hooks.json", "hooks")
_TRY = ("--dev-bind", "/", "/", "--tmpfs", "/tmp", "--die-with-parent")


def available(*, network: bool = True) -> str | None:
    """Why programs cannot be confined here; None if they can."""
    if not sys.platform.startswith("linux"):
        return "there is no bubblewrap on this system"
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed"
    return _tried(program, Path(program).stat().st_mtime_ns, network)


@lru_cache
def _tried(program: str, _installed: int, network: bool) -> str | None:
    """It may be there and yet be forbidden to make namespaces: only a trial tells."""
    alone = () if network else ("--unshare-net",)
    try:
        done = capture([program, *_TRY, *alone, "--", "true"], cwd=Path("/"), env={"PATH": os.defpath}, timeout=10)
    except BurnishError as trouble:
        return trouble.what.rstrip(".")
    said = (done.stderr.decode(errors="replace").strip().splitlines() or ["it failed"])[-1]
    return None if done.exit_code == 0 else f"bubblewrap may not run ({said[:200]})"


def confine(
    argv: Sequence[str],
    *,
    writable: Sequence[Path],
    readable: Sequence[Path],
    home: Path,
    checkout: Path,
    burnish_home: Path,
    network: bool,
    login: Sequence[Path] = (),
    untouched: Sequence[Path] = (),
    program: str = "bwrap",
) -> tuple[str, ...]:
    """The same command inside bubblewrap. What is not named stays as it is; later mounts cover earlier ones."""
    masked = [mask for mask in (home, burnish_home) if mask != Path("/")]
    seen = [place for place in untouched if _is_seen(place, masked, login)]
    mounts: dict[Path, tuple[str, ...]] = {place: _only_read(place) for place in seen}
    # of burnish's own, only what is named below: neither other tasks nor the book of decisions
    mounts[burnish_home] = ("--tmpfs", str(burnish_home))
    mounts |= {place: _only_read(place) for place in (checkout, *readable)}
    if home in masked:
        mounts[home] = ("--tmpfs", str(home))
    for place in login:
        mounts[place] = ("--bind-try", str(place), str(place))
    for place in writable:
        mounts[place] = ("--bind", str(place), str(place))
    # a folder before what lies in it
    ordered = [word for place in sorted(mounts, key=lambda p: len(p.parts)) for word in mounts[place]]
    caps = [word for name in _DROPPED for word in ("--cap-drop", name)]
    alone = () if network else ("--unshare-net",)
    # when all that lies in it is mounted: a program is to hear that it may not write there
    shut = () if home.is_relative_to(burnish_home) else ("--remount-ro", str(burnish_home))
    return (program, "--dev-bind", "/", "/", *ordered, *shut, *caps, *alone, "--die-with-parent", "--", *argv)


def _only_read(place: Path) -> tuple[str, ...]:
    return ("--ro-bind-try", str(place), str(place))


def _is_seen(place: Path, masked: Sequence[Path], login: Sequence[Path]) -> bool:
    """What a mask hides must not be shown in order to protect it; nor may `/` and the like be shut altogether."""
    hidden = any(place.is_relative_to(mask) for mask in masked)
    shown = any(place.is_relative_to(own) and place != own for own in login)
    return (shown or not hidden) and not Path(tempfile.gettempdir()).resolve().is_relative_to(place)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What the programs of one project are shut into."""

    home: Path
    checkout: Path
    burnish_home: Path
    network: bool = True
    # read-only, wherever it lies: e.g. the git folder of a checkout that is a linked work tree
    readable: tuple[Path, ...] = ()
    # read-only where it would be seen anyway: other work trees, other projects
    untouched: tuple[Path, ...] = ()

    def around(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        writable: Sequence[Path],
        readable: Sequence[Path] = (),
        login: Sequence[Path] = (),
    ) -> tuple[str, ...]:
        """`argv` confined. A program that is not there is left as it is: the error should name it, not bubblewrap."""
        wrapper, found = shutil.which("bwrap"), shutil.which(argv[0], path=env.get("PATH"))
        if not wrapper or not found:
            return tuple(argv)
        home = self.home.resolve()
        own = [_below(self.home, home, place) for place in login if place.exists()]
        held = [place / name for place in own for name in _STARTS_THINGS if (place / name).exists()]
        ours = self.burnish_home.resolve()
        masked = (home,) if ours.is_relative_to(home) else (home, ours)
        words, path = (found, *argv[1:]), env.get("PATH", "")
        places = [place for mask in masked for place in programs_below(mask, argv=words, path=path)]
        named = [place.resolve() for place in (*self.readable, *readable)]
        return confine(
            argv,
            writable=[place.resolve() for place in writable],
            readable=(*places, *named, *held),
            home=home,
            checkout=self.checkout.resolve(),
            burnish_home=ours,
            network=self.network,
            login=own,
            untouched=[place.resolve() for place in self.untouched],
            program=wrapper,
        )


def _below(home: Path, real: Path, place: Path) -> Path:
    """The same place, with the home's real name; links below the home keep theirs."""
    return real / place.relative_to(home) if place.is_relative_to(home) else place

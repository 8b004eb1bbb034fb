"""Programs that a person has installed below the home directory: what of it must be seen for them to run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

# Where version managers keep what the small programs on PATH start. No secrets lie there.
_KEPT = (
    ".pyenv",
    ".rustup",
    ".cargo/bin",
    ".nvm",
    ".volta",
    ".asdf",
    ".bun/bin",
    ".deno/bin",
    ".sdkman/candidates",
    ".rbenv",
    ".local/lib",
    ".local/share/uv",
    ".local/share/pipx",
    ".local/share/mise",
    ".local/share/fnm",
    "go/bin",
)
_BIN = ("bin", "sbin", "shims", ".bin")
# too much else lies beside `bin` there
_SHARED = (".local", ".cargo")


def programs_below(home: Path, *, argv: Sequence[str], path: str) -> tuple[Path, ...]:
    """All that must be readable below `home` (a real path) for `argv` and what is on `path` to work."""
    found = {home / name for name in _KEPT if _is_dir(home / name)}
    for folder in (Path(word) for word in path.split(os.pathsep) if word.startswith("/")):
        below = _names(folder, home)
        found.update(_prefix(place / "any", home) for place in below)
        if below or _is_venv(folder.parent):
            found.update(_installed(_links(folder), home))
    words = [Path(word) for word in argv if word.startswith("/") and os.path.lexists(word)]
    package = Path(__file__).parents[1]
    found.update(_installed((*words, package, *map(Path, (sys.executable, sys.prefix, sys.base_prefix))), home))
    return tuple(sorted(found - {home}))


def _names(place: Path, home: Path) -> set[Path]:
    """As it is called and as it really is, where that lies below the home."""
    return {name for name in (place, place.resolve()) if name != home and name.is_relative_to(home)}


def _links(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder) if entry.is_symlink()]
    except OSError:
        return []


def _installed(programs: Iterable[Path], home: Path) -> Iterator[Path]:
    """Each program's own folder, under the name it is called by and under its real one."""
    for program in programs:
        yield from (_prefix(place, home) for place in _names(program, home))
        venv = next((place for place in (program, program.parent.parent) if _is_venv(place)), None)
        if venv and (base := _base_of(venv)).is_relative_to(home):
            yield _prefix(base / "python", home)


def _prefix(program: Path, home: Path) -> Path:
    """From `…/lib/node_modules/x/cli.js` and `…/bin/x` to `…`; a lone file is only itself."""
    if _is_dir(program):
        return program
    parts = program.relative_to(home).parts
    if "node_modules" in parts:
        above = home.joinpath(*parts[: parts.index("node_modules")])
        return above if above not in (home, home / ".local" / "lib") else above / "node_modules"
    folder = program.parent
    if folder == home:
        return program
    above = folder.parent
    whole = folder.name in _BIN and above != home and above.relative_to(home).as_posix() not in _SHARED
    return above if whole else folder


def _is_dir(path: Path) -> bool:
    """Unlike Path.is_dir(), False also where a directory on the way may not be searched (root's PATH, kept by su)."""
    return os.path.isdir(path)  # noqa: PTH112


def _is_venv(folder: Path) -> bool:
    return os.access(folder / "pyvenv.cfg", os.R_OK)


def _base_of(venv: Path) -> Path:
    """The folder of the interpreter that a virtual environment was made with."""
    lines = (venv / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    named = [value.strip() for key, _, value in (line.partition("=") for line in lines) if key.strip() == "home"]
    return Path(named[0]).resolve() if named else Path("/")

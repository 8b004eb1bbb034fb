"""Programs in places that a sandbox masks, such as the home directory: what must be seen for them to run."""
# os.path answers False where Path raises: a folder on PATH that this user may not enter.
# ruff: noqa: PTH110, PTH113, PTH115, PTH116

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash", ".rb", ".pl", ".php", ".lua", ".jar")


@dataclass(frozen=True, slots=True)
class MaskedPrograms:
    """What of the masked places programs need: real paths to show, and the names by which they are called."""

    places: tuple[Path, ...]
    names: tuple[Path, ...]


def programs_below(home: Path, masks: Collection[Path], *, argv: Sequence[str], path: str) -> MaskedPrograms:
    """All that must be readable below `masks` (real paths) for `argv` and what is on `path` to work.

    Of argv that is the program and script files; other files that it names are not shown for that.
    """
    places = {home / name for name in _KEPT if _is_dir(home / name)} if home in masks else set()
    folders = [Path(word) for word in path.split(os.pathsep) if word.startswith("/")]
    places.update(_prefix(place / "any", mask) for folder in folders for place, mask in _masked_names(folder, masks))
    programs = [*_programs_of(argv), Path(__file__).parents[1], *map(Path, _OWN_PYTHON)]
    programs += _interpreters(programs, path)
    programs += [link for folder in folders for link in _links(folder, tuple(map(str, masks)))]
    places.update(_installed(programs, masks))
    names = [name for name in (*folders, *programs) if any(_masked_names(name, masks))]
    # bubblewrap does not start where it may not reach a source
    reachable = [place for place in places - {*masks} if os.path.exists(place)]
    return MaskedPrograms(tuple(sorted(reachable)), tuple(names))


_OWN_PYTHON = (sys.executable, sys.prefix, sys.base_prefix)


def _programs_of(argv: Sequence[str]) -> list[Path]:
    """The program, and the scripts that it is given: as words, or in the text for a shell."""
    words = list(argv[1:])
    if Path(argv[0]).name in _SHELLS and words[:1] == ["-c"]:
        words += _shell_words(words[1] if len(words) > 1 else "")
    scripts = [Path(word) for word in words if word.startswith("/") and _is_script(word)]
    return [Path(argv[0]), *scripts]


def _shell_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _is_script(name: str) -> bool:
    if not os.path.isfile(name):
        return False
    return name.endswith(_SCRIPTS) or os.access(name, os.X_OK) or bool(_first_line(Path(name)))


def _first_line(script: Path) -> str:
    """What stands behind `#!`; empty if there is none."""
    try:
        with script.open("rb") as file:
            line = file.readline(512)
    except OSError:
        return ""
    return line[2:].decode("utf-8", "replace").strip() if line.startswith(b"#!") else ""


def _interpreters(programs: Iterable[Path], path: str) -> Iterator[Path]:
    for program in programs:
        words = _first_line(program).split() if os.path.isfile(program) else []
        names = [word for word in words if not word.startswith("-")]
        if names and Path(names[0]).name == "env":
            names = [shutil.which(name, path=path) or "" for name in names[1:2]]
        yield from (Path(name) for name in names[:1] if name.startswith("/"))


def _masked_names(place: Path, masks: Collection[Path]) -> Iterator[tuple[Path, Path]]:
    """Where a place is called from (a link itself, in its real folder) and where it really is, if below a mask.

    Each with the innermost mask.
    """
    for name in {Path(os.path.realpath(place.parent)) / place.name, Path(os.path.realpath(place))}:
        above = [mask for mask in masks if name != mask and name.is_relative_to(mask)]
        if above:
            yield name, max(above, key=lambda mask: len(mask.parts))


def _links(folder: Path, masks: tuple[str, ...]) -> tuple[Path, ...]:
    try:
        real = os.path.realpath(folder)
        return _links_of(real, os.stat(real).st_mtime_ns, masks)
    except OSError:
        return ()  # a folder on PATH need not exist, nor be readable


@lru_cache(maxsize=256)
def _links_of(folder: str, _changed: int, masks: tuple[str, ...]) -> tuple[Path, ...]:
    """Symbolic links out of a folder to masked places. /usr/bin has hundreds that stay in it: this must be quick."""
    links = [entry.path for entry in os.scandir(folder) if entry.is_symlink() and "/" in os.readlink(entry.path)]
    starts = tuple(f"{mask}/" for mask in masks)
    return tuple(Path(link) for link in links if os.path.realpath(link).startswith(starts))


def _installed(programs: Iterable[Path], masks: Collection[Path]) -> Iterator[Path]:
    """Each program's own folder, under the name it is called by and under its real one."""
    for program in programs:
        yield from (_prefix(place, mask) for place, mask in _masked_names(program, masks))
        venv = next((place for place in (program, program.parent.parent) if _is_venv(place)), None)
        if venv:
            yield from (_prefix(place, mask) for place, mask in _masked_names(_base_of(venv) / "python", masks))


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

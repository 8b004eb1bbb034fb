"""Finds the files that programs in masked places, such as the home directory, need to run."""
# os.path returns False for folders on PATH that this user may not enter; Path raises.
# ruff: noqa: PTH110, PTH113, PTH114, PTH115, PTH116

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from burnish.proc.mounts import links_on_the_way
from burnish.proc.program_files import SCRIPTS, entries_for_programs, entries_of_package, shows_secrets
from burnish.proc.socket_paths import cache_period
from burnish.regular_files import parse_toml

# Folders of version managers with the programs that shims on PATH start. Lists only what is needed, because secrets
# may be beside it (uv keeps `credentials` beside `tools`).
_VERSION_MANAGERS = {
    ".pyenv": ("bin", "libexec", "shims", "versions", "plugins", "pyenv.d", "completions", "version"),
    ".rbenv": ("bin", "libexec", "shims", "versions", "plugins", "rbenv.d", "completions", "version"),
    ".rustup": ("toolchains", "settings.toml", "update-hashes"),
    ".cargo": ("bin",),
    # not `etc`, where npm keeps tokens that were set for all users
    ".nvm": ("versions/*/*/[!e.]*", "alias", "nvm.sh", "nvm-exec", "bash_completion"),
    ".volta": ("bin", "tools", "layout.v2", "layout.v3", "layout.v4"),
    ".asdf": ("bin", "shims", "installs", "plugins", "lib", "libexec", "internal", "completions", "asdf.sh"),
    ".bun": ("bin",),
    ".deno": ("bin",),
    ".sdkman": ("candidates",),
    ".local": ("lib",),
    ".local/share/uv": ("python", "tools"),
    ".local/share/pipx": ("venvs", "shared", "py"),
    ".local/share/mise": ("bin", "shims", "installs", "plugins", "dotnet-root"),
    ".local/share/fnm": ("node-versions/*/installation/[!e.]*", "aliases"),
    "go": ("bin",),
    # which versions the shims of asdf and mise start
    ".": (".tool-versions", ".asdfrc"),
}
_MISE_SETTINGS = ".config/mise/config.toml"
_BIN = ("bin", "sbin", "shims", ".bin")
# What programs in `bin` load from the folders beside it, if one of `_LIBRARIES` is there at all.
_LIBRARIES = ("lib", "lib64", "libexec", "share", "node_modules")
_PARTS = (*_BIN, *_LIBRARIES, "lib32", "libx32", "include", "versions", "installs", "pyvenv.cfg", "package.json")
# Installations with more: a file or folder that tells which one it is, and what it needs.
_MORE_PARTS = {
    "pyvenv.cfg": ("src",),
    "conda-meta": ("conda-meta", "condabin", "envs", "ssl"),
    # Go, Google Cloud
    "VERSION": ("VERSION", "src", "pkg", "go.env", "platform"),
    # Java, Maven
    "release": ("release", "conf", "jmods", "jre"),
    "boot": ("boot", "conf"),
    # Homebrew
    "Cellar": ("Cellar", "opt", "Homebrew"),
    # JetBrains
    "product-info.json": ("product-info.json", "build.txt", "jbr", "plugins", "modules"),
    # Flutter
    "version": ("version", "packages"),
}
# These contain many other files beside `bin`, also below `share`.
_SHARED = (".local", ".cargo")
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")


@dataclass(frozen=True, slots=True)
class MaskedPrograms:
    """The parts of masked places that programs need: real paths to show, and the names by which they are called."""

    places: tuple[Path, ...]
    names: tuple[Path, ...]


def programs_below(
    home: Path,
    masks: Collection[Path],
    *,
    argv: Sequence[str],
    path: str,
    trees: Collection[Path] = (),
    state: Path | None = None,
) -> MaskedPrograms:
    """All that must be readable below `masks` (real paths) for `argv` and what is on `path` to work.

    Of argv that is the program and script files; other files that it names are not shown for that.
    `trees` (real paths): folders that agents, checks or a repository write. What they contain is mounted with them.
    Their links, first lines and `pyvenv.cfg` lead to Python installations only. On `path`, so do those of `state`, the
    burnish home, which has environments that set-up made.
    Cached for moments: a task starts several programs in a row.
    """
    return _programs_below(home, frozenset(masks), tuple(argv), path, frozenset(trees), state, cache_period())


@lru_cache(maxsize=16)
def _programs_below(
    home: Path,
    masks: frozenset[Path],
    argv: tuple[str, ...],
    path: str,
    trees: frozenset[Path],
    state: Path | None,
    _period: int,
) -> MaskedPrograms:
    managers = list(_version_managers(home)) if home in masks else []
    places = {part for folder in managers for part in _masked_parts(folder, masks)}
    folders = [Path(word) for word in path.split(os.pathsep) if word.startswith("/")]
    all_trees = trees | {state} if state else trees
    tree_folders = [folder for folder in folders if _is_in_tree(folder, all_trees)]
    own_folders = [folder for folder in folders if folder not in tree_folders]
    on_path = [pair for folder in own_folders for pair in _masked_names(folder, masks)]
    places.update(part for folder, mask in on_path for part in _parts(folder / "any", mask))
    programs = _programs_of(argv)
    programs += _interpreters(programs, path)
    programs += [link for folder in own_folders for link in _links(folder, tuple(map(str, masks)))]
    tree_programs = [program for program in programs if _is_in_tree(program, trees)]
    # the interpreter of a script in a tree is one that the tree chooses
    tree_programs += _interpreters(tree_programs, path)
    programs = [program for program in programs if program not in tree_programs]
    programs += [Path(__file__).parents[1], *map(Path, _OWN_PYTHON)]
    places.update(_installed(programs, masks, [folder for folder, _ in on_path]))
    tree_links = [link for folder in tree_folders for link in _links(folder, tuple(map(str, masks)))]
    places.update(_pythons_of([*tree_folders, *tree_programs, *tree_links], masks, all_trees))
    # bubblewrap creates no folder below a link, e.g. in an environment that `~/env` leads to
    places = {part for place in places for part in _masked_parts(place, masks)}
    places = {place for place in places if not shows_secrets(place, home)}
    # A link is recreated, not followed: it may lead to a hidden place.
    links = {place for place in places if os.path.islink(place) and not os.path.isfile(place)}
    names = [name for name in (*own_folders, *programs, *managers, *sorted(links)) if any(_masked_names(name, masks))]
    # bubblewrap does not start if a source is not reachable.
    reachable = [place for place in places - {*masks} - links if os.path.exists(place)]
    return MaskedPrograms(tuple(sorted(reachable)), tuple(names))


def _version_managers(home: Path) -> Iterator[Path]:
    """Folders and files of version managers, by the names that they have in the home directory."""
    places = [
        place
        for folder, names in _VERSION_MANAGERS.items()
        for name in names
        for place in (_matches(home / folder, name) if "*" in name else [home / folder / name])
    ]
    places += [home / _MISE_SETTINGS] if _has_versions_alone(home / _MISE_SETTINGS) else []
    return (place for place in places if os.path.exists(place))


def _matches(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []  # a folder that this user may not enter


def _has_versions_alone(settings: Path) -> bool:
    """True if mise's settings set no environment variables, which are often keys."""
    try:
        return "env" not in parse_toml(settings.read_text("utf-8"))
    except (OSError, ValueError):
        return False


def _masked_parts(place: Path, masks: Collection[Path]) -> Iterator[Path]:
    """The place in its real folder, if that is hidden."""
    real = _real(place.parent) / place.name
    if any(real.is_relative_to(mask) for mask in masks):
        yield real


def _real(path: Path) -> Path:
    """The path without links; cached, since every call of a task needs the same ones."""
    return _found_real(str(path), cache_period())


@lru_cache(maxsize=2048)
def _found_real(path: str, _period: int) -> Path:
    return Path(os.path.realpath(path))


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
    return name.endswith(SCRIPTS) or os.access(name, os.X_OK) or bool(_first_line(Path(name)))


def _first_line(script: Path) -> str:
    """The text after `#!`; "" if there is none."""
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
    for name in {_real(place.parent) / place.name, _real(place)}:
        text = str(name)
        above = [mask for mask in masks if text.startswith(f"{mask}/")]
        if above:
            yield name, max(above, key=lambda mask: len(mask.parts))


def _links(folder: Path, masks: tuple[str, ...]) -> tuple[Path, ...]:
    try:
        real = os.path.realpath(folder)
        return _links_of(real, os.stat(real).st_mtime_ns, masks)
    except OSError:
        return ()  # a folder on PATH may be missing or unreadable


@lru_cache(maxsize=256)
def _links_of(folder: str, _mtime: int, masks: tuple[str, ...]) -> tuple[Path, ...]:
    """Symbolic links out of a folder to masked places. /usr/bin has hundreds that stay in it: this must be fast."""
    links = [entry.path for entry in os.scandir(folder) if entry.is_symlink() and "/" in os.readlink(entry.path)]
    starts = tuple(f"{mask}/" for mask in masks)
    return tuple(Path(link) for link in links if os.path.realpath(link).startswith(starts))


def _installed(programs: Iterable[Path], masks: Collection[Path], on_path: Sequence[Path]) -> Iterator[Path]:
    """What each program needs, under the name it is called by and under its real one."""
    for program in programs:
        real = _real(program)
        for place, mask in _masked_names(program, masks):
            is_target = place == real and _real(program.parent) / program.name != real
            yield from _target(place, mask, on_path) if is_target else _parts(place, mask)
        venv = next((place for place in (program, program.parent.parent) if _is_venv(place)), None)
        if venv:
            for place, mask in _masked_names(_base_of(venv) / "python", masks):
                yield from _parts(place, mask)


def _is_in_tree(place: Path, trees: Collection[Path]) -> bool:
    """Whether a place is in one of `trees`, or a link in one of them is on the way to it."""
    names = {place, _real(place.parent) / place.name, _real(place), *(link for link, _ in links_on_the_way(place))}
    return any(name.is_relative_to(tree) for name in names for tree in trees)


def _pythons_of(places: Iterable[Path], masks: Collection[Path], trees: Collection[Path]) -> Iterator[Path]:
    """The Python installations and environments that places of a tree lead to.

    A repository or an agent chose where they lead, so nothing else is shown: a link in `.venv/bin` could name any file.
    """
    for place in places:
        real = _real(place)
        prefixes = {real, real.parent, real.parent.parent}
        prefixes |= {_base_of(one).parent for one in {place.parent, place.parent.parent, *prefixes} if _is_venv(one)}
        for prefix in (one for one in prefixes if _is_python(one) and not any(map(one.is_relative_to, trees))):
            for name, mask in _masked_names(prefix, masks):
                yield from _parts(name / "bin" / "python", mask)


def _is_python(prefix: Path) -> bool:
    return any(_matches(prefix, pattern) for pattern in ("lib/py*3*/os.py", "lib/py*3*/site-packages"))


def _target(program: Path, mask: Path, on_path: Sequence[Path]) -> Iterator[Path]:
    """What the target of a link on PATH needs: `~/opt/tool-1/bin/tool` is in an installation, which is shown whole.

    Beside `~/opt/tool-1/tool`, hidden files and those that are named like secrets are not shown. `~/.tool` is not shown
    whole, because settings and logins are in such folders, and neither is a folder that has one on PATH.
    """
    folder = program.parent
    whole = folder.parent if folder.name in _BIN else folder
    has_folder_on_path = any(one.is_relative_to(whole) for one in on_path)
    is_settings = whole.is_relative_to(mask / ".config") or whole.parent == mask
    if _is_dir(program) or whole == mask or "node_modules" in program.relative_to(mask).parts:
        yield from _parts(program, mask)
    elif has_folder_on_path and whole == folder and folder not in on_path:
        yield program
    elif has_folder_on_path or is_settings:
        yield from _parts(program, mask)
    elif whole == folder:
        yield program
        yield from entries_of_package(folder)
    else:
        yield whole


def _parts(program: Path, mask: Path) -> Iterator[Path]:
    """From `…/bin/x` to `…/bin`, `…/lib` and the like; from `…/node_modules/x/cli.js` to `…/node_modules`.

    From `…/x/tool` to the programs and packages in that folder. What else is beside them may be secret:
    `~/.docker/config.json`, `~/.fly/config.yml`.
    """
    if _is_dir(program):
        yield from _parts_of_prefix(program, mask) if _is_dir(program / "bin") else (program,)
        return
    parts = program.relative_to(mask).parts
    folder = program.parent
    if "node_modules" in parts:
        above = mask.joinpath(*parts[: parts.index("node_modules")])
        yield from (above / "node_modules", above / "package.json")
    elif folder == mask:
        yield program
    elif folder.name in _BIN and folder.parent != mask and folder.parent.relative_to(mask).as_posix() not in _SHARED:
        yield folder
        yield from _parts_of_prefix(folder.parent, mask)
    elif folder.name in _BIN:
        yield folder
    else:
        yield from [program] if os.path.exists(program) else []
        yield from entries_for_programs(folder)


def _parts_of_prefix(prefix: Path, mask: Path) -> tuple[Path, ...]:
    """The parts of an installation that are there; of a folder with programs alone, nothing."""
    return _found_parts(prefix, mask, cache_period())


@lru_cache(maxsize=256)
def _found_parts(prefix: Path, mask: Path, _period: int) -> tuple[Path, ...]:
    if prefix.relative_to(mask).as_posix() in _SHARED:
        names = ["bin", "lib"]
    else:
        names = [name for marker, more in _MORE_PARTS.items() if os.path.exists(prefix / marker) for name in more]
        if names or any(os.path.exists(prefix / name) for name in _LIBRARIES):
            names += _PARTS
    return tuple(prefix / name for name in dict.fromkeys(names) if os.path.exists(prefix / name))


def _is_dir(path: Path) -> bool:
    """Unlike Path.is_dir(), False also where a directory on the way may not be searched (root's PATH, kept by su)."""
    return os.path.isdir(path)  # noqa: PTH112


def _is_venv(folder: Path) -> bool:
    return os.access(folder / "pyvenv.cfg", os.R_OK)


def _base_of(venv: Path) -> Path:
    """The folder of the interpreter that a virtual environment was made with."""
    lines = (venv / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    homes = [value.strip() for key, _, value in (line.partition("=") for line in lines) if key.strip() == "home"]
    return Path(homes[0]).resolve() if homes else Path("/")

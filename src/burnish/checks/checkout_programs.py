"""Programs on PATH that run the code of the user's checkout, or were built from it: `npm link`, `pipx install -e`, …

Tests that start one of them by name do not test the tree. Links, scripts and editable installs lead to the checkout;
where the tree is mounted at that path they lead to the tree and do no harm. Copies (`go install`, `cargo
install --path`, `pip install .`) never contain the tree's code.
"""
# os.path does not raise for a folder on PATH that this user may not enter; Path does.
# ruff: noqa: PTH119

from __future__ import annotations

import json
import mmap
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from burnish.checks.import_origins import runs_tests
from burnish.checks.placement import Placement
from burnish.core.policy import CheckSpec
from burnish.folder_walk import ReadFolder, read_folder, walk_folders
from burnish.regular_files import parse_toml

_PACKAGES = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages")
_ENVIRONMENT = re.compile(r"(?:^|/)(?:\.venv|venv|env|\.conda|node_modules|\.tox|\.nox)(?:/|$)")
_PYTHON = re.compile(rb"^#!.*\b(?:python|pypy)[\d.]*", re.I)
# the shell scripts that pnpm and npm's cmd-shim write: `exec node "$basedir/../calc/cli.js" "$@"`
_BESIDE = re.compile(r"\"\$basedir/([^\"$]+)\"")
# Thousands of files that package managers of the system wrote; `sudo npm link` leaves a link there.
_OF_SYSTEM = frozenset(("/usr/bin", "/usr/sbin", "/bin", "/sbin"))
_SCRIPT_BYTES = 16 * 1024
# The header of the module information in a Go program: magic, 18 bytes that are filled up to 32, then two strings,
# each after its length (Go 1.18 and later). https://pkg.go.dev/debug/buildinfo
_GO_MAGIC = b"\xff Go buildinf:"
_GO_BYTES = 16 * 1024
_GO_MODULE = re.compile(rb"\nmod\t([^\t\n]+)\t")
_GO_MOD = re.compile(r"^\s*module\s+\"?([^\s\"]+)", re.M)
_NO_SOURCES = frozenset(("node_modules", "vendor", "testdata", "target"))
_MAX_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CheckoutProgram:
    """A program on PATH that runs the checkout's code, and how it is tied to the checkout."""

    name: str
    place: Path
    reason: str
    # True: it contains a copy of the code. False: it runs the files at the checkout's path.
    copied: bool = False


@dataclass(frozen=True, slots=True)
class GoProject:
    """The Go modules of a tree, and the names that `go install` may give to their programs."""

    modules: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


def checkout_programs(path: str, checkout: Path, go: GoProject) -> dict[str, CheckoutProgram]:
    """Programs of the checkout that a command without a path starts, by name."""
    root = checkout.resolve()
    found: dict[str, CheckoutProgram] = {}
    earlier_names: set[str] = set()
    for folder in dict.fromkeys(word for word in path.split(os.pathsep) if word.startswith("/")):
        if Path(os.path.realpath(folder)).is_relative_to(root):
            continue  # the checkout's environments: the interpreter reports what they import
        names, programs = _programs_in(folder, _modified_at(folder), root, go)
        found |= {one.name: one for one in programs if one.name not in earlier_names}
        earlier_names |= names
    return found


def _modified_at(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError:
        return 0


@lru_cache(maxsize=256)
def _programs_in(
    folder: str, _mtime: int, root: Path, go: GoProject
) -> tuple[frozenset[str], tuple[CheckoutProgram, ...]]:
    """The names of all programs in a folder, and the programs that belong to the checkout."""
    names, found = set[str](), list[CheckoutProgram]()
    cargo_names = _installed_by_cargo(Path(folder).parent, root)
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError:
        return frozenset(), ()
    real_folder = os.path.realpath(folder)
    of_system = real_folder in _OF_SYSTEM
    for entry in entries:
        names.add(entry.name)
        place, is_link = Path(entry.path), entry.is_symlink()
        if of_system and not is_link:
            continue
        # thousands of programs: only links are followed
        real = Path(os.path.realpath(place) if is_link else f"{real_folder}/{entry.name}")
        if entry.name in cargo_names:
            found.append(CheckoutProgram(entry.name, place, "was installed by cargo from your checkout", copied=True))
        elif program := _checkout_program(entry.name, place, real, root, go):
            found.append(program)
    return frozenset(names), tuple(found)


def _checkout_program(name: str, place: Path, real: Path, root: Path, go: GoProject) -> CheckoutProgram | None:
    if _is_source(real, root):
        return CheckoutProgram(name, place, f"leads to {real}")
    head = _head(real)
    if _PYTHON.match(head):
        return _python_program(name, place, real, head, root)
    if head.startswith(b"#!"):
        return _script(name, place, real, head, root)
    # Compare names first: reading every program is slow.
    if name in go.names and (module := _go_module(real)) in go.modules:
        return CheckoutProgram(name, place, f"was built from the Go module {module}", copied=True)
    return None


def _is_source(file: Path, root: Path) -> bool:
    """True for a file in the checkout outside of its environments."""
    return file.is_relative_to(root) and not _ENVIRONMENT.search(file.relative_to(root).as_posix())


def _head(real: Path) -> bytes:
    try:
        if not stat.S_ISREG(real.stat().st_mode):
            return b""
        with real.open("rb") as file:
            start = file.read(4)
            return start + file.read(_SCRIPT_BYTES) if start.startswith(b"#!") else start
    except OSError:
        return b""


def _script(name: str, place: Path, real: Path, head: bytes, root: Path) -> CheckoutProgram | None:
    """A wrapper script that starts a file of the checkout, by absolute path or through a link beside the script."""
    body = head.partition(b"\n")[2].decode("utf-8", "replace")
    if f"{root}/" in body:
        return CheckoutProgram(name, place, f"starts a file of {root}")
    for word in _BESIDE.findall(body):
        target = Path(os.path.realpath(real.parent / word))
        if _is_source(target, root):
            return CheckoutProgram(name, place, f"starts {target}")
    return None


def _python_program(name: str, place: Path, real: Path, head: bytes, root: Path) -> CheckoutProgram | None:
    line, _, body = head.partition(b"\n")
    interpreter = Path(os.fsdecode(line[2:].split()[0]))
    prefixes = {interpreter.parent.parent, real.parent.parent, place.parent.parent}
    for prefix in sorted(prefixes):
        if source := _console_scripts(prefix, root).get(name):
            editable, folder = source
            if editable:
                return CheckoutProgram(name, place, f"is an editable install of {folder}")
            return CheckoutProgram(name, place, f"is a copy that was installed from {folder}", copied=True)
    if f"{root}/".encode() in body:
        return CheckoutProgram(name, place, f"starts a file of {root}")
    return None


@lru_cache(maxsize=256)
def _console_scripts(prefix: Path, root: Path) -> Mapping[str, tuple[bool, str]]:
    """The programs of packages installed from the checkout: (is editable, source folder) by name."""
    found: dict[str, tuple[bool, str]] = {}
    for pattern in _PACKAGES:
        for packages in _glob(prefix, pattern):
            for record in _glob(packages, "*.dist-info/direct_url.json"):
                source, editable = direct_source(record)
                if source and source.is_relative_to(root):
                    names = _entry_points(record.parent / "entry_points.txt")
                    found |= {name: (editable, str(source)) for name in names}
            for link in _glob(packages, "*.egg-link"):
                source = Path(os.path.realpath(read_start(link).partition("\n")[0].strip() or "/"))
                if source.is_relative_to(root):
                    for metadata in _glob(source, "*.egg-info/entry_points.txt"):
                        found |= {name: (True, str(source)) for name in _entry_points(metadata)}
    return found


def direct_source(record: Path) -> tuple[Path | None, bool]:
    """The folder that a distribution was installed from, and whether it is used in place."""
    try:
        direct = json.loads(read_start(record))
        url = urlsplit(str(direct["url"]))
        editable = bool(direct.get("dir_info", {}).get("editable"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, False
    return (Path(os.path.realpath(unquote(url.path))) if url.scheme == "file" else None), editable


def _entry_points(file: Path) -> list[str]:
    parser = ConfigParser(interpolation=None, delimiters=("=",), strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(read_start(file))
    except ConfigError:
        return []
    return [name for group in ("console_scripts", "gui_scripts") if parser.has_section(group) for name in parser[group]]


def _installed_by_cargo(prefix: Path, root: Path) -> frozenset[str]:
    """Programs that `cargo install --path` built from the checkout, according to .crates.toml."""
    try:
        table = parse_toml(read_start(prefix / ".crates.toml")).get("v1", {})
    except (ValueError, RecursionError):
        return frozenset()
    pairs = table.items() if isinstance(table, dict) else ()
    return frozenset(
        str(name)
        for crate, names in pairs
        if isinstance(names, list) and (source := re.search(r"\(path\+file://([^)#]+)", crate))
        if Path(os.path.realpath(unquote(source[1]))).is_relative_to(root)
        for name in names
    )


def go_project(tree: Path, read: ReadFolder = read_folder) -> GoProject:
    """The modules of the tree's go.mod files, and the names of its source folders."""
    modules, names = set[str](), set[str]()
    for place, folders, files in walk_folders(tree, read):
        folders[:] = [name for name in folders if name[0] not in "._" and name not in _NO_SOURCES]
        if "go.mod" in files and (found := _GO_MOD.search(read_start(Path(place, "go.mod")))):
            modules.add(found[1])
            parts = [part for part in found[1].split("/") if not re.fullmatch(r"v\d+", part)]
            names.add(re.sub(r"\.v\d+$", "", parts[-1]) if parts else "")
        if any(file.endswith(".go") for file in files):
            names.add(os.path.basename(place))
    return GoProject(frozenset(modules), frozenset(names)) if modules else GoProject()


def _go_module(program: Path) -> str:
    """The main module of a Go program; "" for other files."""
    try:
        with program.open("rb") as file:
            if not 0 < os.fstat(file.fileno()).st_size <= _MAX_BYTES:
                return ""
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                start = data.find(_GO_MAGIC)
                found = _GO_MODULE.search(data[start : start + _GO_BYTES]) if start >= 0 else None
    except (OSError, ValueError):
        return ""
    return found[1].decode("utf-8", "replace") if found else ""


def read_start(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(1024 * 1024).decode("utf-8", "replace")
    except OSError:
        return ""


def _glob(place: Path, pattern: str) -> Iterator[Path]:
    try:
        yield from sorted(place.glob(pattern))
    except OSError:
        return


# -- program report -------------------------------------------------------------------------------
# Detects tests that start a program of the user's checkout: a script in its place on PATH reports the start.
#
# An installed program that no test starts does no harm, so it does not stop a run. A program that the test command
# installs again (`go install ./... && go test ./...`) belongs to the tree and is started.

_FOLDER, _STARTED = "programs", "started"
_SCRIPT = """#!/bin/sh
# written by burnish for this check
if [ {place} -nt "$0" ] || [ "$(readlink -f -- {place})" != {real} ]; then exec {place} "$@"; fi
echo {name} >> {started}
echo {message} >&2
exit 127
"""


def with_program_report(
    spec: CheckSpec, place: Placement, report_dir: Path, env: Mapping[str, str], read: ReadFolder
) -> tuple[Mapping[str, str], dict[str, CheckoutProgram]]:
    """The environment in which this check reports such starts, and the programs."""
    if place.checkout is None or spec.name == "origins" or not runs_tests(spec):
        return env, {}
    root, home = place.checkout.resolve(), Path(os.path.realpath(env.get("HOME", "/")))
    if home.is_relative_to(root):
        return env, {}  # the home is inside the checkout, so all of the user's programs are
    programs = checkout_programs(env.get("PATH", os.defpath), root, go_project(place.files, read))
    # If the tree is mounted at the checkout's path, links to the checkout lead to the tree.
    is_mounted = place.path.resolve() == root
    foreign_programs = {
        name: program for name, program in programs.items() if _is_foreign(program, place, is_mounted=is_mounted)
    }
    if not foreign_programs:
        return env, {}
    folder = report_dir / _FOLDER
    folder.mkdir()
    for name, program in foreign_programs.items():
        script = folder / name
        script.write_text(_text(program, report_dir / _STARTED))
        script.chmod(0o755)
    return {**env, "PATH": f"{folder}{os.pathsep}{env.get('PATH', os.defpath)}"}, foreign_programs


def _is_foreign(program: CheckoutProgram, place: Placement, *, is_mounted: bool) -> bool:
    if not program.copied:
        return not is_mounted
    if place.home and program.place.is_relative_to(place.home[0]):
        # Set-up may have installed it from this tree; then checks find that copy.
        home, home_layer = place.home
        if os.path.lexists(home_layer / program.place.relative_to(home)):
            return False
    try:
        # `checks.build` may have installed it from this tree
        return program.place.stat().st_mtime < place.made_at or place.made_at == 0
    except OSError:
        return False


def _text(program: CheckoutProgram, started_file: Path) -> str:
    words = {
        "name": program.name,
        "place": str(program.place),
        "real": os.path.realpath(program.place),
        "started": str(started_file),
        "message": f"{program.name}: {program.place} {program.reason}; it is not the program of the tree under test",
    }
    return _SCRIPT.format(**{key: shlex.quote(value) for key, value in words.items()})


def started_elsewhere(report_dir: Path, programs: Mapping[str, CheckoutProgram]) -> CheckoutProgram | None:
    """The first program of the checkout that was started."""
    if not programs:
        return None
    try:
        names = (report_dir / _STARTED).read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    return next((programs[name] for name in names if name in programs), None)


def program_problem(program: CheckoutProgram, *, is_confined: bool) -> tuple[str, str]:
    """The problem with tests that started it, and the hint."""
    problem = f"they start {program.name}, which is {program.place}: it {program.reason}"
    if program.copied:
        hint = (
            "Build or start the tree's program in the tests (`go run ./cmd/calc`, `cargo run`, `python -m "
            f"calc`), or install it in the test command or in {'workspace.setup' if is_confined else 'checks.build'}"
        )
    else:
        hint = (
            "Start the tree's program in the tests (`node cli.js`, `python -m calc`), or install bubblewrap: "
            "in a sandbox the name leads to the tree"
        )
    return problem, hint

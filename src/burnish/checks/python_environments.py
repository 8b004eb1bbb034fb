"""Finds the Python environments that a check can start, and the modules that can be imported from them.

Starts no program. Environments are named by path (`~/.virtualenvs/calc/bin/python`), or by a name for conda,
virtualenvwrapper or pyenv (`conda run -n calc`, `workon calc`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from burnish.folder_walk import walk_folders
from burnish.regular_files import read_regular

_SCRIPT = re.compile(
    r"[^/]*\.(?:sh|bash|zsh|mk|just|py)|GNUmakefile|[Mm]akefile|[Jj]ustfile|Taskfile\.ya?ml|\.env(?:rc)?"
    r"|tox\.(?:ini|toml)|setup\.cfg|pyproject\.toml|package\.json"
)
# Python files are read in folders for scripts only, not in the project and its tests.
_SCRIPT_FOLDERS = frozenset(("", "bin", "ci", ".ci", "script", "scripts", "tool", "tools", "dev", "hack", "make"))
_SKIPPED = frozenset((".git", ".github", ".tox", ".nox", "docs", "doc", "node_modules", "target", "vendor"))
_SCRIPT_BYTES = 128 * 1024
_MAX_SCRIPTS = 2000
_MAX_PATHS = 500
_HOME = r"~|\$HOME|\$\{HOME\}|\$\(HOME\)|\$ENV\{HOME\}"
_PATH = re.compile(rf"(?<![\w.~$/-])(?:{_HOME})?/[\w./@+-]{{3,300}}")
_TOX_FOLDER = re.compile(r"(?:--workdir|\b(?:work_dir|toxworkdir|TOX_WORK_DIR))[ \t]*[= ][ \t]*[\"']?([\w./@~{}:$-]+)")
_NAMED = re.compile(r"(?:\s(?:-n|--name)[\s=]+|\bactivate\s+|\bworkon\s+|\bpyenv\s+(?:shell|local)\s+)[\"']?([\w.-]+)")
_INTERPRETER = re.compile(r"(?<![\w./-])(?:python|pypy)\d[\d.]*")
_STARTED = ("python", "python3", "pytest", "py.test")
# Folders of named environments, below the home directory.
_NAMED_FOLDERS = (
    *(".virtualenvs", ".conda/envs", "micromamba/envs", "mamba/envs", ".local/share/mamba/envs", ".pyenv/versions"),
    *(f"{name}/envs" for name in ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "miniconda", "anaconda")),
)
# Folders in which tools create one environment per project.
_PROJECT_FOLDERS = (
    *(".cache/pypoetry/virtualenvs/*", ".local/share/pdm/venvs/*", ".local/share/virtualenvs/*", ".venvs/*"),
    ".local/share/hatch/env/virtual/*/*/*",
)
# Shims of version managers start a program in one of these.
_SHIM_VERSIONS = ("versions/*", "versions/*/envs/*", "installs/python/*")


def script_texts(tree: Path) -> dict[str, str]:
    """The texts of the scripts and build files of a tree, by path, up to a limit."""
    found: dict[str, str] = {}
    for place, folders, files in walk_folders(tree):
        folders[:] = [name for name in folders if name not in _SKIPPED and not Path(place, name, "pyvenv.cfg").exists()]
        folder = Path(place).relative_to(tree).as_posix().removeprefix(".")
        for name in sorted(files):
            if len(found) >= _MAX_SCRIPTS:
                return found
            if name.endswith(".py") and folder not in _SCRIPT_FOLDERS:
                continue
            if _SCRIPT.fullmatch(name) or ("." not in name and _is_script(Path(place, name))):
                data = read_regular(Path(place, name), longest=_SCRIPT_BYTES) or b""
                found[f"{folder}/{name}".lstrip("/")] = data.decode(errors="replace")
    return found


def _is_script(file: Path) -> bool:
    return (read_regular(file, longest=2) or b"") == b"#!"


def environments_on_path(path: str, texts: Iterable[str] = ()) -> Iterator[Path]:
    """The environments of the interpreters and test runners on PATH."""
    names = {*_STARTED, *(name for text in texts for name in _INTERPRETER.findall(text))}
    for name in sorted(names):
        if program := shutil.which(name, path=path):
            yield from (Path(program).parent.parent, *prefixes_of(Path(program)))
            if Path(program).parent.name == "shims":
                yield from (prefix for versions in _SHIM_VERSIONS for prefix in _glob(_above(program), versions))


def _above(program: str) -> Path:
    return Path(program).parent.parent


def environments_named(texts: Iterable[str], env: Mapping[str, str]) -> Iterator[Path]:
    """The environments that a text names by path or by name."""
    home = Path(env.get("HOME", "/"))
    for text in texts:
        for path in list(dict.fromkeys(_PATH.findall(text)))[:_MAX_PATHS]:
            place = Path(re.sub(rf"^(?:{_HOME})", lambda _: str(home), path))
            # `calc/bin/python`, `calc/bin`, `calc`
            yield from (one for one in (place.parent.parent, place.parent, place) if _is_environment(one))
        for name in dict.fromkeys(_NAMED.findall(text)):
            yield from _known_by_name(name, home, env.get("PATH", ""))


def shared_tox_environments(command: str, texts: Iterable[str], env: Mapping[str, str]) -> Iterator[Path]:
    """The environments of tox in a work directory outside of the tree: `work_dir = {env:HOME}/.cache/tox`."""
    names = (
        match[1]
        for text in (command, f"TOX_WORK_DIR={env.get('TOX_WORK_DIR', '')}", *texts)
        if (match := _TOX_FOLDER.search(text))
    )
    # The command line overrides the variable, and that the settings.
    folder = re.sub(rf"^(?:{_HOME}|\{{env:HOME\}}|\{{homedir\}})", lambda _: env.get("HOME", "/"), next(names, ""))
    yield from (
        place for place in (_glob(Path(folder), "*") if folder.startswith("/") else ()) if _is_environment(place)
    )


def known_environments(env: Mapping[str, str]) -> Iterator[Path]:
    """All environments in the usual folders of conda, virtualenvwrapper, Poetry, PDM and others."""
    home = Path(env.get("HOME", "/"))
    for pattern in (*(f"{folder}/*" for folder in _NAMED_FOLDERS), *_PROJECT_FOLDERS):
        yield from _glob(home, pattern)
    yield from _listed_by_conda(home)


def _listed_by_conda(home: Path) -> Iterator[Path]:
    text = (read_regular(home / ".conda" / "environments.txt", longest=_SCRIPT_BYTES) or b"").decode(errors="replace")
    yield from (Path(line) for line in text.splitlines() if line.startswith("/"))


def _known_by_name(name: str, home: Path, path: str) -> Iterator[Path]:
    roots = [home / folder for folder in _NAMED_FOLDERS]
    roots += [
        _above(os.path.realpath(found)) / "envs"
        for tool in ("conda", "mamba")
        if (found := shutil.which(tool, path=path))
    ]
    yield from (root / name for root in roots if _is_environment(root / name))
    yield from (place for place in _listed_by_conda(home) if place.name == name)


def _is_environment(place: Path) -> bool:
    try:
        return (place / "pyvenv.cfg").is_file() or (place / "conda-meta").is_dir()
    except OSError:
        return False


def _glob(place: Path, pattern: str) -> list[Path]:
    try:
        return sorted(place.glob(pattern))
    except OSError:
        return []


# -- environment modules --------------------------------------------------------------------------
# Lists the modules that a test run can import from installed packages, without starting a program.

_ENTRY = re.compile(r"([A-Za-z_]\w*)(?:\.py|(?:\.[\w-]+)?\.so|)$")
_PACKAGES = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages")
_ENVIRONMENTS = (".venv", "venv", "env", ".tox/*", ".nox/*")
_PROGRAMS = ("python3", "python", "pytest", "py.test", "coverage", "tox", "nox", "uv", "hatch", "poetry", "pdm")
_IN_BIN = re.compile(r"([^\s;&|'\"=]+)/bin/[\w.-]+")
# Distributions often install these by mistake, and many projects have folders of these names.
_ORDINARY = frozenset(
    "test tests testing doc docs example examples sample samples script scripts tool tools bin build dist benchmark "
    "benchmarks bench ci data assets src lib app".split()
)


def environment_modules(
    roots: Iterable[Path], *, path: str, home: Path, commands: Iterable[str] = ()
) -> frozenset[str]:
    """The top-level names in environments below `roots`, of the programs on PATH, and of those that commands name."""
    names: set[str] = set()
    for place in dict.fromkeys(_places(roots, path, home, commands)):
        names |= _names(place)
    return frozenset(names - _ORDINARY)


def _places(roots: Iterable[Path], path: str, home: Path, commands: Iterable[str]) -> Iterator[Path]:
    folders = list(roots)
    prefixes = [prefix for root in folders for pattern in _ENVIRONMENTS for prefix in _glob(root, pattern)]
    prefixes += [Path(entry).parent for entry in path.split(os.pathsep) if entry.startswith("/")]
    for name in _PROGRAMS:
        if program := shutil.which(name, path=path):
            prefixes += prefixes_of(Path(program))
    for words in commands:
        for bin_prefix in _IN_BIN.findall(words):
            absolute_prefix = bin_prefix.replace("~", str(home), 1) if bin_prefix.startswith("~/") else bin_prefix
            prefixes += [root / absolute_prefix for root in folders]
    for prefix in (*prefixes, home / ".local"):
        for pattern in _PACKAGES:
            yield from _glob(prefix, pattern)


def prefixes_of(program: Path) -> Iterator[Path]:
    """Prefixes of a program's interpreter: beside the program, at the link target, or from its first line."""
    yield Path(os.path.realpath(program)).parent.parent
    try:
        with program.open("rb") as file:
            line = file.readline(400)
    except OSError:
        return
    if line.startswith(b"#!/"):
        interpreter = Path(os.fsdecode(line[2:].split()[0]))
        yield interpreter.parent.parent
        yield Path(os.path.realpath(interpreter)).parent.parent


def _names(place: Path) -> set[str]:
    try:
        entries = sorted(entry.name for entry in place.iterdir())
    except OSError:
        return set()
    found = {match[1] for entry in entries if (match := _ENTRY.match(entry)) and not entry.startswith("__")}
    for entry in entries:
        if entry.endswith(".dist-info"):
            found -= _copied_from_sources(place / entry)
    return found


def _copied_from_sources(info: Path) -> set[str]:
    """The modules of a project that was installed from a folder, which is a copy of the tree."""
    try:
        direct = json.loads((info / "direct_url.json").read_bytes())
        record = (info / "RECORD").read_text("utf-8", "replace")
    except (OSError, ValueError):
        return set()
    if not isinstance(direct, dict) or "dir_info" not in direct:
        return set()
    heads = {line.split(",")[0].split("/")[0] for line in record.splitlines()}
    return {match[1] for head in heads if (match := _ENTRY.match(head))}

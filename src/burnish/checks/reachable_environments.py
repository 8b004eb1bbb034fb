"""Finds the Python environments that a check can start: on PATH, and those named in its command and scripts.

Starts no program. Environments are named by path (`~/.virtualenvs/calc/bin/python`), or by a name for conda,
virtualenvwrapper or pyenv (`conda run -n calc`, `workon calc`).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from burnish.checks.environment_modules import prefixes_of
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
_MOST_SCRIPTS = 2000
_MOST_PATHS = 500
_HOME = r"~|\$HOME|\$\{HOME\}|\$\(HOME\)|\$ENV\{HOME\}"
_PATH = re.compile(rf"(?<![\w.~$/-])(?:{_HOME})?/[\w./@+-]{{3,300}}")
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
            if len(found) >= _MOST_SCRIPTS:
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
        for path in list(dict.fromkeys(_PATH.findall(text)))[:_MOST_PATHS]:
            place = Path(re.sub(rf"^(?:{_HOME})", lambda _: str(home), path))
            # `calc/bin/python`, `calc/bin`, `calc`
            yield from (one for one in (place.parent.parent, place.parent, place) if _is_environment(one))
        for name in dict.fromkeys(_NAMED.findall(text)):
            yield from _known_by_name(name, home, env.get("PATH", ""))


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

"""Doctests in modules: projects enable them by an option and paths in tox.ini or a Makefile."""

from __future__ import annotations

import re
import shlex

from burnish.checks.tools import ProjectFolder

OPTION = "--doctest-modules"
# where tox has installed the project, and where the repository is
_INSTALLED = re.compile(r"\{(?:env_?site_?packages_?dir)\}/")
_ROOT = re.compile(r"\{(?:tox_root|toxinidir)\}/?")


def doctest_options(place: ProjectFolder) -> tuple[str, ...]:
    """The option and the paths that the project passes with it; () without doctests or for unknown paths."""
    text = "\n".join(place.read(name) for name in ("tox.ini", "Makefile")).replace("\\\n", " ")
    for line in text.splitlines():
        if re.search(r"\b(?:pytest|py\.test)\b", line) and OPTION in line:
            return _options(place, line)
    return ()


def _options(place: ProjectFolder, line: str) -> tuple[str, ...]:
    _, _, arguments = re.sub(r"\{posargs[^}]*\}|#.*", "", line).partition("pytest")
    try:
        words = [word for word in shlex.split(arguments) if not word.startswith("-")]
    except ValueError:
        return ()
    paths = [_path(place, word) for word in words]
    return (OPTION, *paths) if paths and all(paths) else ()


def _path(place: ProjectFolder, word: str) -> str:
    """The path in the repository that an argument names, "" if there is none."""
    candidates = [_ROOT.sub("", word).rstrip("/")]
    if _INSTALLED.match(word):
        name = _INSTALLED.sub("", word).rstrip("/")
        candidates = [name, f"src/{name}"]
    return next((one for one in candidates if one and _exists(place, one)), "")


def _exists(place: ProjectFolder, path: str) -> bool:
    return path in place.paths or any(other.startswith(f"{path}/") for other in place.paths)

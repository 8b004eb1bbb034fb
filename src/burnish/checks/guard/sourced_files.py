"""Files that the scripts of checks start or source, and that makefiles include: each can end a check early."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from burnish.checks.guard.commands import scripts_run_by

# The depth of scripts that source scripts.
_DEEPEST = 5
# Per tree; projects usually have a few.
_MOST_SCRIPTS = 200
_KEYWORD = re.compile(r"(?:^|(?<=[\s;&|({]))(?:then|do|else|elif|if|while|until|!|\{|@|-)(?=\s|\S*$)")
# `"$(dirname "$0")/lib.sh"`, `${BASH_SOURCE%/*}/lib.sh`, `$ROOT/ci/lib.sh`: the folder before the path is unknown
_PREFIX = re.compile(r"\$(?:\((?:[^()]|\([^()]*\))*\)|\{[^}]*\}|\w+)[\"']?/")
_INCLUDE = re.compile(r"^[ ]*(?:-?include|sinclude|!?import\??)[ \t]+(.+)$", re.MULTILINE)
_MAKEFILES = frozenset(("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile"))
# by their ending, or without one
_SHELL = re.compile(r"(?:^|/)\.?[^./]*$|\.(?:sh|bash|zsh|ksh|dash|bats|inc|env|mk)$")


def scripts_behind(
    all_commands: Iterable[str], paths: Collection[str], read: Callable[[Sequence[str]], Mapping[str, str]]
) -> frozenset[str]:
    """The scripts that commands run in a tree, and those that these source, down to a limit."""
    commands, paths = list(all_commands), frozenset(paths)
    found = set(scripts_run_by(commands, paths))
    if any(re.search(r"\b(?:g?make|just)\b", command) for command in commands):
        found |= {path for path in paths if path in _MAKEFILES}
    pending = found
    for _ in range(_DEEPEST):
        contents = read(sorted(path for path in pending if _SHELL.search(path)))
        pending = {new for path, text in contents.items() for new in _sourced_by(path, text, paths)} - found
        found |= pending
        if not pending or len(found) > _MOST_SCRIPTS:
            break
    return frozenset(found)


def _sourced_by(path: str, content: str, paths: frozenset[str]) -> frozenset[str]:
    folder = posixpath.dirname(path) or "."
    if path.rpartition("/")[2] in _MAKEFILES or path.endswith(".mk"):
        words = {word.strip("'\"").removeprefix("./") for line in _INCLUDE.findall(content) for word in line.split()}
        return frozenset(words | {posixpath.normpath(f"{folder}/{word}") for word in words}) & paths
    lines = (_PREFIX.sub("", line).replace('"', "").replace("'", "") for line in content.split("\n")[:5000])
    commands = (f"cd {folder}; {_KEYWORD.sub(';', line)}" for line in lines if line.strip() and line.lstrip()[0] != "#")
    return scripts_run_by(commands, paths)

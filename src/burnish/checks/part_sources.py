"""Which other parts of the repository the sources of a part use. Pure.

Project files do not tell everything: a `conftest.py` puts `../lib` on the path, a module imports `../../shared/rates`.
A use that is not there only makes a check run more often, so doubtful cases count.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from burnish.checks.tools import Read

# A part with more files is not read; its checks then run for every change.
MOST_SOURCES = 1000
_SOURCE = re.compile(r".*\.(?:py|pyi|[cm]?[jt]sx?|vue|svelte|rb|sh|mk|go|rs|java|kt|c|h|cc|cpp|hpp)")
_RELATIVE = re.compile(r"\.\./[\w./@-]*")
# `join("..", "lib")` and `parent / "lib"` name the same folder as "../lib"
_JOINED = re.compile(r"""["']\s*,\s*["']""")
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+))", re.M)
_SOURCE_FOLDERS = ("src/", "lib/", "")
_NO_MODULES = re.compile(
    r"(?:test_.*|.*_test|tests?|testing|conftest|setup|noxfile|tasks|manage|docs?|examples?|__init__)"
)


def read_sources(part: str, paths: Sequence[str], read: Read) -> dict[str, str] | None:
    """The sources of a part by path; None if there are too many."""
    inside = [path for path in paths if path.startswith(f"{part}/") and _SOURCE.fullmatch(path)]
    return {path: read(path) or "" for path in inside} if len(inside) <= MOST_SOURCES else None


def find_modules(part: str, paths: Sequence[str]) -> set[str]:
    """The top-level Python modules and packages of a part."""
    inside = (path.removeprefix(f"{part}/") for path in paths if path.startswith(f"{part}/") and path.endswith(".py"))
    found = set()
    for path in inside:
        for folder in _SOURCE_FOLDERS:
            if path.startswith(folder):
                found.add(path.removeprefix(folder).partition("/")[0].removesuffix(".py"))
    return {name for name in found if not _NO_MODULES.fullmatch(name)}


def sources_use(part: str, other: str, sources: dict[str, str], paths: Sequence[str]) -> bool:
    modules = find_modules(other, paths) - find_modules(part, paths)
    return any(_file_uses(path, text, part, other, modules) for path, text in sources.items())


def _file_uses(path: str, text: str, part: str, other: str, modules: set[str]) -> bool:
    joined = _JOINED.sub("/", text)
    # tests read files from the folder that they run in, imports start from the file's own
    bases = (posixpath.dirname(path), part)
    targets = {posixpath.normpath(f"{base}/{match[0]}") for match in _RELATIVE.finditer(joined) for base in bases}
    if any(target == other or target.startswith(f"{other}/") for target in targets):
        return True
    if not path.endswith((".py", ".pyi")):
        return False
    if re.search(rf"""/\s*["'](?:[\w.-]+/)*{re.escape(posixpath.basename(other))}["'/]""", text):
        return True
    return any(_is_of(name, other, modules) for name in _imported_names(text))


def _imported_names(text: str) -> set[str]:
    found = set()
    for match in _IMPORT.finditer(text):
        listed = match[1] or match[2]
        found |= {name.split()[0] for name in listed.split(",") if name.strip()}
    return found


def _is_of(name: str, other: str, modules: set[str]) -> bool:
    dotted = other.replace("/", ".")
    return name.partition(".")[0] in modules or name == dotted or name.startswith(f"{dotted}.")

"""Finds which other parts of the repository the sources of a part use. Pure.

Project files do not tell everything: a `conftest.py` puts `../lib` on the path, a module imports `../../shared/rates`.
A false positive only makes a check run more often, so doubtful cases count as used.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Sequence

from burnish.checks.tools import Read

# A part with more files is not read; its checks then run for every change.
MOST_SOURCES = 1000
_SOURCE = re.compile(r".*\.(?:py|pyi|[cm]?[jt]sx?|vue|svelte|rb|sh|mk|go|rs|java|kt|c|h|cc|cpp|hpp)")
_RELATIVE = re.compile(r"\.\./[\w./@-]*")
# `join("..", "lib")` and `parent / "lib"` name the same folder as "../lib"
_JOINED = re.compile(r"""["']\s*,\s*["']""")
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import(?:[ \t]+\(?([\w., \t]+))?|import[ \t]+([\w., \t]+))", re.M
)
_IMPORTED_BY_NAME = re.compile(r"""\b(?:import_module|importorskip|__import__)\(\s*["']([\w.]+)""")
_SOURCE_FOLDERS = ("src/", "lib/", "")
_NO_MODULES = re.compile(
    r"(?:test_.*|.*_test|tests?|testing|conftest|setup|noxfile|tasks|manage|docs?|examples?|__init__)"
)


def read_sources(part: str, paths: Sequence[str], read: Read) -> dict[str, str] | None:
    """The sources of a part by path; None if there are too many."""
    inside = [path for path in paths if path.startswith(f"{part}/") and _SOURCE.fullmatch(path)]
    return {path: read(path) or "" for path in inside} if len(inside) <= MOST_SOURCES else None


def find_modules(part: str, paths: Sequence[str]) -> set[str]:
    """The top-level Python modules and packages of a part; of a namespace package those in it, as `acme.core`."""
    start = f"{part}/"
    inside = {path.removeprefix(start) for path in paths if path.startswith(start) and path.endswith(".py")}
    found = set()
    for path in inside:
        for folder in _SOURCE_FOLDERS:
            if path.startswith(folder):
                found.add(_module(path.removeprefix(folder), folder, inside))
    return {name for name in found if not _NO_MODULES.fullmatch(name.partition(".")[0])}


def _module(path: str, folder: str, inside: Collection[str]) -> str:
    top, _, rest = path.partition("/")
    if not rest or f"{folder}{top}/__init__.py" in inside:
        return top.removesuffix(".py")
    return f"{top}.{rest.partition('/')[0].removesuffix('.py')}"


def sources_use(
    part: str, other: str, sources: dict[str, str], paths: Sequence[str], names: Iterable[str] = ()
) -> bool:
    """True if a source names the other part. `names`: its names in imports (Go module, npm package, alias)."""
    modules = find_modules(other, paths) - find_modules(part, paths)
    name_pattern = re.compile("|".join(rf"""["'`]{re.escape(name)}["'`/]""" for name in names if name) or "(?!)")
    if any(name_pattern.search(text) for text in sources.values()):
        return True
    return any(_file_uses(path, text, part, other, modules) for path, text in sources.items())


def _file_uses(path: str, text: str, part: str, other: str, modules: set[str]) -> bool:
    joined_text = _JOINED.sub("/", text)
    # Tests read files relative to the working directory; imports are relative to the file.
    bases = (posixpath.dirname(path), part)
    targets = {posixpath.normpath(f"{base}/{match[0]}") for match in _RELATIVE.finditer(joined_text) for base in bases}
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
        names = {name.split()[0] for name in (match[3] or match[2] or "").split(",") if name.strip()}
        found |= {match[1], *(f"{match[1]}.{name}" for name in names)} if match[1] else names
    return found | set(_IMPORTED_BY_NAME.findall(text))


def _is_of(name: str, other: str, modules: set[str]) -> bool:
    dotted_path = other.replace("/", ".")
    return any(name == module or name.startswith(f"{module}.") for module in (dotted_path, *modules))

"""Files beside the dependency files that an installation reads: versions, requirements, scripts, class maps. Pure."""

from __future__ import annotations

import ast
import configparser
import json
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from burnish.regular_files import parse_toml

# Files that hold the version among other code, or nothing else.
_VERSION_FILE = re.compile(r"(?:^|/)(?:__init__|__about__|__version__|_?version|about)\.py$")
_VERSION_LINE = re.compile(rb"^.*version.*$", re.M | re.I)
# A version that other code of the module does not compute.
_VERSION_TEXT = re.compile(rb"^\w*version\w*\s*(?::[^=\n]*)?=\s*[\"'][^\"'\n]*[\"']\s*(?:#.*)?$", re.M | re.I)
_CLASS_LINE = re.compile(
    rb"^\s*(?:namespace|(?:abstract |final |readonly )*(?:class|interface|trait|enum))\s[^\n{;]*", re.M
)
# Texts that become part of the description alone.
_DESCRIPTION = re.compile(r"(?:^|/)(?:README|CHANGE\w*|HISTORY|LICEN[CS]E|NEWS|AUTHORS)[^/]*$|\.(?:md|rst)$", re.I)
_MAX_CLASS_FILES = 2000


def build_inputs(contents: Mapping[str, bytes | None], paths: Collection[str]) -> Iterator[str]:
    """The files that the build of a project reads, as its settings name them."""
    readers = {
        "pyproject.toml": _of_pyproject,
        "setup.cfg": _of_setup_cfg,
        "setup.py": _of_setup_script,
        "composer.json": _of_composer,
    }
    files = frozenset(paths)
    for path, data in contents.items():
        folder, name = posixpath.split(path)
        if name in readers and data:
            for entry in readers[name](data.decode("utf-8", "replace")):
                yield from _existing(posixpath.normpath(posixpath.join(folder, entry)), files)


def version_modules(contents: Mapping[str, bytes | None]) -> frozenset[str]:
    """Files of which an installation takes the version alone: `attr = "calc.__version__"` names `calc.py`."""
    found = set()
    for path, data in contents.items():
        folder, name = posixpath.split(path)
        attributes = _VERSION_ATTRIBUTES.get(name)
        for entry in attributes(data.decode("utf-8", "replace")) if attributes and data else ():
            found.add(posixpath.normpath(posixpath.join(folder, entry)))
    return frozenset(found)


def relevant_lines(path: str, data: bytes, modules: Collection[str] = ()) -> bytes | None:
    """The lines of such a file that an installation uses; None for all of it."""
    if _VERSION_FILE.search(path) or (path in modules and _VERSION_TEXT.search(data)):
        return b"\n".join(_VERSION_LINE.findall(data))
    return b"\n".join(_CLASS_LINE.findall(data)) if path.endswith((".php", ".inc")) else None


def _existing(path: str, files: frozenset[str]) -> Iterator[str]:
    """The file, or the PHP files of a folder. Folders of other files are sources, which are not copied."""
    if path in files:
        yield from () if _DESCRIPTION.search(path) else (path,)
    elif path.endswith("/*.php"):
        start = path.removesuffix("*.php")
        inside = sorted(
            one for one in files if one.startswith(start.removeprefix("./")) and one.endswith((".php", ".inc"))
        )
        yield from inside[:_MAX_CLASS_FILES]


def _of_pyproject(text: str) -> Iterator[str]:
    try:
        data = parse_toml(text)
    except (ValueError, RecursionError):
        return
    tool = data.get("tool")
    yield from _texts(_at(tool, "hatch", "version", "path"))
    yield from _texts(_at(tool, "pdm", "version", "path"))
    hooks = _at(tool, "hatch", "build", "hooks", "custom")
    if isinstance(hooks, dict):
        yield str(hooks.get("path") or "hatch_build.py")
    for value in _leaves(_at(tool, "setuptools", "dynamic")):
        yield from _texts(_at(value, "file"))
    yield from _texts(_at(tool, "setuptools", "script-files"))
    yield from _version_of_pyproject(text)


def _version_of_pyproject(text: str) -> Iterator[str]:
    try:
        data = parse_toml(text)
    except (ValueError, RecursionError):
        return
    for value in _leaves(_at(data, "tool", "setuptools", "dynamic")):
        yield from _modules(_texts(_at(value, "attr")))
    fields = _at(data, "project", "dynamic")
    if str(_at(data, "build-system", "build-backend")).startswith("flit_core") and "version" in _texts(fields):
        name = _at(data, "tool", "flit", "module", "name") or _at(data, "project", "name")
        yield from _modules(f"{part}.__version__" for part in _texts(name))


def _of_setup_cfg(text: str) -> Iterator[str]:
    for section, key, value in _options_of(text):
        if match := re.match(r"file:\s*(.*)", value, re.S):
            yield from (one.strip() for one in re.split(r"[,\n]", match[1]) if one.strip())
        elif section == "options" and key == "scripts":
            yield from (one.strip() for one in re.split(r"[,\n]", value) if one.strip())
    yield from _version_of_setup_cfg(text)


def _version_of_setup_cfg(text: str) -> Iterator[str]:
    for _, _, value in _options_of(text):
        if match := re.match(r"attr:\s*([\w.]+)", value):
            yield from _modules([match[1]])


def _options_of(text: str) -> list[tuple[str, str, str]]:
    """Section, key and value of each option of a file in INI format; none if it cannot be read."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return []
    return [(section, key, value) for section in parser.sections() for key, value in parser.items(section)]


def _of_setup_script(text: str) -> Iterator[str]:
    """Each text in it that may be a path, also in parts: `join(here, "calc", "version.py")`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            yield node.value
        elif isinstance(node, ast.Call):
            parts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            yield "/".join(parts[:6])
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield "/".join(_divided(node))


def _divided(node: ast.expr) -> list[str]:
    """The texts of `root / "calc" / "version.py"`."""
    parts: list[str] = []
    while isinstance(node, ast.BinOp):
        if isinstance(node.right, ast.Constant):
            parts.insert(0, str(node.right.value))
        node = node.left
    return parts


def _of_composer(text: str) -> Iterator[str]:
    """The PHP files whose classes composer lists when it installs."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    for key in ("autoload", "autoload-dev"):
        for entry in _texts(_at(data, key, "classmap")):
            yield entry
            yield f"{entry.rstrip('/')}/*.php"


def _modules(names: Iterator[str] | list[str]) -> Iterator[str]:
    """The files that may define `calc.meta.VERSION`."""
    for name in names:
        module = name.rpartition(".")[0].replace(".", "/")
        for start in ("", "src/", "lib/"):
            yield f"{start}{module}.py"
            yield f"{start}{module}/__init__.py"


def _leaves(table: object) -> list[object]:
    """The values of a table, and those of the tables in it."""
    values = list(table.values()) if isinstance(table, dict) else []
    return [*values, *(inner for value in values if isinstance(value, dict) for inner in value.values())]


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str)]


def _at(table: Any, *keys: str) -> Any:
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table


_VERSION_ATTRIBUTES = {"pyproject.toml": _version_of_pyproject, "setup.cfg": _version_of_setup_cfg}

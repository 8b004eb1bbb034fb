"""New files that take precedence over an existing file, which stays in the tree unused."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator

from burnish.checks.guard.protected_files import has_section

Text = Callable[[str], str | None]

_PACKAGE = re.compile(r"^((?:.*/)?)([A-Za-z_]\w*)/__init__\.(?:py|pyc|(?:[\w-]+\.)*(?:so|pyd))$")
_MODULE = re.compile(r"^((?:.*/)?)([A-Za-z_]\w*)((?:\.[\w-]+)*\.(?:so|pyd)|\.py|\.pyc)$")
_SCRIPT = re.compile(r"^(?P<stem>.*?[^/.][^/]*?)(?P<form>(?:/index)?\.(?:[cm]?[jt]s|[jt]sx)|)$")
_FIXTURES = re.compile(r"(?:^|/)_*(?:fixtures?|testdata|test-data|examples?|samples?|playground|templates?)_*/")
_VITE = tuple(f"{name}.config.{ending}" for name in ("vitest", "vite") for ending in "js mjs ts cjs mts cts".split())
# in the order in which make looks for them
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
# Of each row, only the first existing file is read.
_ORDERS: tuple[tuple[str, ...], ...] = (
    ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"),
    MAKEFILES,
    (".cargo/config", ".cargo/config.toml"),
    _VITE,
    (".mocharc.cjs", ".mocharc.js", ".mocharc.yaml", ".mocharc.yml", ".mocharc.jsonc", ".mocharc.json"),
    ("Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"),
    ("rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"),
    ("build.gradle", "build.gradle.kts"),
    ("settings.gradle", "settings.gradle.kts"),
    ("phpunit.xml", "phpunit.dist.xml", "phpunit.xml.dist"),
)
# Files of an order that take part only if they have this section.
_SECTIONS = {"pyproject.toml": "tool.pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}


def module_of(path: str) -> tuple[str, str, int] | None:
    """(folder, name, rank) of a Python module; of several with one name the lowest rank is imported."""
    package = _PACKAGE.match(path)
    found = package or _MODULE.match(path)
    if found is None:
        return None
    rank = 0 if path.endswith(("so", "pyd")) else 1 if path.endswith(".py") else 2
    return found[1], found[2], rank if package else rank + 3


def outranked_modules(old: Collection[str], new: Collection[str]) -> Iterator[tuple[str, str]]:
    """(new path, the path that it replaces) for modules of Python and of JavaScript."""
    new_paths = [path for path in new if path not in old]
    names = {found[:2] for path in new_paths if (found := module_of(path))}
    best: dict[tuple[str, str], tuple[int, str]] = {}
    for path in old if names else ():
        found = module_of(path)
        if found and found[:2] in names:
            best[found[:2]] = min(best.get(found[:2], (9, "")), (found[2], path))
    for path in new_paths:
        found = module_of(path)
        rank, before = best.get(found[:2], (-1, "")) if found else (-1, "")
        if found and before in new and found[2] < rank:
            yield path, before
    yield from _outranked_scripts(new_paths, old, new)


def _outranked_scripts(
    new_paths: Iterable[str], old: Collection[str], new: Collection[str]
) -> Iterator[tuple[str, str]]:
    forms = [f"{index}.{ending}" for index in ("", "/index") for ending in ("js", "ts", "jsx", "tsx", "mjs", "cjs")]
    for path in new_paths:
        found = _SCRIPT.match(path)
        if found is None or _FIXTURES.search(path) or found["form"].startswith("/"):
            continue
        for form in forms:
            before = found["stem"] + form
            if before in old and before in new and _wins(found["form"], form):
                yield path, before
                break


def _wins(form: str, before: str) -> bool:
    """True if, for at least one program, `import "./name"` finds the first form."""
    if form == before or form.startswith(".c") or form == ".mts":
        return False
    if before.startswith("/"):
        return True
    # a module in both kinds is published as `.js` with `.mjs`
    plain = before in (".js", ".jsx", ".mjs", ".cjs")
    return not plain if form == ".mjs" else form != ".ts" or plain


def settings_beside(paths: Iterable[str], there: Collection[str]) -> list[str]:
    """The files whose sections decide whether one of `paths` wins over them, or they over it."""
    folders = {folder for path in paths for folder, _ in _orders_of(path)}
    return [path for folder in sorted(folders) for name in _SECTIONS if (path := folder + name) in there]


def outranked_settings(
    changed_paths: Iterable[str], old: Collection[str], new: Collection[str], old_text: Text, new_text: Text
) -> Iterator[tuple[str, str]]:
    """(path, the settings that it replaces) for settings files of which a program reads one."""
    for folder, order in dict.fromkeys(place for path in changed_paths for place in _orders_of(path)):
        names = [folder + name for name in order]
        before = next((path for path in names if _takes_part(path, old, old_text)), None)
        now = next((path for path in names if _takes_part(path, new, new_text)), None)
        if before and now and now != before and _takes_part(before, new, new_text):
            yield now, before


def _orders_of(path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for order in _ORDERS:
        for name in order:
            if path == name or path.endswith(f"/{name}"):
                yield path.removesuffix(name), order


def _takes_part(path: str, there: Collection[str], text: Text) -> bool:
    section = _SECTIONS.get(posixpath.basename(path))
    return path in there and (section is None or has_section(path, text(path) or "", section))

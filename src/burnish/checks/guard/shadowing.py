"""Files that a check would load instead of its runner, the standard library, an installed package or an older file."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from burnish.checks.guard.commands import targets_hidden_by_files
from burnish.checks.guard.protected_files import has_section
from burnish.checks.import_origins import PYTEST_SETTINGS
from burnish.checks.import_question import PYTHONPATH_SETTING
from burnish.checks.placement import TreeFiles, TreePaths, follow_links
from burnish.core.change import ChangedFile

Text = Callable[[str], str | None]

REASON = (
    "A check loads this file instead of the intended one, so it could run this code instead of the tests, or "
    "pass although the tests fail. Give it another name, or replace the other file."
)
# Directories that a test run puts on the import path, unless they are packages.
_ROOTS = ("src/", "tests/", "test/")
_TEST_FILE = re.compile(r"^(?:test_.*|.*_tests?|conftest)\.py$")
_RUNNERS = frozenset(
    "pytest _pytest pluggy iniconfig py xdist execnet coverage pytest_cov pytest_timeout pytest_asyncio hypothesis "
    "nose nose2 tox nox pip setuptools pkg_resources ruff mypy flake8 pylint packaging pygments exceptiongroup tomli "
    "typing_extensions colorama attr attrs sortedcontainers anyio pytest_mock mypy_extensions pycodestyle pyflakes "
    "mccabe virtualenv filelock platformdirs distlib unittest2 trio twisted behave robot".split()
)
_START = frozenset(("sitecustomize", "usercustomize"))
# `test` is a package of the standard library, and a common name for a project's tests.
_STANDARD = frozenset(sys.stdlib_module_names) - {"test"}
# Names that usually occur in several directories of the import path.
_REPEATED = re.compile(r"^(?:conftest|setup|tests?|test_.*|.*_tests?|__\w+__|noxfile|manage)$")
# A distribution with entry points on the import path is loaded as a pytest plugin.
_DISTRIBUTION = re.compile(r"^(.*/|)[^/]+\.(?:dist-info|egg-info)/")
_ENVIRONMENT = re.compile(
    r"^(?:\.venv|venv|\.tox|\.nox|__pypackages__)/|(?:^|/)(?:site-packages/|node_modules/|pyvenv\.cfg$)"
)
_FIXTURES = re.compile(r"(?:^|/)_*(?:fixtures?|testdata|test-data)_*/")
# Python may load compiled files without reading their sources.
_COMPILED = re.compile(r"(?:^|/)__pycache__/[^/]+\.pyc$")
# Modules of Perl that run tests; `prove -l` and a line `use lib` put `lib` and `t/lib` in front of Perl's own modules.
_PERL_RUNNERS = re.compile(
    r"^((?:.*/)?(?:lib|inc)/(?:Test2/|TAP/|Test/(?=(?:More|Simple|Builder|Tester|Harness)(?:\.pm|/))|App/Prove))[^/]*.*"
)


@dataclass(frozen=True, slots=True)
class Shadow:
    """A file of the change, and what it replaces when it is loaded."""

    path: str
    what: str

    @property
    def title(self) -> str:
        return f"{self.path} shadows {self.what}"


@dataclass(frozen=True, slots=True)
class GuardedTrees:
    """Both trees of a change, the packages installed for its checks, and their commands."""

    old: TreePaths
    new: TreePaths
    installed: Collection[str] = ()
    commands: tuple[str, ...] = ()
    # Set-up and build commands, which run before the checks.
    preparing: tuple[str, ...] = ()
    # The scripts that all of them run and source, see `scripts_behind`.
    scripts: frozenset[str] = frozenset()

    @property
    def all_commands(self) -> tuple[str, ...]:
        return (*self.commands, *self.preparing)


def guarded_trees(
    old: TreeFiles,
    new: TreeFiles,
    *,
    installed_names: Collection[str] = (),
    commands: Iterable[str] = (),
    preparing: Iterable[str] = (),
    scripts: frozenset[str] = frozenset(),
) -> GuardedTrees:
    return GuardedTrees(
        follow_links(old), follow_links(new), installed_names, tuple(commands), tuple(preparing), scripts
    )


def shadows(files: Iterable[ChangedFile], trees: GuardedTrees, old_text: Text, new_text: Text) -> tuple[Shadow, ...]:
    """What the change shadows, one entry per file."""
    changed_files = list(files)
    found: dict[str, str] = {}
    for path, what in _all_shadows(changed_files, trees, old_text, new_text):
        found.setdefault(trees.new.source(path), what)
    return tuple(Shadow(path, what) for path, what in found.items())


def _all_shadows(
    files: list[ChangedFile], trees: GuardedTrees, old_text: Text, new_text: Text
) -> Iterator[tuple[str, str]]:
    old, new = trees.old.paths, trees.new.paths
    for file in files:
        if file.status != "D" and _COMPILED.search(file.path):
            yield file.path, "the source of a module"
    roots = import_folders(new, trees.commands, _set_folders(new_text))
    for path in new:
        if path not in old and _is_installed(path, roots):
            yield path, "installed packages"
        elif path not in old and (perl := _PERL_RUNNERS.match(path)) and perl[1] not in _perl_folders(old):
            yield path, "a module of Perl that runs tests"
    yield from _shadowing_names(trees, roots, import_folders(old, trees.commands, _set_folders(old_text)))
    for path, before in outranked_modules(old, new):
        yield path, before
    touched_paths = {file.path for file in files} | {path for path in new if path not in old}
    yield from outranked_settings(touched_paths, old, new, old_text, new_text)
    yield from _hidden_targets(trees, new_text)


def _perl_folders(paths: Collection[str]) -> Iterator[str]:
    """Where the tree already has modules of these names, as Perl's own test modules do."""
    return (found[1] for path in paths if (found := _PERL_RUNNERS.match(path)))


def _hidden_targets(trees: GuardedTrees, text: Text) -> Iterator[tuple[str, str]]:
    """New files or folders named like a target that is not phony, so that make skips the target."""
    name = next((name for name in MAKEFILES if name in trees.new.paths), None)
    targets = targets_hidden_by_files(text(name) or "", trees.all_commands) if name else set()
    before = {path.partition("/")[0] for path in trees.old.paths} if targets else set()
    for path in trees.new.paths:
        first = path.partition("/")[0]
        if first in targets and first not in before:
            before.add(first)
            yield path, f"the target {first} of the {name}, which is not phony"


def _is_installed(path: str, roots: Collection[str]) -> bool:
    if found := _DISTRIBUTION.match(path):
        return found[1] in roots
    return _ENVIRONMENT.search(path) is not None and not _FIXTURES.search(path)


def _set_folders(text: Text) -> Iterator[str]:
    """Folders in the `pythonpath` of pytest's settings at the root."""
    for name in PYTEST_SETTINGS:
        for value in PYTHONPATH_SETTING.findall(text(name) or ""):
            yield from (word.strip("./") for word in re.split(r"[\s,\"'\[\]]+", value))


def _shadowing_names(
    trees: GuardedTrees, roots: Collection[str], old_roots: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Names on the import path that were not there, or came from another file that is still there."""
    old, new = trees.old.paths, trees.new.paths
    before = _importable(old, old_roots)
    own = {name: path for (root, name), path in before.items() if root in ("", "src/") and path in new}
    for (root, name), path in _importable(new, roots).items():
        if (root, name) in before:
            continue
        if what := _meaning(name, trees.installed):
            yield path, what
        elif name in own and not _REPEATED.match(name):
            yield path, own[name]


def _meaning(name: str, installed_names: Collection[str]) -> str | None:
    if name in _START:
        return "the start-up of Python"
    if name in _STANDARD:
        return f"the module `{name}` of the standard library"
    if name in _RUNNERS:
        return f"the test tool `{name}`"
    return f"the installed package `{name}`" if name in installed_names else None


def import_folders(
    paths: Collection[str], commands: Iterable[str] = (), settings: Iterable[str] = ()
) -> frozenset[str]:
    """Folders ("" or ending in `/`) that a test run puts on the import path: its own, those of test files and settings.

    pytest inserts the first folder above a test file that is not a package.
    """
    packages = {path.removesuffix("__init__.py") for path in paths if path.endswith("/__init__.py")}
    found = {""} | {root for root in _ROOTS if root not in packages}
    for path in paths:
        if "test" not in path:
            continue  # almost every file of a large tree
        folder, _, name = path.rpartition("/")
        if _TEST_FILE.match(name):
            found.add(_above_packages(f"{folder}/" if folder else "", packages))
    words = {word.strip("./") for command in commands for word in re.split(r"[\s;&|()<>'\"=:,]+", command)}
    command_folders = {f"{word}/" for word in words if word} | {f"{word}/src/" for word in words if word}
    command_folders |= {f"{word.rpartition('/')[0]}/" for word in words if word.endswith(".py") and "/" in word}
    command_folders = {folder for folder in command_folders if folder not in packages} | {
        f"{word}/" for word in settings if word
    }
    return frozenset(found | command_folders)


def _above_packages(folder: str, packages: Collection[str]) -> str:
    while folder in packages:
        folder = folder[:-1].rpartition("/")[0]
        folder = f"{folder}/" if folder else ""
    return folder


def _importable(paths: Iterable[str], roots: Collection[str]) -> Mapping[tuple[str, str], str]:
    """Top-level modules: (folder, name) → the file that Python imports."""
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for path in paths:
        if path[: path.rfind("/") + 1] not in roots and "/__init__." not in path:
            continue  # almost every file of a large tree
        module = module_of(path)
        if module and module[0] in roots:
            found[module[:2]] = min(found.get(module[:2], (9, "")), (module[2], path))
    return {place: path for place, (_, path) in found.items()}


# -- precedence -----------------------------------------------------------------------------------
# New files that take precedence over an existing file, which stays in the tree unused.

_PACKAGE = re.compile(r"^((?:.*/)?)([A-Za-z_]\w*)/__init__\.(?:py|pyc|(?:[\w-]+\.)*(?:so|pyd))$")
_MODULE = re.compile(r"^((?:.*/)?)([A-Za-z_]\w*)((?:\.[\w-]+)*\.(?:so|pyd)|\.py|\.pyc)$")
_SCRIPT = re.compile(r"^(?P<stem>.*?[^/.][^/]*?)(?P<form>(?:/index)?\.(?:[cm]?[jt]s|[jt]sx)|)$")
_SAMPLES = re.compile(r"(?:^|/)_*(?:fixtures?|testdata|test-data|examples?|samples?|playground|templates?)_*/")
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
        if found is None or _SAMPLES.search(path) or found["form"].startswith("/"):
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

"""Reads the test dependencies of a Python project: extras, groups, requirements files, tox, nox, hatch."""

from __future__ import annotations

import ast
import configparser
import fnmatch
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from burnish.checks.tools import MAX_OPENED, ProjectFolder, Read
from burnish.regular_files import parse_toml

REQUIREMENTS = re.compile(
    r"(?:requirements[-_.](?:dev|devel|develop|test|tests|testing)|(?:dev|test|tests|testing)[-_.]requirements"
    r"|requirements)\.txt"
)
_FOLDER_OF_REQUIREMENTS = re.compile(r"requirements/([\w.-]+)\.(?:txt)")
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_INSTALLS_ITSELF = re.compile(r"^\s*(?:-e|--editable)?[ =]*\.(?:\[[^\]]*\])?\s*(?:#.*)?$", re.M)
_TEST_WORDS = frozenset({"test", "tests", "testing", "pytest", "unittest", "unittests"})
_DEV_WORDS = frozenset({"dev", "devel", "develop", "development"})
# Extras that tests do not need, and that are often large or not installable everywhere.
_OTHER_WORDS = frozenset(
    "doc docs documentation lint linting format typing types mypy release build publish bench benchmark benchmarks "
    "example examples gpu cuda tpu rocm".split()
)
# an option in `addopts` → the plugin that provides it
_PLUGINS = {
    r"--cov\b|--no-cov\b": "pytest-cov",
    r"(?:^|\s)-n\s*\w|--numprocesses|--dist\b": "pytest-xdist",
    r"--timeout\b": "pytest-timeout",
    r"--benchmark-": "pytest-benchmark",
    r"--reruns\b": "pytest-rerunfailures",
    r"--asyncio-mode|asyncio_mode": "pytest-asyncio",
}
# Environments of hatch in which tests run; `hatch-test` installs these itself.
_HATCH_ENVS = ("default", "test", "tests", "dev", "hatch-test")
_HATCH_TEST = ("pytest", "pytest-mock", "pytest-randomly", "pytest-rerunfailures", "pytest-xdist[psutil]")


def requirement_name(text: str) -> str:
    """`Foo_Bar[x]>=1; marker` → `foo-bar`; "" for an option or a path."""
    match = _NAME.match(text)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""


def requirement_names(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(filter(None, map(requirement_name, texts)))


def has_pytest(names: Iterable[str]) -> bool:
    """True if these packages install pytest; its plugins depend on it."""
    return any(name == "pytest" or name.startswith("pytest-") for name in names)


def sets_for_tests(sets: Mapping[str, frozenset[str]]) -> list[str]:
    """The extras or groups that tests need: named for tests, else for development, else the first with pytest."""
    tests = [name for name in sets if _words(name) & _TEST_WORDS and not _words(name) & _OTHER_WORDS]
    if any(has_pytest(sets[name]) for name in tests):
        return tests
    developing = [name for name in sets if _words(name) & _DEV_WORDS and not _words(name) & _OTHER_WORDS]
    if tests or developing:
        return [*tests, *developing]
    return [name for name in sets if has_pytest(sets[name])][:1]


def _words(name: str) -> frozenset[str]:
    return frozenset(re.split(r"[-_.]+", name.lower()))


@dataclass(frozen=True)
class PythonDependencies:
    """The declared dependencies, by place of declaration."""

    # dependencies of the project itself
    own: frozenset[str]
    extras: dict[str, frozenset[str]]
    # packages without which tests are skipped: `pytest.importorskip("numpy")`
    skipped_without: frozenset[str]
    # PEP 735 [dependency-groups]
    groups: dict[str, frozenset[str]]
    # [tool.poetry.group.*]: names, and whether the group is optional
    poetry_groups: dict[str, tuple[frozenset[str], bool]]
    # requirements files that tests need → names that they and their included files declare
    files: dict[str, frozenset[str]]
    # requirements as written, for hatch's environments, tox and nox
    hatch: tuple[str, ...]
    runners: tuple[str, ...]
    # those of tox and nox that tests import, and plugins of pytest
    used_by_tests: frozenset[str]
    # a requirements file installs the project
    installs_itself: bool
    # plugins that the settings of pytest need
    plugins: tuple[str, ...]

    @property
    def all_names(self) -> frozenset[str]:
        sets = [*self.extras.values(), *self.groups.values(), *(names for names, _ in self.poetry_groups.values())]
        return self.own.union(*sets, *self.files.values(), requirement_names((*self.hatch, *self.runners)))

    def feature_extras(self) -> list[str]:
        """Extras to install for the tests; if none is named for tests, all features."""
        test_extras = sets_for_tests(self.extras)
        if test_extras:
            needed_extras = [name for name in self.extras if self.extras[name] & self.skipped_without]
            return list(dict.fromkeys((*test_extras, *needed_extras)))
        if "all" in self.extras:
            return ["all"]
        return [name for name in self.extras if not _words(name) & _OTHER_WORDS]


def _test_texts(place: ProjectFolder) -> list[str]:
    files = [path for path in place.paths if re.search(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$", path)]
    return [place.read(path) for path in files[: 2 * MAX_OPENED]]


def _skipped_without(place: ProjectFolder) -> frozenset[str]:
    texts = _test_texts(place)
    names = [name for text in texts for name in re.findall(r"\bimportorskip\(\s*[\"']([A-Za-z][\w-]*)", text)]
    return requirement_names(names)


def _used_by_tests(place: ProjectFolder, packages: Iterable[str]) -> frozenset[str]:
    """Those of the packages that tests import, and plugins of pytest, whose fixtures tests name."""
    names = requirement_names(packages)
    text = "\n".join(_test_texts(place)) if names else ""
    imports = r"^\s*(?:import|from)\s+([A-Za-z]\w*)|\bimportorskip\(\s*[\"']([A-Za-z]\w*)"
    modules = requirement_names(name for found in re.findall(imports, text, re.M) for name in found)
    return frozenset(name for name in names if name in modules or name.startswith("pytest-"))


def read_dependencies(place: ProjectFolder, table: Mapping[str, Any]) -> PythonDependencies:
    project = _dict(table.get("project"))
    tool = _dict(table.get("tool"))
    own, extras = _of_setup_files(place)
    own |= requirement_names(_texts(project.get("dependencies")))
    extras |= {name: requirement_names(_texts(v)) for name, v in _dict(project.get("optional-dependencies")).items()}
    poetry, poetry_groups = _of_poetry(_dict(tool.get("poetry")))
    runners, runner_files = _installed_by_runners(place)
    files = list(dict.fromkeys((*_files_for_tests(place), *runner_files)))
    text = "\n".join(place.read(path) for path in files)
    return PythonDependencies(
        own=own | poetry,
        extras=extras,
        skipped_without=_skipped_without(place) if len(extras) > 1 else frozenset(),
        groups=_groups(_dict(table.get("dependency-groups")), tool),
        poetry_groups=poetry_groups,
        files={path: requirement_names(_lines_of(place, path)) for path in files},
        hatch=_of_hatch(_dict(_dict(tool.get("hatch")).get("envs")) or _dict(_toml(place, "hatch.toml").get("envs"))),
        runners=runners,
        used_by_tests=_used_by_tests(place, runners),
        installs_itself=bool(_INSTALLS_ITSELF.search(text)),
        plugins=_plugins(place, tool),
    )


def _groups(groups: dict[str, Any], tool: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    found = {name: frozenset(_group(groups, name, set())) for name in groups}
    for manager in ("uv", "pdm"):
        older = _dict(tool.get(manager)).get("dev-dependencies")
        if isinstance(older, dict):  # pdm: groups; uv: one list
            found |= {name: requirement_names(_texts(v)) | found.get(name, frozenset()) for name, v in older.items()}
        elif older:
            found["dev"] = requirement_names(_texts(older)) | found.get("dev", frozenset())
    return found


def _group(groups: dict[str, Any], name: str, visited_groups: set[str]) -> Iterator[str]:
    if name in visited_groups:
        return
    visited_groups.add(name)
    entries = groups.get(name)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, str):
            yield requirement_name(entry)
        elif isinstance(entry, dict) and isinstance(entry.get("include-group"), str):
            yield from _group(groups, entry["include-group"], visited_groups)


def _of_poetry(poetry: dict[str, Any]) -> tuple[frozenset[str], dict[str, tuple[frozenset[str], bool]]]:
    own = requirement_names(_dict(poetry.get("dependencies")))
    groups = {}
    for name, group in _dict(poetry.get("group")).items():
        entry = _dict(group)
        groups[name] = (requirement_names(_dict(entry.get("dependencies"))), bool(entry.get("optional")))
    if older := _dict(poetry.get("dev-dependencies")):
        groups["dev"] = (requirement_names(older), False)
    return own, groups


def _of_hatch(envs: dict[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for name in _HATCH_ENVS:
        env = _dict(envs.get(name))
        if name == "hatch-test" and name in envs and not env.get("dependencies"):
            found += _HATCH_TEST
        found += [*_texts(env.get("dependencies")), *_texts(env.get("extra-dependencies"))]
    return tuple(dict.fromkeys(text for text in found if "{" not in text))


def _of_tox(text: str) -> list[str]:
    """The words of the requirements of [testenv], without those for single factors."""
    section = re.search(r"^\[testenv\]\s*$(.*?)(?=^\[|\Z)", text, re.M | re.S)
    deps = re.search(r"^deps\s*=(.*(?:\n(?:[ \t]+.*|[ \t]*(?=\n[ \t])))*)", section[1], re.M) if section else None
    words: list[str] = []
    for line in deps[1].splitlines() if deps else ():
        if option := re.match(r"\s*(-r|--requirement|-c|--constraint)[ =]*(?:\{toxinidir\}/)?([\w./-]+)\s*$", line):
            words += option.groups()
        elif re.match(r"\s*[A-Za-z][\w.\[\],-]*\s*(?:[=<>!~;].*)?$", line):
            words.append(line.strip())
    return words


def _of_nox(text: str) -> list[str]:
    """String arguments of `session.install(…)` in sessions that run pytest."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    words: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and "pytest" in ast.dump(node):
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "install":
                    words += [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return words


def _installed_by_runners(place: ProjectFolder) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The requirements, and the files with requirements, that tox and nox install for the tests."""
    words = [*_of_tox(place.read("tox.ini")), *_of_nox(place.read("noxfile.py"))]
    names: dict[str, None] = {}
    files: dict[str, None] = {}
    for option, word in zip(["", *words], words, strict=False):
        path = posixpath.normpath(word)
        if option in ("-r", "--requirement"):
            files |= {path: None} if path in place.paths else {}
        elif not option.startswith("-") and re.match(r"[A-Za-z]", word):
            names[word] = None
    return tuple(names), tuple(files)


def _of_setup_files(place: ProjectFolder) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    own: frozenset[str] = frozenset()
    extras: dict[str, frozenset[str]] = {}
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(place.read("setup.cfg"))
        own |= requirement_names(parser.get("options", "install_requires", fallback="").splitlines())
        if parser.has_section("options.extras_require"):
            extras = {k: requirement_names(v.splitlines()) for k, v in parser["options.extras_require"].items()}
    except configparser.Error:
        pass
    values = _setup_arguments(place.read("setup.py"))
    own |= requirement_names(_texts(values.get("install_requires")))
    extras |= {str(k): requirement_names(_texts(v)) for k, v in _dict(values.get("extras_require")).items()}
    return own, extras


def _setup_arguments(text: str) -> dict[str, Any]:
    """Literal arguments of `setup(…)`, and those given by the name of a literal."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    names: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = node.value
    found: dict[str, Any] = {}
    for call in ast.walk(tree):
        for keyword in call.keywords if isinstance(call, ast.Call) else ():
            if keyword.arg in ("install_requires", "extras_require"):
                value = (
                    names.get(keyword.value.id, keyword.value) if isinstance(keyword.value, ast.Name) else keyword.value
                )
                try:
                    found[keyword.arg] = ast.literal_eval(value)
                except (ValueError, RecursionError):
                    continue
    return found


def _files_for_tests(place: ProjectFolder) -> list[str]:
    """Requirements files at the top, and those for tests in a `requirements` folder."""
    top_files = sorted(name for name in place.names if REQUIREMENTS.fullmatch(name))
    inner = {match[1]: match[0] for path in place.paths if (match := _FOLDER_OF_REQUIREMENTS.fullmatch(path))}
    sets = {name: requirement_names(_lines_of(place, path)) for name, path in sorted(inner.items())}
    names = sets_for_tests(sets) or [name for name in sets if name in ("base", "main", "requirements", "common")]
    return [*top_files, *(inner[name] for name in names)]


_FILES_AT_ROOT = ("requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "requirements_dev.txt")
_EDITABLE = re.compile(r"^\s*(?:-e|--editable)[ =]+(?:\./)?([\w./-]+?)/?(?:\[[^\]]*\])?\s*(?:#.*)?$", re.M)


def editable_siblings(place: ProjectFolder) -> list[str]:
    """Paths to other packages of the repository that a requirements file of the root installs beside this one."""
    texts = [place.read_from_root(name) or "" for name in _FILES_AT_ROOT] if place.folder else []
    folders = [posixpath.normpath(match[1]) for text in texts for match in _EDITABLE.finditer(text)]
    others = dict.fromkeys(folder for folder in folders if folder not in (place.folder, "."))
    return [posixpath.relpath(folder, place.folder) for folder in others] if place.folder in folders else []


def _lines_of(place: ProjectFolder, path: str, visited_paths: frozenset[str] = frozenset()) -> Iterator[str]:
    """The lines of a requirements file and of those that it includes."""
    if path in visited_paths or len(visited_paths) > 10:
        return
    for line in place.read(path).splitlines():
        include = re.match(r"\s*(?:-r|--requirement)[ =]*(\S+)", line)
        if include:
            other = posixpath.normpath(posixpath.join(posixpath.dirname(path), include[1]))
            yield from _lines_of(place, other, visited_paths | {path})
        elif not line.lstrip().startswith(("-", "#")):
            yield line


_PYTEST_INI_SECTIONS = (
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)


def _plugins(place: ProjectFolder, tool: Mapping[str, Any]) -> tuple[str, ...]:
    pyproject = _dict(tool.get("pytest"))
    # pytest 9 also reads `[tool.pytest]` and its own TOML files.
    tables = [_dict(pyproject.get("ini_options")), pyproject]
    tables += [_dict(_toml(place, name).get("pytest")) for name in ("pytest.toml", ".pytest.toml")]
    texts: list[str] = []
    for settings in tables:
        options = settings.get("addopts", "")
        texts += [" ".join(_texts(options)) if isinstance(options, list) else str(options), *settings]
    for name, section in _PYTEST_INI_SECTIONS:
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(place.read(name))
            if parser.has_section(section):
                texts += [parser.get(section, "addopts", fallback=""), *parser.options(section)]
        except configparser.Error:
            continue
    text = "\n".join(texts)
    return tuple(plugin for pattern, plugin in _PLUGINS.items() if re.search(pattern, text))


def _toml(place: ProjectFolder, name: str) -> dict[str, Any]:
    try:
        return parse_toml(place.read(name)) if name in place.names else {}
    except ValueError:
        return {}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple | set) else [value]
    return [text for text in values if isinstance(text, str)]


# -- uv workspaces --------------------------------------------------------------------------------
# Finds the members of a uv workspace, which `uv sync --all-packages` at its root installs. Pure.


def is_uv_workspace(root: str, read: Read) -> bool:
    return _workspace(root, read) is not None


def is_uv_member(folder: str, root: str, read: Read) -> bool:
    """True if the workspace of `root` lists this folder in `members` and not in `exclude`."""
    start = f"{root}/" if root else ""
    if folder == root or not folder.startswith(start):
        return False
    workspace = _workspace(root, read)
    if workspace is None:
        return False
    inside = folder.removeprefix(start)
    is_listed, is_excluded = (_matches(inside, workspace.get(key)) for key in ("members", "exclude"))
    return is_listed and not is_excluded


def _workspace(root: str, read: Read) -> dict[str, Any] | None:
    try:
        table: Any = parse_toml(read(f"{root}/pyproject.toml" if root else "pyproject.toml") or "")
    except (ValueError, RecursionError):
        return None
    for key in ("tool", "uv", "workspace"):
        table = table.get(key)
        if not isinstance(table, dict):
            return None
    return dict(table)


def _matches(folder: str, patterns: object) -> bool:
    if not isinstance(patterns, list):
        return False
    return any(_fits(folder, posixpath.normpath(pattern)) for pattern in patterns if isinstance(pattern, str))


def _fits(folder: str, pattern: str) -> bool:
    if "**" in pattern:
        return fnmatch.fnmatchcase(folder, pattern)
    # `*` does not match `/`.
    return folder.count("/") == pattern.count("/") and PurePosixPath(folder).match(pattern)

"""Finds the tools of Python projects: pytest, unittest, Django, tox or nox; uv, poetry, pdm, pipenv or pip."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from burnish.checks.python_dependencies import (
    PythonDependencies,
    editable_siblings,
    has_pytest,
    read_dependencies,
    requirement_name,
    requirement_names,
    sets_for_tests,
)
from burnish.checks.tools import MAX_OPENED, PYTEST, RUFF, Command, ProjectFolder, ToolChoice, Tools
from burnish.checks.unrun_tests import settings_folder, unrun_python_tests
from burnish.regular_files import parse_toml

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "noxfile.py", "Pipfile", "manage.py")
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests)\.py$")
# Folders with test files that are data of tests or examples.
_SAMPLES = re.compile(r"(?:^|/)(?:examples?|samples?|[\w-]*fixtures?|testdata|data|templates?|resources?)/", re.I)
_MAX_RUNS = 10  # of unittest in one project
# manager → the prefix that starts a program in its environment, and the command that installs a package there
MANAGERS = {
    "uv": ("uv run --no-sync", "uv pip install"),
    "poetry": ("poetry run", "poetry run python -m pip install -q"),
    "pdm": ("pdm run", "pdm run python -m pip install -q"),
    "pipenv": ("pipenv run", "pipenv run pip install -q"),
}
_LOCKS = {"uv.lock": "uv", "poetry.lock": "poetry", "pdm.lock": "pdm", "Pipfile": "pipenv"}
# The first version of pip that installs [dependency-groups].
_PIP_WITH_GROUPS = "pip>=25.1"


def python_tools(
    place: ProjectFolder, *, uv_root: ProjectFolder | None = None, uv_members: Sequence[ProjectFolder] = ()
) -> Tools | None:
    """The tools of a folder. `uv_root`: the root of its uv workspace; `uv_members`: the members of its workspace."""
    weight = place.count(".py")
    if not weight and not uv_members:
        return None
    root = _Project(uv_root) if uv_root else None
    project = _Project(place, root if root and root.manager == "uv" else None)
    project.members = [_Project(member, project) for member in uv_members] if project.manager == "uv" else []
    lint, note = project.lint()
    tests = project.tests_to_run()
    notes = tuple(filter(None, (note, project.replaced, project.left_out)))
    tools = Tools(place.folder, "Python", None, lint, project.setup(), weight, notes)
    unrun_tests = unrun_python_tests(place, project.table, project.tests)
    return replace(tools, test=tests[0], more_tests=tuple(tests[1:]), unrun_tests=unrun_tests) if tests else tools


class _Project:
    """A Python project, read from its files."""

    def __init__(self, place: ProjectFolder, uv_root: _Project | None = None) -> None:
        self.place = place
        # The root of this member's uv workspace, and the members of its own workspace.
        self.uv_root = uv_root
        self.members: list[_Project] = []
        self.table = _toml(place.read("pyproject.toml"))
        self.dependencies: PythonDependencies = read_dependencies(place, self.table)
        self.tests = [path for path in place.paths if _TEST_FILE.search(path)]
        self.manager, self.managed_by = self._manager()
        # A note if the project's manager is not installed and pip replaces it.
        self.replaced = ""
        # A note if tests are not run.
        self.left_out = ""
        if self.manager in ("uv", "poetry") and not place.around.has_program(self.manager):
            self.replaced = f"{self.manager} is not installed here ({self.managed_by}): pip is used instead."
            self.manager = ""

    def _manager(self) -> tuple[str, str]:
        if self.uv_root:
            return "uv", "a member of a uv workspace"
        for name, manager in _LOCKS.items():
            if name in self.place.names:
                return manager, name
        tool = self.table.get("tool", {})
        manager_name = next((name for name in ("poetry", "uv", "pdm") if name in tool), "")
        if "workspace" in tool.get("uv", {}):
            return "uv", "[tool.uv.workspace] in pyproject.toml"
        if manager_name == "uv" and not self._is_package() and not self.dependencies.groups:
            return "", ""  # settings for uv in a folder that uv cannot sync
        return manager_name, f"[tool.{manager_name}] in pyproject.toml" if manager_name else ""

    def tests_to_run(self) -> list[ToolChoice]:
        """The test commands: several if one does not run all tests."""
        django = [ToolChoice(self._python("manage.py", "test"), "manage.py and tests: Django's own runner")]
        if why := self._why_pytest():
            # With `python -m` the root is importable, as tests in a package `tests` expect.
            options = doctest_options(self.place) or settings_folder(self.place, self.tests)
            pytest = ToolChoice(self._python(*PYTEST[1:], *options), why)
            return [pytest, *(django if self._needs_django_runner() else ())]
        if "manage.py" in self.place.names and self.tests:
            return django
        if name := self.place.first("runtests.py", "run_tests.py"):
            return [ToolChoice(self._python(name), name)]
        if self._have("TestCase"):
            why = "tests for unittest, and no pytest"
            runs = self._unittest_options()
            return [ToolChoice(self._python("-m", "unittest", "discover", *options), why) for options in runs]
        if "tox.ini" in self.place.names:
            return [ToolChoice("tox -q", "tox.ini")]
        return [ToolChoice("nox", "noxfile.py")] if "noxfile.py" in self.place.names else []

    def _needs_django_runner(self) -> bool:
        """True if there are tests in Django's `tests.py`, which pytest does not collect unless its settings name it."""
        names = [path for path in self.tests if path.rpartition("/")[2] == "tests.py"]
        is_set_up = "pytest-django" in self.dependencies.all_names or self.place.first("pytest.ini", ".pytest.ini")
        return "manage.py" in self.place.names and not is_set_up and self._have("TestCase", names)

    def _unittest_options(self) -> list[tuple[str, ...]]:
        """Options for each folder and file pattern with tests: unittest enters only packages, and has one pattern."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for path in self.tests:
            folder, _, name = path.rpartition("/")
            # Started above it, a package keeps its name, which relative imports need.
            while folder and f"{folder}/__init__.py" in self.place.paths:
                folder = folder.rpartition("/")[0]
            options = ("-s", folder) if folder else ()
            pattern = () if name.startswith("test") else ("-p", "*_test.py")
            groups.setdefault((*options, *pattern), []).append(path)
        runs = sorted(groups, key=lambda options: -len(groups[options]))
        if runs[_MAX_RUNS:]:
            self.left_out = f"unittest would need {len(runs)} runs: {groups[runs[-1]][0]} and others are left out."
        with_tests = [
            options
            for options in runs[:_MAX_RUNS]
            if not _SAMPLES.search(groups[options][0]) and self._have(r"^\s+(?:async )?def test", groups[options])
        ]
        return with_tests or runs[:1]

    def _why_pytest(self) -> str:
        """The reason for pytest, "" if there is none."""
        if name := self.place.first("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"):
            return name
        settings = "\n".join(self.place.read(name) for name in ("pyproject.toml", "setup.cfg", "tox.ini"))
        if re.search(r"^\[tool\.pytest|^\[tool:pytest\]|^\[pytest\]", settings, re.M):
            return "settings for pytest"
        if any(path.rpartition("/")[2] == "conftest.py" for path in self.place.paths):
            return "conftest.py"
        if not self.tests:
            return ""
        if has_pytest(self.dependencies.all_names) or re.search(r"\bpytest\b", self.place.read("Pipfile")):
            return "tests, and pytest among the dependencies"
        plain = self._have(r"^(?:async )?def test|^\s*(?:import|from) pytest\b|^class Test\w*(?:\(object\))?:")
        return f"tests written for pytest, e.g. {self.tests[0]}" if plain else ""

    def _have(self, pattern: str, tests: list[str] | None = None) -> bool:
        tests = self.tests if tests is None else tests
        return any(re.search(pattern, self.place.read(path), re.M) for path in tests[:MAX_OPENED])

    def lint(self) -> tuple[ToolChoice | None, str]:
        """The linter, and a note if a configured linter is not installed."""
        ruff = self.place.first("ruff.toml", ".ruff.toml")
        if ruff or "ruff" in self.table.get("tool", {}):
            # burnish includes ruff; the project's own is used if the set-up installs it.
            own = self.manager and "ruff" in self._installed_by_manager()
            command = self._in_environment(RUFF) if own else RUFF
            return ToolChoice(command, ruff or "[tool.ruff] in pyproject.toml"), ""
        settings = "\n".join(self.place.read(name) for name in ("setup.cfg", "tox.ini"))
        if ".flake8" in self.place.names or re.search(r"^\[flake8\]", settings, re.M):
            if "flake8" in self._installed() or (not self.setup() and self.place.around.has_module("flake8")):
                # Unlike other linters, flake8 checks .venv and reports problems of all packages there.
                options = ("--extend-exclude=.venv",) if self.setup() else ()
                return ToolChoice(self._python("-m", "flake8", *options), "settings for flake8"), ""
            return None, "flake8 has settings here but is not installed: not added as a check."
        return None, ""

    def setup(self) -> ToolChoice | None:
        if self.uv_root:
            return None  # the root installs its members
        if self.manager:
            return ToolChoice(self._managed_setup(), self.managed_by)
        packages = self._packages()
        if not packages:
            return None
        # Unless git ignores it, the environment would count as the agent's work and be removed.
        hide = "" if self.place.ignores(".venv/") else "echo '*' > .venv/.gitignore && "
        pip = ".venv/bin/python -m pip install -q"
        newer = f"{pip} {shlex.quote(_PIP_WITH_GROUPS)} && " if "--group" in packages else ""
        if build_packages := self._build_packages():
            newer += f"{pip} {shlex.join(build_packages)} && "
            packages = ["--no-build-isolation", *packages]
        return ToolChoice(f"python3 -m venv .venv && {hide}{newer}{pip} {shlex.join(packages)}", self._why_packages())

    def _build_packages(self) -> list[str]:
        """The packages that must stay installed: an editable package of meson-python is built again when imported."""
        system = self.table.get("build-system")
        if not isinstance(system, dict) or system.get("build-backend") != "mesonpy" or not self._is_package():
            return []
        requirements = system.get("requires")
        names = [name for name in requirements if isinstance(name, str)] if isinstance(requirements, list) else []
        return names if "ninja" in requirement_names(names) else [*names, "ninja"]

    def _managed_setup(self) -> str:
        if self.manager == "uv":
            return self._uv_setup()
        wants_pytest = bool(self._why_pytest())
        if self.manager == "poetry":
            extras = " --all-extras" if self.dependencies.extras else ""
            names = ",".join(self._groups_to_add())
            # In the workspace, because checks do not see the home directory.
            command = f"POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install{extras}" + (f" --with {names}" if names else "")
        elif self.manager == "pipenv":
            command = "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev"
            wants_pytest = wants_pytest and not re.search(r"\bpytest\b", self.place.read("Pipfile"))
        else:
            command = "pdm install"
        if wants_pytest and not has_pytest(self._installed_by_manager()):
            command += f" && {MANAGERS[self.manager][1]} pytest"
        return command

    def _uv_setup(self) -> str:
        """Options apply to every installed member; uv accepts members without such a group."""
        projects = (self, *self.members)
        everything = " --all-packages" if self.members else ""
        extras = " --all-extras" if any(project.dependencies.extras for project in projects) else ""
        groups = dict.fromkeys(name for project in projects for name in project._groups_to_add())
        command = f"uv sync{everything}{extras}" + "".join(f" --group {name}" for name in groups)
        packages = frozenset[str]().union(*(project._installed_by_manager() for project in projects))
        if any(project._why_pytest() for project in projects) and not has_pytest(packages):
            command += f" && {MANAGERS['uv'][1]} pytest"
        return command

    def _installed_by_manager(self) -> frozenset[str]:
        """The packages that the manager's command installs, with the added options."""
        dependencies = self.dependencies
        if self.manager == "pipenv":
            return requirement_names(self.place.read("Pipfile").splitlines())
        names = dependencies.own.union(*dependencies.extras.values())
        if self.manager == "poetry":
            added_groups = self._groups_to_add()
            groups = [
                group
                for name, (group, optional) in dependencies.poetry_groups.items()
                if not optional or name in added_groups
            ]
            return names.union(*groups, *dependencies.groups.values())
        if self.manager == "uv":
            groups = [
                dependencies.groups.get(name, frozenset()) for name in (*self._uv_defaults(), *self._groups_to_add())
            ]
            root = self.uv_root._installed_by_manager() if self.uv_root else frozenset[str]()
            return names.union(root, *groups)
        return names.union(*dependencies.groups.values())

    def _groups_to_add(self) -> list[str]:
        """Groups that the tests need and that the manager does not install by default."""
        dependencies = self.dependencies
        if self.manager == "poetry":
            optional = {name: names for name, (names, left_out) in dependencies.poetry_groups.items() if left_out}
            installed_names = dependencies.own.union(
                *(names for names, left_out in dependencies.poetry_groups.values() if not left_out)
            )
            return [] if has_pytest(installed_names) else sets_for_tests(optional)
        installed_names = dependencies.own.union(*dependencies.extras.values())
        defaults = self._uv_defaults()
        if has_pytest(installed_names.union(*(dependencies.groups.get(name, frozenset()) for name in defaults))):
            return []
        return [name for name in sets_for_tests(dependencies.groups) if name not in defaults]

    def _uv_defaults(self) -> tuple[str, ...]:
        settings = self.table.get("tool", {}).get("uv", {})
        default_groups = settings.get("default-groups", ["dev"]) if isinstance(settings, dict) else ["dev"]
        return tuple(self.dependencies.groups) if default_groups == "all" else tuple(map(str, default_groups))

    def _packages(self) -> list[str]:
        """Arguments of `pip install` for the test environment; none if there is nothing to install."""
        dependencies = self.dependencies
        included_files = {
            path
            for path in dependencies.files
            if any(_includes(self.place.read(o), o, path) for o in dependencies.files)
        }
        packages = [word for path in dependencies.files if path not in included_files for word in ("-r", path)]
        if self._is_package() and not dependencies.installs_itself:
            extras = dependencies.feature_extras()
            packages += ["-e", f".[{','.join(extras)}]" if extras else "."]
            packages += [word for path in editable_siblings(self.place) for word in ("-e", path)]
        packages += [word for name in sets_for_tests(dependencies.groups) for word in ("--group", name)]
        packages += dependencies.hatch
        packages += sorted(self._poetry_names()) if self.replaced else ()
        if not packages and (not self._why_pytest() or not self._not_importable()):
            return []
        return packages + self._missing_for_pytest()

    def _poetry_names(self) -> frozenset[str]:
        """Packages of poetry's test groups, without versions, because pip cannot read poetry's version syntax."""
        groups = {name: names for name, (names, _) in self.dependencies.poetry_groups.items()}
        return frozenset[str]().union(*(groups[name] for name in sets_for_tests(groups)))

    def _not_importable(self) -> list[str]:
        """pytest and those of the plugins its settings use that the Python on PATH cannot import."""
        packages = ("pytest", *self.dependencies.plugins)
        modules = {name: "xdist" if name == "pytest-xdist" else name.replace("-", "_") for name in packages}
        return [name for name, module in modules.items() if not self.place.around.has_module(module)]

    def _missing_for_pytest(self) -> list[str]:
        """pytest and its plugins, unless other packages install them."""
        if not self._why_pytest():
            return []
        dependencies = self.dependencies
        installed_names = self._installed()
        runners = [word for word in dependencies.runners if requirement_name(word) not in installed_names]
        if has_pytest(installed_names):
            # others may not be needed, or not be installable here
            runners = [word for word in runners if requirement_name(word) in dependencies.used_by_tests]
        found = runners
        installed_names |= requirement_names(found)
        found += [] if has_pytest(installed_names) else ["pytest"]
        return found + [plugin for plugin in dependencies.plugins if plugin not in installed_names]

    def _installed(self) -> frozenset[str]:
        """The packages that the set-up installs, according to the project files."""
        if self.manager:
            return self._installed_by_manager()
        dependencies = self.dependencies
        names = frozenset[str]().union(*dependencies.files.values(), requirement_names(dependencies.hatch))
        names = names.union(
            *(dependencies.groups[name] for name in sets_for_tests(dependencies.groups)), self._poetry_names()
        )
        if self._is_package() and not dependencies.installs_itself:
            names |= dependencies.own.union(*(dependencies.extras[name] for name in dependencies.feature_extras()))
        return names | (dependencies.own if dependencies.installs_itself else frozenset())

    def _why_packages(self) -> str:
        dependencies = self.dependencies
        kinds = [*dependencies.files]
        if self._is_package() and not dependencies.installs_itself:
            kinds.append("a package with dependencies or a src folder")
        kinds += [f"dependency group {name}" for name in sets_for_tests(dependencies.groups)]
        kinds += ["environments of hatch"] if dependencies.hatch else []
        kinds += ["groups of poetry"] if self.replaced and self._poetry_names() else []
        missing = " and ".join(self._not_importable()) or "pytest"
        return f"a virtual environment in the workspace: {', '.join(kinds) or f'{missing} is not installed here'}"

    def _is_package(self) -> bool:
        """True if it must be installed before its tests can run."""
        dependencies = self.dependencies
        project = self.table.get("project", {})
        needs = bool(dependencies.own or dependencies.extras) or "dependencies" in (project.get("dynamic") or ())
        in_src = any(path.startswith("src/") and path.endswith(".py") for path in self.place.paths)
        by_cfg = bool(re.search(r"^\[metadata\]|^\[options\]", self.place.read("setup.cfg"), re.M))
        by_poetry = "poetry" in self.table.get("tool", {}) and "build-system" in self.table
        return (
            by_poetry or "setup.py" in self.place.names or (("project" in self.table or by_cfg) and (needs or in_src))
        )

    def _python(self, *words: str) -> Command:
        if self.manager:
            return self._in_environment(("python", *words))
        # Only the root's .venv is on the PATH of checks.
        own = self.place.folder and self._packages()
        return (".venv/bin/python" if own else "python", *words)

    def _in_environment(self, words: tuple[str, ...]) -> str:
        return f"{MANAGERS[self.manager][0]} {shlex.join(words)}"


def _includes(text: str, path: str, other: str) -> bool:
    """True if this requirements file includes the other one."""
    names = re.findall(r"^\s*(?:-r|--requirement)[ =]*(\S+)", text, re.M)
    folder = path.rpartition("/")[0]
    return path != other and any((f"{folder}/{name}" if folder else name) == other for name in names)


def _toml(text: str) -> dict[str, Any]:
    try:
        table = parse_toml(text)
    except (ValueError, RecursionError):
        return {}
    return table if all(isinstance(table.get(name, {}), dict) for name in ("tool", "project")) else {}


DOCTEST_OPTION = "--doctest-modules"
# where tox has installed the project, and where the repository is
_INSTALLED = re.compile(r"\{(?:env_?site_?packages_?dir)\}/")
_ROOT = re.compile(r"\{(?:tox_root|toxinidir)\}/?")


def doctest_options(place: ProjectFolder) -> tuple[str, ...]:
    """The option and the paths that the project passes with it; () without doctests or for unknown paths."""
    text = "\n".join(place.read(name) for name in ("tox.ini", "Makefile")).replace("\\\n", " ")
    for line in text.splitlines():
        if re.search(r"\b(?:pytest|py\.test)\b", line) and DOCTEST_OPTION in line:
            return _options(place, line)
    return ()


def _options(place: ProjectFolder, line: str) -> tuple[str, ...]:
    _, _, arguments = re.sub(r"\{posargs[^}]*\}|#.*", "", line).partition("pytest")
    try:
        words = [word for word in shlex.split(arguments) if not word.startswith("-")]
    except ValueError:
        return ()
    paths = [_path(place, word) for word in words]
    return (DOCTEST_OPTION, *paths) if paths and all(paths) else ()


def _path(place: ProjectFolder, word: str) -> str:
    """The path in the repository that an argument names, "" if there is none."""
    candidates = [_ROOT.sub("", word).rstrip("/")]
    if _INSTALLED.match(word):
        name = _INSTALLED.sub("", word).rstrip("/")
        candidates = [name, f"src/{name}"]
    return next((one for one in candidates if one and _exists(place, one)), "")


def _exists(place: ProjectFolder, path: str) -> bool:
    return path in place.paths or any(other.startswith(f"{path}/") for other in place.paths)

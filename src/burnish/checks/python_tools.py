"""Python: pytest, unittest, Django, tox or nox; uv, poetry, pdm, pipenv or pip."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Sequence
from typing import Any

from burnish.checks.doctest_options import doctest_options
from burnish.checks.python_dependencies import (
    PythonDependencies,
    has_pytest,
    read_dependencies,
    requirement_names,
    sets_for_tests,
)
from burnish.checks.tools import MOST_OPENED, PYTEST, RUFF, Command, ProjectFolder, ToolChoice, Tools

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "noxfile.py", "Pipfile", "manage.py")
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests)\.py$")
# program → how a program is started in its environment, and how one more package comes into it
MANAGERS = {
    "uv": ("uv run --no-sync", "uv pip install"),
    "poetry": ("poetry run", "poetry run python -m pip install -q"),
    "pdm": ("pdm run", "pdm run python -m pip install -q"),
    "pipenv": ("pipenv run", "pipenv run pip install -q"),
}
_LOCKS = {"uv.lock": "uv", "poetry.lock": "poetry", "pdm.lock": "pdm", "Pipfile": "pipenv"}
# Since this version pip installs [dependency-groups].
_PIP_WITH_GROUPS = "pip>=25.1"


def python_tools(
    place: ProjectFolder, *, uv_root: ProjectFolder | None = None, uv_members: Sequence[ProjectFolder] = ()
) -> Tools | None:
    """With the root of its uv workspace if it is a member of one, or with the members if it is such a root."""
    weight = place.count(".py")
    if not weight and not uv_members:
        return None
    root = _Project(uv_root) if uv_root else None
    project = _Project(place, root if root and root.manager == "uv" else None)
    project.members = [_Project(member, project) for member in uv_members] if project.manager == "uv" else []
    lint, note = project.lint()
    notes = tuple(filter(None, (note, project.replaced)))
    return Tools(place.folder, "Python", project.test(), lint, project.setup(), weight, notes)


class _Project:
    """A Python project, as its files tell."""

    def __init__(self, place: ProjectFolder, uv_root: _Project | None = None) -> None:
        self.place = place
        # the root of the uv workspace that this project is a member of, and the members of its own workspace
        self.uv_root = uv_root
        self.members: list[_Project] = []
        self.table = _toml(place.read("pyproject.toml"))
        self.dependencies: PythonDependencies = read_dependencies(place, self.table)
        self.tests = [path for path in place.paths if _TEST_FILE.search(path)]
        self.manager, self.managed_by = self._manager()
        # a note if the project's own manager is not installed here and pip can do its work
        self.replaced = ""
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
        named = next((name for name in ("poetry", "uv", "pdm") if name in tool), "")
        if "workspace" in tool.get("uv", {}):
            return "uv", "[tool.uv.workspace] in pyproject.toml"
        if named == "uv" and not self._is_package() and not self.dependencies.groups:
            return "", ""  # settings for uv in a folder that uv cannot sync
        return named, f"[tool.{named}] in pyproject.toml" if named else ""

    def test(self) -> ToolChoice | None:
        if why := self._why_pytest():
            # by `python -m`: the root is then importable, as tests in a package `tests` expect
            return ToolChoice(self._python(*PYTEST[1:], *doctest_options(self.place)), why)
        if "manage.py" in self.place.names and self.tests:
            return ToolChoice(self._python("manage.py", "test"), "manage.py and tests: Django's own runner")
        if name := self.place.first("runtests.py", "run_tests.py"):
            return ToolChoice(self._python(name), name)
        if self._have("TestCase"):
            words = self._python("-m", "unittest", "discover", *self._unittest_options())
            return ToolChoice(words, "tests for unittest, and no pytest")
        if "tox.ini" in self.place.names:
            return ToolChoice("tox -q", "tox.ini")
        return ToolChoice("nox", "noxfile.py") if "noxfile.py" in self.place.names else None

    def _unittest_options(self) -> tuple[str, ...]:
        """Where the tests are and how their files are called, where that is not what unittest looks for itself."""
        top = {path.partition("/")[0] for path in self.tests}
        folder = top.pop() if len(top) == 1 and "/" in self.tests[0] else ""
        # from the root a package keeps its name, which relative imports in its tests need
        where = ("-s", folder) if folder and f"{folder}/__init__.py" not in self.place.paths else ()
        usual = [path for path in self.tests if path.rpartition("/")[2].startswith("test")]
        return where if usual else (*where, "-p", "*_test.py")

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

    def _have(self, pattern: str) -> bool:
        return any(re.search(pattern, self.place.read(path), re.M) for path in self.tests[:MOST_OPENED])

    def lint(self) -> tuple[ToolChoice | None, str]:
        """The linter, and a note if one is configured that nothing installs."""
        ruff = self.place.first("ruff.toml", ".ruff.toml")
        if ruff or "ruff" in self.table.get("tool", {}):
            # burnish brings a ruff; the project's own is used where the set-up installs it
            own = self.manager and "ruff" in self._installed_by_manager()
            command = self._in_environment(RUFF) if own else RUFF
            return ToolChoice(command, ruff or "[tool.ruff] in pyproject.toml"), ""
        settings = "\n".join(self.place.read(name) for name in ("setup.cfg", "tox.ini"))
        if ".flake8" in self.place.names or re.search(r"^\[flake8\]", settings, re.M):
            if "flake8" in self._installed() or (not self.setup() and self.place.around.has_module("flake8")):
                # unlike other linters it looks into .venv, and finds the problems of every package there
                options = ("--extend-exclude=.venv",) if self.setup() else ()
                return ToolChoice(self._python("-m", "flake8", *options), "settings for flake8"), ""
            return None, "flake8 has settings here, but nothing installs it: not written as a check."
        return None, ""

    def setup(self) -> ToolChoice | None:
        if self.uv_root:
            return None  # the root installs its members
        if self.manager:
            return ToolChoice(self._managed_setup(), self.managed_by)
        packages = self._packages()
        if not packages:
            return None
        # Unless git ignores it, the environment would be taken for the agent's work and cleaned away.
        hide = "" if self.place.ignores(".venv/") else "echo '*' > .venv/.gitignore && "
        pip = ".venv/bin/python -m pip install -q"
        newer = f"{pip} {shlex.quote(_PIP_WITH_GROUPS)} && " if "--group" in packages else ""
        return ToolChoice(f"python3 -m venv .venv && {hide}{newer}{pip} {shlex.join(packages)}", self._why_packages())

    def _managed_setup(self) -> str:
        if self.manager == "uv":
            return self._uv_setup()
        wants_pytest = bool(self._why_pytest())
        if self.manager == "poetry":
            extras = " --all-extras" if self.dependencies.extras else ""
            names = ",".join(self._groups_to_add())
            # in the workspace: what lies in the home is hidden from checks
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
        """Options hold for every member that is installed; a member without such a group is no error."""
        projects = (self, *self.members)
        everything = " --all-packages" if self.members else ""
        extras = " --all-extras" if any(project.dependencies.extras for project in projects) else ""
        groups = dict.fromkeys(name for project in projects for name in project._groups_to_add())
        command = f"uv sync{everything}{extras}" + "".join(f" --group {name}" for name in groups)
        installed = frozenset[str]().union(*(project._installed_by_manager() for project in projects))
        if any(project._why_pytest() for project in projects) and not has_pytest(installed):
            command += f" && {MANAGERS['uv'][1]} pytest"
        return command

    def _installed_by_manager(self) -> frozenset[str]:
        """What the manager's own command installs, with the options that are added to it."""
        known = self.dependencies
        if self.manager == "pipenv":
            return requirement_names(self.place.read("Pipfile").splitlines())
        names = known.own.union(*known.extras.values())
        if self.manager == "poetry":
            added = self._groups_to_add()
            chosen = [group for name, (group, optional) in known.poetry_groups.items() if not optional or name in added]
            return names.union(*chosen, *known.groups.values())
        if self.manager == "uv":
            chosen = [known.groups.get(name, frozenset()) for name in (*self._uv_defaults(), *self._groups_to_add())]
            root = self.uv_root._installed_by_manager() if self.uv_root else frozenset[str]()
            return names.union(root, *chosen)
        return names.union(*known.groups.values())

    def _groups_to_add(self) -> list[str]:
        """Groups that the tests need and that the manager leaves out by itself."""
        known = self.dependencies
        if self.manager == "poetry":
            optional = {name: names for name, (names, left_out) in known.poetry_groups.items() if left_out}
            there = known.own.union(*(names for names, left_out in known.poetry_groups.values() if not left_out))
            return [] if has_pytest(there) else sets_for_tests(optional)
        there = known.own.union(*known.extras.values())
        defaults = self._uv_defaults()
        if has_pytest(there.union(*(known.groups.get(name, frozenset()) for name in defaults))):
            return []
        return [name for name in sets_for_tests(known.groups) if name not in defaults]

    def _uv_defaults(self) -> tuple[str, ...]:
        settings = self.table.get("tool", {}).get("uv", {})
        named = settings.get("default-groups", ["dev"]) if isinstance(settings, dict) else ["dev"]
        return tuple(self.dependencies.groups) if named == "all" else tuple(map(str, named))

    def _packages(self) -> list[str]:
        """Arguments of `pip install` for an environment in which the tests run; none if there is nothing to install."""
        known = self.dependencies
        included = {path for path in known.files if any(_includes(self.place.read(o), o, path) for o in known.files)}
        packages = [word for path in known.files if path not in included for word in ("-r", path)]
        if self._is_package() and not known.installs_itself:
            extras = known.feature_extras()
            packages += ["-e", f".[{','.join(extras)}]" if extras else "."]
        packages += [word for name in sets_for_tests(known.groups) for word in ("--group", name)]
        packages += known.hatch
        packages += sorted(self._poetry_names()) if self.replaced else ()
        if not packages and (not self._why_pytest() or self.place.around.has_module("pytest")):
            return []
        return packages + self._missing_for_pytest()

    def _poetry_names(self) -> frozenset[str]:
        """Packages of poetry's groups for tests, without versions: pip does not read poetry's way of writing them."""
        groups = {name: names for name, (names, _) in self.dependencies.poetry_groups.items()}
        return frozenset[str]().union(*(groups[name] for name in sets_for_tests(groups)))

    def _missing_for_pytest(self) -> list[str]:
        """pytest and its plugins, where nothing else that is installed brings them."""
        if not self._why_pytest():
            return []
        known = self.dependencies
        there = self._installed()
        found = [] if has_pytest(there) else list(known.runners)
        there |= requirement_names(found)
        found += [] if has_pytest(there) else ["pytest"]
        return found + [plugin for plugin in known.plugins if plugin not in there]

    def _installed(self) -> frozenset[str]:
        """What the set-up installs, as far as the files tell."""
        if self.manager:
            return self._installed_by_manager()
        known = self.dependencies
        names = frozenset[str]().union(*known.files.values(), requirement_names(known.hatch))
        names = names.union(*(known.groups[name] for name in sets_for_tests(known.groups)), self._poetry_names())
        if self._is_package() and not known.installs_itself:
            names |= known.own.union(*(known.extras[name] for name in known.feature_extras()))
        return names | (known.own if known.installs_itself else frozenset())

    def _why_packages(self) -> str:
        known = self.dependencies
        kinds = [*known.files]
        if self._is_package() and not known.installs_itself:
            kinds.append("a package with dependencies or a src folder")
        kinds += [f"dependency group {name}" for name in sets_for_tests(known.groups)]
        kinds += ["environments of hatch"] if known.hatch else []
        kinds += ["groups of poetry"] if self.replaced and self._poetry_names() else []
        return "an environment of the workspace's own: " + (", ".join(kinds) or "pytest is not installed here")

    def _is_package(self) -> bool:
        """Must it be installed to be tested?"""
        known = self.dependencies
        project = self.table.get("project", {})
        needs = bool(known.own or known.extras) or "dependencies" in (project.get("dynamic") or ())
        in_src = any(path.startswith("src/") and path.endswith(".py") for path in self.place.paths)
        by_cfg = bool(re.search(r"^\[metadata\]|^\[options\]", self.place.read("setup.cfg"), re.M))
        by_poetry = "poetry" in self.table.get("tool", {}) and "build-system" in self.table
        return (
            by_poetry or "setup.py" in self.place.names or (("project" in self.table or by_cfg) and (needs or in_src))
        )

    def _python(self, *words: str) -> Command:
        if self.manager:
            return self._in_environment(("python", *words))
        # only the root's .venv is on the PATH of checks
        own = self.place.folder and self._packages()
        return (".venv/bin/python" if own else "python", *words)

    def _in_environment(self, words: tuple[str, ...]) -> str:
        return f"{MANAGERS[self.manager][0]} {shlex.join(words)}"


def _includes(text: str, path: str, other: str) -> bool:
    """Does this requirements file include the other one?"""
    names = re.findall(r"^\s*(?:-r|--requirement)[ =]*(\S+)", text, re.M)
    folder = path.rpartition("/")[0]
    return path != other and any((f"{folder}/{name}" if folder else name) == other for name in names)


def _toml(text: str) -> dict[str, Any]:
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
    return table if all(isinstance(table.get(name, {}), dict) for name in ("tool", "project")) else {}

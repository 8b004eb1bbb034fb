"""Python: pytest, unittest, Django, tox or nox; uv, poetry, pdm, pipenv or pip."""

from __future__ import annotations

import re
import shlex
import tomllib
from typing import Any

from burnish.checks.detect import MOST_OPENED, PYTEST, RUFF
from burnish.checks.tools import Choice, Command, Place, Tools

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "noxfile.py", "Pipfile", "manage.py")
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests)\.py$")
_REQUIREMENTS = re.compile(r"(?:dev|test|tests|requirements)[-_.]?(?:dev|test|tests|requirements)?\.txt$")
# program → how its environment is made, and how a program is started in it
MANAGERS = {
    "uv": ("uv sync", "uv run --no-sync"),
    "poetry": ("poetry install", "poetry run"),
    "pdm": ("pdm install", "pdm run"),
    "pipenv": ("pipenv sync --dev", "pipenv run"),
}
_LOCKS = {"uv.lock": "uv", "poetry.lock": "poetry", "pdm.lock": "pdm", "Pipfile": "pipenv"}


def python_tools(place: Place) -> Tools | None:
    weight = place.count(".py")
    if not weight:
        return None
    project = _Project(place)
    return Tools(place.folder, "Python", project.test(), project.lint(), project.setup(), weight)


class _Project:
    """A Python project, as its files tell."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.table = _toml(place.read("pyproject.toml"))
        self.requirements = sorted(name for name in place.names if _REQUIREMENTS.fullmatch(name))
        declared = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "Pipfile", *self.requirements)
        self.declared = "\n".join(place.read(name) for name in declared if name in place.names)
        self.tests = [path for path in place.paths if _TEST_FILE.search(path)]
        self.manager, self.managed_by = self._manager()

    def _manager(self) -> tuple[str, str]:
        for name, manager in _LOCKS.items():
            if name in self.place.names:
                return manager, name
        tool = self.table.get("tool", {})
        named = next((name for name in ("poetry", "uv", "pdm") if name in tool), "")
        return named, f"[tool.{named}] in pyproject.toml" if named else ""

    def test(self) -> Choice | None:
        if why := self._why_pytest():
            return Choice(self._in_environment(PYTEST[2:]) if self.manager else PYTEST, why)
        if "manage.py" in self.place.names and self.tests:
            return Choice(self._python("manage.py", "test"), "manage.py and tests: Django's own runner")
        if self._have("TestCase"):
            top = {path.partition("/")[0] for path in self.tests}
            where = ("-s", top.pop()) if len(top) == 1 and "/" in self.tests[0] else ()
            return Choice(self._python("-m", "unittest", "discover", *where), "tests for unittest, and no pytest")
        if "tox.ini" in self.place.names:
            return Choice("tox -q", "tox.ini")
        return Choice("nox", "noxfile.py") if "noxfile.py" in self.place.names else None

    def _why_pytest(self) -> str:
        """The reason for pytest, "" if there is none."""
        if name := self.place.first("pytest.ini", ".pytest.ini"):
            return name
        if re.search(r"^\[tool\.pytest|^\[tool:pytest\]|^\[pytest\]", self.declared, re.M):
            return "settings for pytest"
        if any(path.rpartition("/")[2] == "conftest.py" for path in self.place.paths):
            return "conftest.py"
        if not self.tests:
            return ""
        if re.search(r"\bpytest\b", self.declared):
            return "tests, and pytest among the dependencies"
        plain = self._have(r"^(?:async )?def test|^\s*(?:import|from) pytest\b")
        return f"tests written for pytest, e.g. {self.tests[0]}" if plain else ""

    def _have(self, pattern: str) -> bool:
        return any(re.search(pattern, self.place.read(path), re.M) for path in self.tests[:MOST_OPENED])

    def lint(self) -> Choice | None:
        ruff = self.place.first("ruff.toml", ".ruff.toml")
        if ruff or "ruff" in self.table.get("tool", {}):
            own = self.manager and re.search(r"[\"'\s]ruff\b", self.declared.replace("tool.ruff", ""))
            command = self._in_environment(RUFF) if own else RUFF
            return Choice(command, ruff or "[tool.ruff] in pyproject.toml")
        if ".flake8" in self.place.names or re.search(r"^\[flake8\]", self.declared, re.M):
            return Choice(self._python("-m", "flake8"), "settings for flake8")
        return None

    def setup(self) -> Choice | None:
        if self.manager:
            extras = " --all-extras" if self.manager in ("uv", "poetry") and self._extras() else ""
            return Choice(MANAGERS[self.manager][0] + extras, self.managed_by)
        packages = [word for name in self.requirements for word in ("-r", name)]
        if self._is_package():
            extra = next((name for name in ("dev", "test", "tests", "testing") if name in self._extras()), "")
            packages += ["-e", f".[{extra}]" if extra else "."]
        if not packages:
            return None
        if self._why_pytest() and not re.search(r"\bpytest\b", self.declared):
            packages.append("pytest")
        # Unless it is ignored, the environment would be taken for the agent's work.
        ignored = "venv" in self.place.read(".gitignore")
        hide = "" if ignored else "echo '*' > .venv/.gitignore && "
        install = f".venv/bin/python -m pip install -q {shlex.join(packages)}"
        return Choice(f"python3 -m venv .venv && {hide}{install}", self._why_packages())

    def _why_packages(self) -> str:
        kind = "a package with dependencies or a src folder" if self._is_package() else ""
        return "an environment of the workspace's own: " + ", ".join(filter(None, [*self.requirements, kind]))

    def _is_package(self) -> bool:
        """Must it be installed to be tested?"""
        needs = bool(self.table.get("project", {}).get("dependencies")) or bool(self._extras())
        in_src = any(path.startswith("src/") and path.endswith(".py") for path in self.place.paths)
        return "setup.py" in self.place.names or ("project" in self.table and (needs or in_src))

    def _extras(self) -> dict[str, Any]:
        found = self.table.get("project", {}).get("optional-dependencies", {})
        return found if isinstance(found, dict) else {}

    def _python(self, *words: str) -> Command:
        return self._in_environment(("python", *words)) if self.manager else ("python", *words)

    def _in_environment(self, words: tuple[str, ...]) -> str:
        return f"{MANAGERS[self.manager][1]} {shlex.join(words)}"


def _toml(text: str) -> dict[str, Any]:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    return table if all(isinstance(table.get(name, {}), dict) for name in ("tool", "project")) else {}

"""Finds where the project's Python packages are imported from, to prove that tests import the tree under test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from burnish.core.policy import CheckSpec, is_test
from burnish.regular_files import parse_toml

_QUESTION = Path(__file__).with_name("import_question.py")
_SKIPPED = frozenset("test tests testing docs doc examples example scripts benchmarks bench tools build dist".split())
_NAME = re.compile(r"[A-Za-z_]\w*")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NAME_IN_SETUP_PY = re.compile(r"\bname\s*=\s*[\"']([A-Za-z0-9][A-Za-z0-9._-]*)[\"']")
_NAME_IN_SETUP_CFG = re.compile(r"^name\s*=\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*$", re.M)
# `~/venvs/calc/bin/pytest`, `. venv/bin/activate && pytest`
_IN_ENVIRONMENT = re.compile(
    r"([^\s;&|'\"=]+/bin/(?:activate|pytest|py\.test|coverage|tox|nox|(?:python|pypy)[\d.]*))(?=[\s;&|'\"]|$)"
)
# `PYTHONPATH=$PWD/src pytest`, `env A=1 pytest`: literal values, and the working directory
_ASSIGNMENTS = re.compile(r"\s*(?:env\s+)?((?:[A-Za-z_]\w*=(?:[\w./:,@%+~-]|\$PWD\b|\$\{PWD\})*\s+)+)")
_PYTHON_PROGRAM = re.compile(r"pytest|py\.test|coverage|(?:python|pypy)[\d.]*")
_PYTEST = re.compile(r"\b(?:pytest|py\.test)\b")
_PYTHON_TESTS = re.compile(r"\b(?:pytest|py\.test|unittest|doctest)\b")
# `-P` and `-I` do not change sys.path; in `pytest -m slow`, `-m` selects a marker.
_RUNS_MODULE = re.compile(
    r"(?:python|pypy)[\d.]*(?:\s+-(?![mcPI])\S*(?:\s+[^-\s]\S*)?)*\s+-m\s|\b(?:coverage|uv)\s+run\s(?:\s*-(?!m)\S+)*\s*-m\s"
)
# pytest puts the folder of the first of these that is not a package on sys.path
_BESIDE_ROOT = ("conftest.py", "tests/__init__.py", "test/__init__.py")
# The interpreter of a program: itself, the one of its first line, or the one beside it; else `python` on PATH.
_INTERPRETER = """
program=$1; shift
case $program in "~/"*) program=$HOME/${program#"~/"};; esac
found=$(command -v "$program" 2>/dev/null || printf %s "$program")
case ${found##*/} in python*|pypy*) [ -x "$found" ] && exec "$found" "$@";; esac
if [ -f "$found" ]; then
    IFS= read -r line < "$found" 2>/dev/null || :
    own=${line#"#!"}; own=${own%% *}
    case ${own##*/} in python*|pypy*) [ -x "$own" ] && exec "$own" "$@";; esac
    for folder in "${found%/*}" "$(dirname "$(readlink -f "$found")")"; do
        for name in python python3; do [ -x "$folder/$name" ] && exec "$folder/$name" "$@"; done
    done
fi
if command -v python >/dev/null; then exec python "$@"; else exec python3 "$@"; fi
"""
_ENVIRONMENTS = re.compile(r"(?:^|/)(?:\.venv|venv|env|site-packages|dist-packages)(?:/|$)")
MAX_PACKAGES = 20
# These may set pytest's import path; a stored answer is valid only for the same settings.
PYTEST_SETTINGS = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_ASK_SECONDS = 180.0
# The version of the query; stored answers to older versions are not used.
QUESTION_FORM = 6


@dataclass(frozen=True, slots=True)
class Origins:
    """Where each top-level package was found, and the problem with that, if any."""

    packages: tuple[tuple[str, str], ...] = ()
    problem: str = ""


def top_level_packages(paths: Iterable[str]) -> tuple[str, ...]:
    """Names of the packages that the tree contains at its root or below `src`.

    Packages elsewhere, and single modules, are found by the project's name if it is installed.
    """
    found: dict[str, None] = {}
    for path in sorted([path for path in paths if path.endswith("/__init__.py")]):
        parts = PurePosixPath(path).parts
        if parts[:1] == ("src",):
            parts = parts[1:]
        if len(parts) == 2 and parts[1] == "__init__.py" and parts[0] not in _SKIPPED and _NAME.fullmatch(parts[0]):
            found[parts[0]] = None
    return tuple(found)[:MAX_PACKAGES]


def project_names(contents: Mapping[str, bytes | None]) -> tuple[str, ...]:
    """Distribution names of the tree's projects; `contents` are its dependency files."""
    found = (_project_name(path, (data or b"").decode("utf-8", "replace")) for path, data in contents.items())
    return tuple(sorted({re.sub(r"[-_.]+", "-", name).lower() for name in found if name}))


def _project_name(path: str, text: str) -> str:
    file = path.rpartition("/")[2]
    if file == "pyproject.toml":
        try:
            table: dict[str, Any] = parse_toml(text)
        except (ValueError, RecursionError):
            return ""
        poetry = _table(_table(table.get("tool")).get("poetry"))
        name = _table(table.get("project")).get("name") or poetry.get("name")
        return name if isinstance(name, str) and _DISTRIBUTION.fullmatch(name) else ""
    pattern = {"setup.py": _NAME_IN_SETUP_PY, "setup.cfg": _NAME_IN_SETUP_CFG}.get(file)
    match = pattern.search(text) if pattern else None
    return match[1] if match else ""


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def runs_tests(spec: CheckSpec) -> bool:
    """True if the check runs tests; its name does not matter: `unit: pytest tests/unit`."""
    return is_test(spec.name) or _PYTHON_TESTS.search(spec.words) is not None


def question_spec(test: CheckSpec, paths: Sequence[str], projects: Sequence[str]) -> CheckSpec | None:
    """The query about a tree with these files, as a check; None if there is nothing to query."""
    start = f"{test.cwd.strip('/')}/" if test.cwd.strip("./") else ""
    below = (path.removeprefix(start) for path in paths if path.startswith(start)) if start else paths
    packages = top_level_packages(below)
    if not packages and not projects:
        return None
    return CheckSpec("origins", question(test, projects, packages), timeout_seconds=_ASK_SECONDS, cwd=test.cwd)


def question(spec: CheckSpec, projects: Sequence[str], packages: Sequence[str]) -> tuple[str, ...]:
    """The command that queries the interpreter of a test command for the origin of these packages."""
    text = _QUESTION.read_text("utf-8")
    script = _exports(spec) + _INTERPRETER
    return ("/bin/sh", "-c", script, "sh", _program(spec), "-c", text, spec.cwd, " ".join(projects), *packages)


def _exports(spec: CheckSpec) -> str:
    """The variables that a command line sets for its program, such as PYTHONPATH."""
    found = _ASSIGNMENTS.match(spec.command) if isinstance(spec.command, str) else None
    return f"export {found[1].strip()}" if found else ""


def _program(spec: CheckSpec) -> str:
    """A program in the same folder as the interpreter of the tests."""
    words = spec.command if isinstance(spec.command, str) else " ".join(spec.command)
    if match := _IN_ENVIRONMENT.search(words):
        return match[1]
    first = next((word for word in words.split() if "=" not in word and word != "env"), "")
    return first if _PYTHON_PROGRAM.fullmatch(first) else "python"


def read_origins(stdout: str, spec: CheckSpec, paths: Iterable[str], *, error: str = "") -> Origins:
    """Evaluates the answer for one test command. Ignores output around the JSON.

    `error`: why the query has no answer. Without one, a command that names a runner of Python tests proves nothing.
    """
    line = next((line for line in reversed(stdout.split("\n")) if line.startswith('{"here"')), "")
    try:
        answer = json.loads(line)
    except ValueError:
        is_python = _PYTHON_TESTS.search(spec.words) is not None
        problem = f"the interpreter of `{spec.words}` does not tell where it imports packages from: {error}"
        return Origins(problem=problem) if error and is_python else Origins()
    here, cwd_first = str(answer["here"]), _cwd_first(spec, paths, importlib=bool(answer.get("importlib")))
    usual = answer.get("pytest") if _PYTEST.search(spec.words) else None
    found: list[tuple[str, str]] = []
    for name, alone in (usual or answer["alone"]).items():
        first = answer["first"].get(name)
        origin = first if cwd_first or alone is None else alone
        if origin is None:
            continue
        found.append((name, origin))
        if not comes_from_tree(origin, here):
            return Origins(tuple(found), f"{name} is imported from {origin}, not from the tree under test")
    return Origins(tuple(found), _installed_elsewhere(answer.get("installed", {}), here, cwd_first=cwd_first))


def _installed_elsewhere(distributions: Mapping[str, Mapping[str, Any]], here: str, *, cwd_first: bool) -> str:
    """The problem with an installed copy of the project that is not the tree: its programs or modules; "" if none."""
    for name, distribution in sorted(distributions.items()):
        imported_from_tree = cwd_first or bool(distribution["names"])  # the names were checked before
        if not comes_from_tree(f"{distribution['place']}/", here) and (
            distribution["scripts"] or not imported_from_tree
        ):
            return f"{name} is installed from {distribution['place']}, not from the tree under test"
    return ""


def _cwd_first(spec: CheckSpec, paths: Iterable[str], *, importlib: bool) -> bool:
    """True if its folder comes first on sys.path: with `python -m`, and with pytest for files directly in it."""
    if _RUNS_MODULE.search(spec.words):
        return True
    if importlib or "import-mode=importlib" in spec.words:
        return False
    beside = {f"{spec.cwd}/{name}" if spec.cwd else name for name in _BESIDE_ROOT}
    return not beside.isdisjoint(paths)


def comes_from_tree(origin: str, here: str) -> bool:
    """True for files of the tree at `here` outside of its environments."""
    if not origin.startswith(f"{here}/"):
        return False
    return _ENVIRONMENTS.search(origin[len(here) + 1 :]) is None

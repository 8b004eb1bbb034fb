from __future__ import annotations

import time

import pytest

from burnish.checks.discover import detect
from burnish.checks.tools import MAX_OPENED, PYTEST, RUFF, Surroundings
from testing.layouts import package


def found(files: dict[str, str]) -> dict[str, object]:
    return {spec.name: spec.command for spec in detect(files, files.get)}


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": ""},
        {"pyproject.toml": "[project]\n[tool.pytest.ini_options]\n"},
        {"setup.cfg": "[tool:pytest]\n"},
        {"tox.ini": "[tox]\n[pytest]\n"},
        {"src/conftest.py": ""},
        {"pkg/tests/deep/a_test.py": "async def test_a(): pass\n"},
        {"test_a.py": "def test_a(): pass\n"},
        {"test_a.py": "class TestA:\n    def test_a(self): pass\n"},
        {"test_a.py": "import pytest\n"},
    ],
)
def test_pytest_is_found(files: dict[str, str]) -> None:
    assert found({"app.py": "", **files}) == {"test": PYTEST}


def test_auto_finds_what_init_writes_in_every_language_and_every_part() -> None:
    files = {
        "go.mod": "",
        "a.go": "",
        ".golangci.yml": "",
        "web/package.json": package({"test": "jest"}),
        "web/package-lock.json": "",
    }
    assert found(files) == {
        "test": "go test ./...",
        "lint": "golangci-lint run",
        "web-test": "npm test",
    }
    specs = {spec.name: spec for spec in detect(files, files.get)}
    assert specs["web-test"].words == "cd web && npm test"
    # which parts depend on each other is guessed: without a file that people can correct every part is checked
    assert all(spec.paths == () for spec in specs.values())


def test_a_linter_that_is_not_installed_is_left_out() -> None:
    bare = Surroundings(has_program=lambda name: False)
    go = {"go.mod": "", ".golangci.yml": ""}
    assert {s.name: s.command for s in detect(go, go.get, bare)} == {"test": "go test ./...", "lint": "go vet ./..."}
    rust = {"Cargo.toml": ""}
    assert [s.name for s in detect(rust, rust.get, bare)] == ["test"]


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"app.py": "def test(): pass"},
        {"pyproject.toml": "[project]\n# [tool.pytest]\n"},
        {"test_data.py": "print('only a script')\n"},
        {"node_modules/x/tests/test_a.py": "import pytest"},
        {"tests/readme.md": "pytest"},
        {"docs/pytest.ini": ""},
    ],
)
def test_nothing_is_found_where_there_is_nothing(files: dict[str, str]) -> None:
    assert found(files) == {}


@pytest.mark.parametrize(
    "files",
    [
        {"ruff.toml": ""},
        {".ruff.toml": ""},
        {"pyproject.toml": "[tool.ruff]\n"},
        {"pyproject.toml": "[tool.ruff.lint]\n"},
    ],
)
def test_ruff_is_found_by_its_settings(files: dict[str, str]) -> None:
    assert found({"app.py": "", **files}) == {"lint": RUFF}


def test_twenty_thousand_paths_take_no_time() -> None:
    opened: list[str] = []
    files = [f"src/package{n % 50}/test_module{n}.py" for n in range(20_000)]
    started = time.process_time()
    assert detect(files, lambda path: opened.append(path)) == ()
    assert time.process_time() - started < 0.5
    # the first test files, each once, though several questions are asked about them
    assert sorted(opened) == sorted(set(opened)) and len(opened) == MAX_OPENED

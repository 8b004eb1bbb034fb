from __future__ import annotations

import time

import pytest

from burnish.checks.detect import PYTEST, RUFF, detect


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
        {"tests/test_a.py": ""},
        {"pkg/tests/deep/a_test.py": ""},
        {"test_a.py": "def test_a(): pass\n"},
        {"test_a.py": "import pytest\n"},
        {"test_a.py": "class A(unittest.TestCase): ...\n"},
    ],
)
def test_pytest_is_found(files: dict[str, str]) -> None:
    assert found(files) == {"test": PYTEST}


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
    assert found(files) == {"lint": RUFF}


def test_twenty_thousand_paths_take_no_time() -> None:
    opened: list[str] = []
    files = [f"src/package{n % 50}/test_module{n}.py" for n in range(20_000)]
    started = time.perf_counter()
    assert detect(files, lambda path: opened.append(path)) == ()
    assert time.perf_counter() - started < 0.5
    assert len(opened) == 20

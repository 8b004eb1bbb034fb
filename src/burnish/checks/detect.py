"""Which checks a repository brings along, from the names of its files and a look into a few."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from burnish.core.policy import CheckSpec

PYTEST = ("python", "-m", "pytest", "-q")
RUFF = ("ruff", "check", "--output-format=concise")
# Opened at most: with hundreds of test files the first few tell.
MOST_OPENED = 20

Read = Callable[[str], str | None]

_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_TEST_FOLDER = re.compile(r"(?:^|/)tests?/")
_NOT_OURS = re.compile(r"(?:^|/)(?:node_modules|site-packages|vendor|third_party|\.venv|venv)/")
_PYTEST_SECTION = {
    "pyproject.toml": r"^\[tool\.pytest(?:\.ini_options)?\]",
    "setup.cfg": r"^\[tool:pytest\]",
    "tox.ini": r"^\[pytest\]",
}
_RUFF_SECTION = re.compile(r"^\[tool\.ruff[\].]", re.MULTILINE)


def detect(files: Iterable[str], read: Read) -> tuple[CheckSpec, ...]:
    """`test` if there is pytest, `lint` if there are settings for ruff; nothing is a fine answer."""
    top: set[str] = set()
    tests: list[str] = []
    conftest = False
    for path in files:
        if "/" not in path:
            top.add(path)
        if path.endswith(".py") and not _NOT_OURS.search(path):
            conftest = conftest or path == "conftest.py" or path.endswith("/conftest.py")
            if _TEST_FILE.search(path):
                tests.append(path)
    found: list[CheckSpec] = []
    if conftest or _has_pytest_settings(top, read) or _has_tests(tests, read):
        found.append(CheckSpec("test", PYTEST))
    if top & {"ruff.toml", ".ruff.toml"} or (
        "pyproject.toml" in top and _RUFF_SECTION.search(_text(read, "pyproject.toml"))
    ):
        found.append(CheckSpec("lint", RUFF))
    return tuple(found)


def _has_pytest_settings(top: set[str], read: Read) -> bool:
    if top & {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"}:
        return True
    return any(
        re.search(section, _text(read, name), re.MULTILINE) for name, section in _PYTEST_SECTION.items() if name in top
    )


def _has_tests(tests: list[str], read: Read) -> bool:
    if any(_TEST_FOLDER.search(path) for path in tests):
        return True
    # `test_data.py` may be a script that only has the name
    return any(
        re.search(r"\bpytest\b|^\s*(?:async )?def test|\(unittest\.|\bTestCase\b", _text(read, path), re.MULTILINE)
        for path in tests[:MOST_OPENED]
    )


def _text(read: Read, path: str) -> str:
    return read(path) or ""

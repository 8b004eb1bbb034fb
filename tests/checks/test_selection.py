from __future__ import annotations

from pathlib import Path

import pytest

from burnish.checks.flakes import select_tests
from burnish.core.check import TestFailure


def failing(*names: str, file: str | None = None, status: str = "failed") -> list[TestFailure]:
    return [TestFailure(name, status, file=file) for name in names]


@pytest.mark.parametrize(
    ("command", "failures", "becomes"),
    [
        ("pytest -q", failing("t.py::a[x y]", file="t.py"), "pytest -q 't.py::a[x y]'"),
        ("uv run pytest tests -k x", failing("tests/t.py::a", file="tests/t.py"), "uv run pytest -k x tests/t.py::a"),
        (("python", "-m", "pytest"), failing("t.py::a", file="t.py"), ("python", "-m", "pytest", "t.py::a")),
        ("python -m unittest -v", failing("m.T.test_a"), "python -m unittest -v m.T.test_a"),
        (
            "go test -race ./...",
            failing("e.org/m/a.TestX/sub_case", "e.org/m/b.TestY"),
            "go test -race -count=1 -run '^(TestX|TestY)$' e.org/m/a e.org/m/b",
        ),
        ("cargo test --workspace", failing("s (src/lib.rs) m::a"), "cargo test --workspace -- --exact m::a"),
        ("cargo nextest run", failing("s::it a"), "cargo nextest run -E 'test(=a)'"),
        ("npx jest", failing("a.js > m > b (c)", file="a.js"), "npx jest -t '^(m\\ b\\ \\(c\\))$' a.js"),
        ("mocha", failing("m b"), "mocha --grep '^(m\\ b)$'"),
        (
            "mvn -q test",
            failing("p.A.x(int)[1]"),
            "mvn -q test '-Dtest=p.A#x' -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false",
        ),
        ("./gradlew test", failing("p.A.x()"), "./gradlew test --tests p.A.x"),
    ],
)
def test_single_tests_are_selected(
    tmp_path: Path, command: str | tuple[str, ...], failures: list[TestFailure], becomes: str | tuple[str, ...]
) -> None:
    (tmp_path / "tests").mkdir()
    assert select_tests(command, failures, tmp_path) == becomes


@pytest.mark.parametrize(
    ("command", "failures"),
    [
        ("make test", failing("a")),
        ("node --test", failing("a")),
        ("pytest", failing("suite.case")),
        ("python -m unittest discover -s tests", failing("m.T.test_a")),
        ("python -m unittest", failing("unittest.loader._FailedTest.m")),
        ("go test ./...", failing("e.org/m/b", status="error")),
        ("cargo test", failing("s (doc) src/lib.rs - add")),
        ("cargo test", failing("s did not finish", status="error")),
        ("jest", failing("a.js", file="a.js", status="error")),
    ],
)
def test_what_cannot_be_selected_needs_the_whole_suite(
    tmp_path: Path, command: str, failures: list[TestFailure]
) -> None:
    assert select_tests(command, failures, tmp_path) is None

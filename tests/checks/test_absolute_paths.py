"""Build files and commands that name the checkout by its absolute path."""

from __future__ import annotations

import pytest

from burnish.adapters.checks.checkout_paths import build_files, names_checkout

HOME = ("/home/me/calc",)


@pytest.mark.parametrize(
    "text",
    [
        "replace example.com/lib => /home/me/calc/lib",
        'lib1 = { path = "/home/me/calc/lib1" }',
        "cd /home/me/calc && make test",
        "calc: /home/me/calc/calc.c",
        '{"paths": {"@/*": ["/home/me/calc/src/*"]}}',
        "cd /home/me/calc",
    ],
)
def test_a_path_of_the_checkout_is_found(text: str) -> None:
    assert names_checkout({"file": text}, HOME).startswith("file names /home/me/calc")


@pytest.mark.parametrize(
    "text",
    [
        "replace example.com/lib => ../lib",
        "cd /home/me/calculator && make test",
        "cp -r . /backup/home/me/calc",
        "/home/me/calc/.venv/bin/python -m pytest",
        "/home/me/calc/node_modules/.bin/mocha",
    ],
)
def test_other_places_and_environments_are_not(text: str) -> None:
    assert names_checkout({"file": text}, HOME) == ""


def test_only_files_that_builds_and_tests_read_are_looked_at() -> None:
    paths = ["go.mod", "a/Cargo.toml", "Makefile", "t.sh", "vitest.config.ts", "docs/x.sh", "README.md", "data.json"]
    assert build_files(paths) == ("Makefile", "a/Cargo.toml", "go.mod", "t.sh", "vitest.config.ts")

"""How repositories of many kinds are tested, linted and made ready, as their files tell."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.checks.discover import decide, discover
from testing.layouts import MONO, NODE, OTHERS, PYTHON


def settings(files: dict[str, str]) -> dict[str, Any]:
    return {".".join(one.key): one.value for one in decide(discover(files, files.get))}


@pytest.mark.parametrize(("files", "expected"), PYTHON.values(), ids=PYTHON.keys())
def test_python(files: dict[str, str], expected: dict[str, Any]) -> None:
    assert settings(files) == expected


@pytest.mark.parametrize(("files", "expected"), NODE.values(), ids=NODE.keys())
def test_javascript(files: dict[str, str], expected: dict[str, Any]) -> None:
    assert settings(files) == expected


@pytest.mark.parametrize(("files", "expected"), OTHERS.values(), ids=OTHERS.keys())
def test_other_languages(files: dict[str, str], expected: dict[str, Any]) -> None:
    assert settings(files) == expected


@pytest.mark.parametrize(("files", "expected"), MONO.values(), ids=MONO.keys())
def test_several_projects_in_one_repository(files: dict[str, str], expected: dict[str, Any]) -> None:
    assert settings(files) == expected


def test_every_decision_has_a_reason() -> None:
    for cases in (PYTHON, NODE, OTHERS, MONO):
        for files, _ in cases.values():
            assert all(one.why for one in decide(discover(files, files.get)))


NAMES = [
    "pyproject.toml",
    "package.json",
    "go.mod",
    "Cargo.toml",
    "pom.xml",
    "Gemfile",
    "Makefile",
    "test_a.py",
    "a.rb",
]


@hypothesis.settings(deadline=None)
@given(st.dictionaries(st.tuples(st.sampled_from(["", "a/", "a/b/", "c d/"]), st.sampled_from(NAMES)), st.text()))
def test_whatever_the_files_say_no_key_is_decided_twice(found: dict[tuple[str, str], str]) -> None:
    files = {folder + name: text for (folder, name), text in found.items()}
    keys = [one.key for one in decide(discover(files, files.get))]
    assert len(keys) == len(set(keys))

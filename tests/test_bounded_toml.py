"""TOML of a repository is parsed in bounded time, and what is honest is parsed as before."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.regular_files import MAX_KEY_DEPTH, parse_toml

DEEP = ".".join(["a"] * 20_000)
HOSTILE = {
    "a dotted key": f"{DEEP} = 1\n",
    "a header": f"[{DEEP}]\n",
    "with blanks": f"{DEEP.replace('.', ' . ')} = 1\n",
    "quoted parts": ".".join(['"a.b"', "'c'"] * 5_000) + " = 1\n",
    "in an inline table": f"x = {{ {DEEP} = 1 }}\n",
    "behind a text": f'x = "y"\n[[{DEEP}]]\n',
    "arrays": f"x = {'[' * 5_000}{']' * 5_000}\n",
    "a long number": f"x = {'9' * 5_000}\n",
    "a long file": "#" * (5 * 1024 * 1024),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_is_refused_at_once(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(ValueError):
        parse_toml(text)
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("unit", ["a", "a.", '"', "'", '".', "a. ", "a .", ". ", "\\", '"\\'])
def test_one_long_line_takes_a_time_in_proportion_to_its_length(unit: str) -> None:
    begin = time.process_time()
    with pytest.raises(ValueError):
        parse_toml(unit * (300_000 // len(unit)))
    assert time.process_time() - begin < 5


def test_honest_files_are_parsed_as_before() -> None:
    key = ".".join(["a"] * MAX_KEY_DEPTH)
    prose = 'x = """\n' + "A sentence with words. " * 200 + "\n" + "1.5, " * 200 + '"""\n'
    for text in (f"{key} = 1\n", prose, f"x = [{'1.5, ' * 200}]\n", f'x = "{"a." * 200}"\n', "a.b.c = 1.5\n"):
        assert parse_toml(text) == tomllib.loads(text)
    for file in (Path(__file__).parents[1]).glob("*.toml"):
        assert parse_toml(file.read_text()) == tomllib.loads(file.read_text())


@given(st.text(alphabet="ab.\"'=[]{}, \n#1\\", max_size=60))
def test_every_short_text_gives_what_tomllib_gives(text: str) -> None:
    try:
        expected: object = tomllib.loads(text)
    except ValueError:
        expected = None
    try:
        found: object = parse_toml(text)
    except ValueError:
        found = None
    assert found == expected

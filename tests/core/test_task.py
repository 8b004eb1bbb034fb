"""Names, ids and circles of tasks."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.task import Spec, Task, circle, slug, task_id
from burnish.errors import BadInput


@given(st.text())
def test_a_slug_is_always_safe_as_a_ref_a_path_and_a_word(title: str) -> None:
    word = slug(title)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", word)
    assert len(word) <= 40


@pytest.mark.parametrize(
    ("title", "word"),
    [
        ("Add login", "add-login"),
        ("Größe prüfen", "groe-prufen"),
        ("../../etc/passwd", "etc-passwd"),
        ("--output=x", "output-x"),
        ("日本語", "task"),
        ("", "task"),
        ("a" * 39 + " b", "a" * 39),
    ],
)
def test_slugs_of_some_titles(title: str, word: str) -> None:
    assert slug(title) == word


def test_the_name_of_a_task_is_its_id_and_slug() -> None:
    assert Task("p", 29, Spec("Add login!")).name == "29-add-login"


@pytest.mark.parametrize(("text", "number"), [("29", 29), ("T29", 29), ("t29", 29), (" 7 ", 7), ("T007", 7)])
def test_an_id_is_read_with_or_without_its_letter(text: str, number: int) -> None:
    assert task_id(text) == number


@pytest.mark.parametrize("text", ["", "0", "T0", "-1", "T", "29x", "2 9", "1e3", "٣", "9999999999", "T29\n30"])
def test_what_is_no_id_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(BadInput, match="not a task id") as refusal:
        task_id(text)
    assert "29" in refusal.value.hint


@given(st.integers(min_value=1, max_value=999_999_999))
def test_every_number_written_as_an_id_is_read_back(number: int) -> None:
    assert task_id(str(number)) == task_id(f"T{number}") == number


def test_a_circle_is_named_from_start_to_start() -> None:
    found = circle({1: (2,), 2: (3,), 3: (1,)}, 1)
    assert found == [1, 2, 3, 1]
    assert circle({1: (1,)}, 1) == [1, 1]


def test_a_diamond_is_no_circle_and_another_circle_does_not_trap_the_search() -> None:
    assert circle({1: (2, 3), 2: (4,), 3: (4,)}, 1) is None
    assert circle({1: (2,), 2: (3,), 3: (2,)}, 1) is None


@given(st.dictionaries(st.integers(1, 8), st.lists(st.integers(1, 8), max_size=4).map(tuple), max_size=8))
def test_a_circle_is_found_exactly_where_one_can_walk_back_to_the_start(
    graph: dict[int, tuple[int, ...]],
) -> None:
    reached: set[int] = set()
    border = set(graph.get(1, ()))
    while border:
        reached |= border
        border = {there for here in border for there in graph.get(here, ())} - reached
    path = circle(graph, 1)
    assert (path is not None) == (1 in reached)
    if path:
        assert path[0] == path[-1] == 1
        assert all(there in graph[here] for here, there in itertools.pairwise(path))

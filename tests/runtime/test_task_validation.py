"""What may be asked for in a task, whoever writes it down."""

from __future__ import annotations

from dataclasses import replace

import pytest

from burnish.core.task import Item, Spec, TaskType
from burnish.errors import BadInput
from burnish.runtime.tasks import ticked, validated_changes, validated_spec


def test_a_title_comes_onto_one_line() -> None:
    assert validated_spec(Spec("  Add\n login ")).title == "Add login"
    assert validated_changes({"title": "Add\tlogin"}) == {"title": "Add login"}


@pytest.mark.parametrize(
    "spec",
    [
        Spec(" \n "),
        Spec("A", criteria=("it works", " ")),
        Spec("A", checklist=(Item(""),)),
        Spec("A", priority=10**20),
        Spec("A", type=TaskType.IMPROVE),
        Spec("A", type=TaskType.REVIEW),
        Spec("A", of=1),
    ],
)
def test_what_says_nothing_or_contradicts_itself_is_refused(spec: Spec) -> None:
    with pytest.raises(BadInput):
        validated_spec(spec)


def test_a_review_is_of_a_task_or_against_a_base_which_the_settings_may_name() -> None:
    for spec, base in ((Spec("A", of=1), None), (Spec("A", base_ref="main"), None), (Spec("A"), "main")):
        validated_spec(replace(spec, type=TaskType.REVIEW), base=base)


@pytest.mark.parametrize(
    "changes", [{"title": ""}, {"criteria": ("",)}, {"checklist": (Item(" "),)}, {"priority": -(10**20)}]
)
def test_an_edit_is_held_to_the_same(changes: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        validated_changes(changes)


def test_items_are_ticked_by_number() -> None:
    both = (Item("a"), Item("b", done=True))
    assert ticked(both, [1], [2]) == (Item("a", done=True), Item("b"))
    with pytest.raises(BadInput):
        ticked(both, [3], [])

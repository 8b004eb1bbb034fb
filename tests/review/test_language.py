"""What a prompt of one's own may be written in: it may come with a stranger's repository."""

from __future__ import annotations

import time

import pytest

from burnish.errors import BadInput
from burnish.review.templates import MAX_LENGTH, NAMES, check, render, shipped

GIVEN = {"title": "Add login", "gitDiff": "x y\n" * 50_000, "cycle": 2}

TOO_MUCH = {
    "loops": "{% for x in range(99999) %}{% for y in range(99999) %}a{% endfor %}{% endfor %}",
    "a huge constant": "{{ 'a' * 999999999 }}",
    "a huge number": "{{ 9 ** 9 ** 9 }}",
    "a wide filter": "{{ 'a'|center(999999999) }}",
    "a wide format": "{{ '%999999999d'|format(1) }}",
    "a method": "{{ title.ljust(999999999) }}",
    "recursion": "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    "doubling": "{% set x = title ~ title %}{{ x }}",
    "Python": "{{ ''.__class__.__mro__ }}",
    "a file": "{% include '/etc/passwd' %}",
    "a parent": "{% extends 'x' %}",
    "what is not there": "{{ self }}",
    "many texts": "{{ gitDiff }}" * 400,
    "many words": "{{title}}" * 20_000,
    "a long chain": "{{ title" + "|upper" * 199 + " }}",
    "many conditions": "{% if title %}" * 99 + "{% endif %}" * 99,
    "many brackets": "{{" + "(" * 50_000 + "1" + ")" * 50_000 + "}}",
    "length": "x" * (MAX_LENGTH + 1),
    "no comparison": "{{ title > 1 }}",
}


@pytest.mark.parametrize("text", TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_could_hang_burnish_or_read_files_is_refused_at_once_and_says_what_to_do(text: str) -> None:
    start = time.process_time()
    with pytest.raises(BadInput) as refused:
        render("review.system", GIVEN, text)
    assert time.process_time() - start < 10 and refused.value.hint


def test_variables_conditions_and_plain_filters_are_enough() -> None:
    text = (
        "{{ title|upper|truncate(9) }}{% if cycle > 1 and title is defined %} again{% elif not title %} no{% endif %}"
    )
    assert render("review.system", GIVEN, text) == "ADD LOGIN again"
    assert render("review.system", GIVEN, "{% raw %}{{ x }}{% endraw %} {title}") == "{{ x }} Add login"


def test_a_prompt_is_read_and_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from burnish.review import template_sandbox

    text = "{{ title }} in cycle {{ cycle }}"
    assert render("review.system", GIVEN, text) == "Add login in cycle 2"
    monkeypatch.delattr(template_sandbox, "parse_template")
    assert render("review.system", {**GIVEN, "cycle": 3}, text) == "Add login in cycle 3"
    with pytest.raises(BadInput, match="Unknown variable cycle"):
        render("review.system", {"title": "x"}, text)


def test_what_cannot_be_filled_in_is_known_before_it_is_kept() -> None:
    with pytest.raises(BadInput, match="not supported"):
        check("{{ title > 1 }}", GIVEN, whose="mine", name="review.system")
    check("{% if cycle > 1 %}{{ title }}{% endif %}", GIVEN, whose="mine", name="review.system")


def test_the_shipped_prompts_say_no_more_than_anybody_may() -> None:
    from burnish.review.template_sandbox import parse_template

    assert all(parse_template(shipped(name)) for name in NAMES)


def test_a_broken_commit_message_names_no_prompt_to_reset() -> None:
    with pytest.raises(BadInput) as refused:
        check("{{ title", ["title"], whose="commit.message", name="commit.message")
    assert "prompts reset" not in refused.value.hint
    with pytest.raises(BadInput) as refused:
        check("{{ title", ["title"], whose="your own prompt", name="fix.template")
    assert "burnish prompts reset fix.template" in refused.value.hint

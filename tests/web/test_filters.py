"""How values read on a page."""

from __future__ import annotations

import pytest

from burnish.web.pages.rendering import age, commands, took


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Type `burnish run 3`.", "Type <code>burnish run 3</code>."),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
        ("one ` alone <b>", "one ` alone &lt;b&gt;"),
        ("", ""),
    ],
)
def test_commands_in_a_sentence_are_set_as_such_and_nothing_else_is_markup(text: str, shown: str) -> None:
    assert str(commands(text)) == shown


def test_times_are_said_as_people_say_them() -> None:
    assert [age(n) for n in (0, 59, 60, 7200, 90000)] == ["just now", "just now", "1 min ago", "2 h ago", "1 d ago"]
    assert [took(n) for n in (None, 0.44, 42, 192, 7500)] == ["", "0.4 s", "42 s", "3 min 12 s", "2 h 5 min"]

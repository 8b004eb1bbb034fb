"""Text for a terminal: harmless, measured, cut."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.cli.output import clean, count, cut, duration, hung, one_line, pad, width, wrap

ANY = st.text(st.characters(codec=None, exclude_categories=()))  # surrogates too: names that are not UTF-8


@given(ANY)
def test_nothing_that_a_terminal_obeys_survives(text: str) -> None:
    for char in clean(text):
        assert char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs")
        assert unicodedata.bidirectional(char) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )


@given(ANY)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;new title\x07plain", "plain"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b[2J\x1b[H", ""),
        ("a\u202egpj.exe", "agpj.exe"),
        ("x\x9b31my", "xy"),
        ("caf\udce9", "caf\ufffd"),
        ("plain words", "plain words"),
        ("ünïcödé ✓ 日本", "ünïcödé ✓ 日本"),
        ("two\nlines\tand", "two\nlines\tand"),
    ],
)
def test_what_is_left_of_some_texts(hostile: str, shown: str) -> None:
    assert clean(hostile) == shown


@given(st.text(), st.integers(1, 40))
def test_what_was_cut_fits_and_says_so(text: str, room: int) -> None:
    short = cut(text, room)
    assert width(short) <= room
    assert short == text or (short.endswith("…") and width(text) > room)


@given(st.text(), st.integers(2, 40))
def test_wrapped_text_fits_and_loses_only_blanks(text: str, room: int) -> None:
    lines = wrap(text, room)
    assert all(width(line) <= room for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_wide_and_combining_characters_are_measured_as_they_show() -> None:
    assert width("日本語") == 6
    assert width("e\u0301") == 1
    assert cut("日本語", 5) == "日本…"
    assert cut("日本語", 4) == "日…"
    assert pad("日本", 6) == "日本  "


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0s"), (59.9, "59s"), (72, "1m12s"), (3600, "1h00m"), (-5, "0s"), (11100, "3h05m")],
)
def test_how_long_it_took(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_long_line_goes_on_under_its_words() -> None:
    assert hung("  one two three", 10, 4) == "  one two\n    three"
    assert hung("error: " + "x" * 4, 20, 7) == "error: xxxx"
    assert all(width(line) <= 20 for line in hung("error: " + "word " * 30, 20, 7).splitlines())


def test_one_is_counted_in_the_singular() -> None:
    assert (count(1, "cycle"), count(3, "cycle")) == ("1 cycle", "3 cycles")


def test_a_wrapped_line_keeps_its_spaces() -> None:
    text = "Expected '+    return  1'. Write comments after it."
    assert hung(text, 30, 2) == "Expected '+    return  1'.\n  Write comments after it."

"""What programs print is safe to hold and to show."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.proc.text import clean_text, read_text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;your terminal is mine\x07rest", "rest"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\rest", "rest"),
        ("\x9b31mred", "red"),
        ("10%\r20%\r\ndone", "10%\n20%\ndone"),
        ("a\u202eb\u2066c\u200b\ufeff", "abc"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\x1b]0;never ended\nnext line", "\nnext line"),
        ("ünïcödé 漢字 🎉", "ünïcödé 漢字 🎉"),
    ],
)
def test_controls_are_gone_and_words_stay(raw: str, shown: str) -> None:
    assert clean_text(raw) == shown


@given(st.text())
def test_no_control_character_is_ever_left(text: str) -> None:
    shown = clean_text(text)

    assert not [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    assert clean_text(shown) == shown


def test_a_long_file_is_read_by_its_head_and_tail(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"head" + b"x" * 100_000 + b"tail")

    text = read_text(path, limit=1000)

    assert text.startswith("headx") and text.endswith("xtail")
    assert "[burnish: 99008 bytes left out here]" in text


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"a\xff\xfeb")

    assert read_text(tmp_path / "odd") == "a��b"
    assert read_text(tmp_path / "missing") == ""

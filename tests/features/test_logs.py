"""A log in pieces: whole lines, nothing twice, and no secret that the piece before began."""

from __future__ import annotations

import os
import time
from pathlib import Path

from burnish.core.secrets import Secrets
from burnish.features.tasks import logs
from burnish.features.tasks.logs import read_chunk

KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "".join(f"{'QUJD' * 16}\n" for _ in range(20))
    + "-----END RSA PRIVATE KEY-----\n"
)
NONE = Secrets.of({})


def grown(path: Path, text: str, *, at_rest: bool = False) -> Path:
    path.write_text(text)
    then = time.time() - (60 if at_rest else 0)
    os.utime(path, (then, then))
    return path


def test_a_line_that_is_being_written_waits_for_its_end(tmp_path: Path) -> None:
    file = grown(tmp_path / "stdout", "one\ntw")
    first = read_chunk(file, 0, NONE)
    assert (first.text, first.next, first.size) == ("one\n", 4, 6)
    grown(file, "one\ntwo\n")
    assert read_chunk(file, first.next, NONE).text == "two\n"
    assert read_chunk(file, 8, NONE).text == "" and read_chunk(file, 8, NONE).next == 8


def test_a_log_that_has_come_to_rest_is_read_to_its_end(tmp_path: Path) -> None:
    chunk = read_chunk(grown(tmp_path / "stdout", "one\ntwo", at_rest=True), 0, NONE)
    assert (chunk.text, chunk.next) == ("one\ntwo", 7)


def test_a_line_without_an_end_does_not_hold_the_reader_up(tmp_path: Path) -> None:
    file = grown(tmp_path / "stdout", "x" * (logs.AT_ONCE + 100))
    chunk = read_chunk(file, 0, NONE)
    assert len(chunk.text) == chunk.next == logs.AT_ONCE


def test_beyond_the_end_there_is_nothing(tmp_path: Path) -> None:
    """A phase that ends may leave a shorter file: what was secret is taken out of it."""
    chunk = read_chunk(grown(tmp_path / "stdout", "one\n"), 1000, NONE)
    assert (chunk.text, chunk.next) == ("", 4)


def test_a_key_is_hidden_wherever_the_piece_begins(tmp_path: Path) -> None:
    file = grown(tmp_path / "stdout", f"before\n{KEY}after\n")
    size = file.stat().st_size
    for start in [0, *(n for n in range(size) if file.read_text()[n - 1 : n] == "\n")]:
        assert "QUJDQUJD" not in read_chunk(file, start, NONE).text, start
    assert read_chunk(file, 0, NONE).text.endswith("after\n")


def test_values_of_the_environment_and_what_steers_a_terminal_are_taken_out(tmp_path: Path) -> None:
    secrets = Secrets.of({"API_TOKEN": "s3cr3t-value-9f2k"})
    file = grown(tmp_path / "stdout", "it is s3cr3t-value-9f2k \x1b[31mred\x1b[0m \u202eevil\n")
    text = read_chunk(file, 0, secrets).text
    assert "s3cr3t" not in text and "\x1b" not in text and "[31m" not in text and "\u202e" not in text

"""No secret is cut where the output of a program is shown, or redacted, in pieces."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from burnish.adapters.redaction import redact_file
from burnish.cli.log import _lines_from
from burnish.core.secrets import Secrets
from burnish.features.tasks.logs import AT_ONCE, read_chunk
from burnish.proc.shim_files import outcome_file

VALUE = "hunter2-tangerine-Zz91-qq"
KNOWN = Secrets.of({"MY_TOKEN": VALUE})
# no part of this length may be shown
PARTS = {VALUE[at : at + 6] for at in range(len(VALUE) - 5)}


def shown(file: Path, secrets: Secrets = KNOWN, offset: int = 0) -> str:
    text = ""
    while (chunk := read_chunk(file, offset, secrets)).next != offset:
        text, offset = text + chunk.text, chunk.next
    return text


def printed(file: Path, secrets: Secrets = KNOWN) -> str:
    return "".join(secrets.redact(line) for line in _lines_from(file, {file: 0}, secrets))


def aged(file: Path, seconds: float) -> None:
    os.utime(file, (time.time() - seconds,) * 2)


@pytest.mark.representatives(3)
@pytest.mark.parametrize("shift", [0, 1, 10, len(VALUE) - 1, len(VALUE)])
@pytest.mark.parametrize("edge", [AT_ONCE, 2 * AT_ONCE])
def test_a_secret_at_the_edge_of_a_piece_of_a_very_long_line(tmp_path: Path, edge: int, shift: int) -> None:
    file = tmp_path / "stdout"
    file.write_text("x" * (edge - shift) + VALUE + "y" * AT_ONCE * 2 + "\n")
    for text in (shown(file), printed(file)):
        assert not [part for part in PARTS if part in text]
        assert text.count("x") == edge - shift and text.count("y") == AT_ONCE * 2


def test_a_secret_that_is_known_by_the_name_before_the_edge(tmp_path: Path) -> None:
    file = tmp_path / "stdout"
    name, value = '"password": "', "kQ9-zz81-Lm3x-77Tq"
    for shift in range(len(name) + 2):
        file.write_text("x" * (AT_ONCE - shift) + name + value + '", ' + "y" * AT_ONCE + "\n")
        assert value not in shown(file, Secrets()) and value not in printed(file, Secrets())


@pytest.mark.parametrize("shift", [1, 10, len(VALUE) - 1])
def test_a_piece_that_begins_within_a_secret(tmp_path: Path, shift: int) -> None:
    file = tmp_path / "stdout"
    file.write_text(f"before {VALUE} after\n")
    text = shown(file, offset=len("before ") + shift)
    assert not [part for part in PARTS if part in text] and "after" in text


def test_a_program_that_pauses_within_a_secret(tmp_path: Path) -> None:
    file = tmp_path / "stdout"
    file.write_text(f"before {VALUE[:12]}")
    aged(file, 5)
    first = read_chunk(file, 0, KNOWN)
    assert first.text == "before " and printed(file) == ""
    with file.open("a") as log:
        log.write(f"{VALUE[12:]} after\n")
    assert not [part for part in PARTS if part in shown(file, offset=first.next)]
    assert "after" in printed(file) and VALUE not in printed(file)


def test_the_last_line_of_a_program_that_has_ended_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / "try-1"
    folder.mkdir()
    file = folder / "stdout"
    file.write_text("one\ntwo three")
    assert (read_chunk(file, 0, KNOWN).text, printed(file)) == ("one\n", "one")
    outcome_file(folder).write_text('{"ended": "exit"}')
    assert (read_chunk(file, 0, KNOWN).text, printed(file)) == ("one\ntwo three", "onetwo three")


@pytest.mark.slow
@pytest.mark.representatives(3)
@pytest.mark.parametrize("shift", [1, 10, len(VALUE) - 1])
@pytest.mark.parametrize("edge", [1 << 20, (1 << 20) + (1 << 16), (1 << 20) + (1 << 16) - 8192])
def test_a_secret_at_the_edge_of_what_is_redacted_at_once(tmp_path: Path, edge: int, shift: int) -> None:
    file = tmp_path / "stdout"
    file.write_text("x" * (edge - shift) + VALUE + "y" * (1 << 20))
    redact_file(file, KNOWN)
    text = file.read_text()
    assert not [part for part in PARTS if part in text]
    assert text.count("x") == edge - shift and text.count("y") == 1 << 20

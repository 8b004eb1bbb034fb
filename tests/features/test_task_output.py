"""What a task left in the home, by the piece: whole lines, no controls, no secrets, nothing that was not listed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.task import Spec, Task
from burnish.core.transcript import Row, RowKind
from burnish.errors import NotFound
from burnish.features.server.task_output import (
    MAX_ARTIFACT_TEXT,
    LiveCall,
    Output,
    folder_of,
    list_artifacts,
    live_call,
    output,
    outputs,
    piece,
    read_artifact_text,
)
from burnish.features.tasks.logs import AT_ONCE

TASK = Task("app-1", 7, Spec("Add login"))
CALL = "calls/run-1-cycle-1-implement-1/try-1"


def wrote(home: Path, name: str, data: bytes) -> Path:
    path = folder_of(home, TASK) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def log(home: Path, data: bytes, *, at_rest: bool = True) -> Output:
    path = wrote(home, f"{CALL}/stdout", data)
    if at_rest:
        os.utime(path, (1, 1))
    return output(home, TASK, f"{CALL}/stdout".replace("/", ":"))


def all_of(one: Output) -> tuple[str, int]:
    text, at, asked = "", 0, 0
    while (some := piece(one, at)).next > at:
        text, at, asked = text + some.text, some.next, asked + 1
    return text, asked


def test_a_running_call_shows_its_last_actions_and_what_the_task_has_cost_with_it(tmp_path: Path) -> None:
    running = replace(TASK, run=1, cycle=1, phase="implement", cost_usd=1.0, cost_source="program")
    assert live_call(tmp_path, running, 2) == LiveCall()
    rows = [Row(RowKind.READ, "a.py"), Row(RowKind.RAN, "make", exit_code=2, cost_usd=0.25), Row(RowKind.SAID, "Done.")]
    lines = "".join(f"{json.dumps(row.as_json())}\n" for row in rows)
    wrote(tmp_path, f"{CALL}-transcript.jsonl", lines.encode())
    wrote(tmp_path, f"{CALL}/stdout", b"{}")
    assert live_call(tmp_path, running, 2) == LiveCall(("ran make (exit code 2)", "Done."), "$1.25")
    # of an earlier phase
    assert live_call(tmp_path, replace(running, phase="review"), 2) == LiveCall()


def test_a_long_log_comes_in_pieces_of_whole_lines_and_nothing_is_lost(tmp_path: Path) -> None:
    said = "".join(f"{n} ünï → done\n" for n in range(20_000))
    text, asked = all_of(log(tmp_path, said.encode()))
    assert text == said and asked > 2


def test_a_line_without_an_end_is_cut_between_letters(tmp_path: Path) -> None:
    said = "ü→" * AT_ONCE
    text, asked = all_of(log(tmp_path, said.encode()))
    assert text == said and asked > 2


def test_a_line_that_is_still_being_written_waits_for_its_end(tmp_path: Path) -> None:
    one = log(tmp_path, b"first\nsec", at_rest=False)
    some = piece(one, 0)
    assert (some.text, some.next) == ("first\n", 6)
    with one.file.path.open("ab") as file:
        file.write(b"ond\n")
    assert piece(one, some.next).text == "second\n"
    with one.file.path.open("ab") as file:
        file.write(b"last, without an end")
    os.utime(one.file.path, (1, 1))
    assert piece(one, 13).text == "last, without an end"


def test_the_end_of_a_long_log_is_shown_first(tmp_path: Path) -> None:
    one = log(tmp_path, b"".join(b"line %d\n" % n for n in range(50_000)))
    some = piece(one, -1)
    assert some.offset > 0 and some.text.startswith("line ") and some.text.endswith("line 49999\n")


def test_controls_and_secrets_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_TOKEN", "canary-4711-canary")
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "QUJD" * 16 + "\n" + "QUJD" * 16 + "\n-----END RSA PRIVATE KEY-----\n"
    one = log(tmp_path, f"\x1b[31mred\x1b[0m \x1b]0;title\x07 canary-4711-canary\n{key}after\n".encode())
    text, _ = all_of(one)
    assert "red" in text and "after" in text and "\x1b" not in text and "title" not in text
    assert "canary" not in text and "QUJD" not in text


def test_a_key_that_lies_across_two_pieces_is_not_shown(tmp_path: Path) -> None:
    body = ("QUJD" * 16 + "\n") * 12
    lead = "x" * 99 + "\n"
    said = lead * (AT_ONCE // 100) + f"-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\nafter\n"
    text, asked = all_of(log(tmp_path, said.encode()))
    assert asked == 2 and "QUJD" not in text and text.endswith("after\n")


@pytest.mark.parametrize("name", ["../task.json", "calls:..:..:secret", "/etc/passwd", "", "calls:nothing"])
def test_only_what_is_listed_can_be_asked_for(tmp_path: Path, name: str) -> None:
    log(tmp_path, b"said\n")
    wrote(tmp_path, "artifacts/task.json", b"{}")
    (tmp_path / "secret").write_text("secret")
    with pytest.raises(NotFound):
        output(tmp_path, TASK, name)
    with pytest.raises(NotFound):
        read_artifact_text(tmp_path, TASK, name)


def test_prompts_are_told_from_what_was_printed(tmp_path: Path) -> None:
    log(tmp_path, b"said\n")
    wrote(tmp_path, "calls/run-1-cycle-1-implement-1/prompt.md", b"do it\n")
    wrote(tmp_path, "outputs/run-1-cycle-1-checks/test/stdout", b"1 passed\n")
    assert sorted((one.file.phase, one.is_prompt) for one in outputs(tmp_path, TASK)) == [
        ("check", False),
        ("implement", False),
        ("implement", True),
    ]


def test_artifacts_are_listed_without_drafts_and_a_monster_is_cut(tmp_path: Path) -> None:
    wrote(tmp_path, "artifacts/.draft", b"half")
    wrote(tmp_path, "artifacts/diff-1.patch", b"y" * (MAX_ARTIFACT_TEXT + 5))
    assert [one.name for one in list_artifacts(tmp_path, TASK)] == ["diff-1.patch"]
    assert "5 bytes are left out" in read_artifact_text(tmp_path, TASK, "diff-1.patch")
    assert list_artifacts(tmp_path / "elsewhere", TASK) == []

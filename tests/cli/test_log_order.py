"""The order of what `burnish log` prints."""

from __future__ import annotations

import io
import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

from burnish.agents.registry import AGENTS
from burnish.agents.transcript import writer_for
from burnish.cli.log import _print_more, _shown
from burnish.cli.session import SESSION
from burnish.core.secrets import LineFilter, Secrets
from burnish.features.tasks.logs import find_logs
from burnish.proc.shim_files import outcome_file
from burnish.runtime.requests import LogFile


def test_what_a_program_printed_to_stderr_comes_after_its_transcript() -> None:
    def file(kind: str, path: str) -> LogFile:
        return LogFile(1, 1, "implement", 1, kind, Path("/t/calls/run-1") / path)

    first = [
        file("stderr", "try-1/stderr"),
        file("stdout", "try-1/stdout"),
        file("transcript", "try-1-transcript.jsonl"),
    ]
    second = [file("stderr", "try-2/stderr"), file("transcript", "try-2-transcript.jsonl")]
    files = [*first, *second]
    assert [f.path.name for f in _shown(files, raw=False)] == [
        "try-1-transcript.jsonl",
        "stderr",
        "try-2-transcript.jsonl",
        "stderr",
    ]
    assert [f.path.name for f in _shown(files, raw=True)] == ["stderr", "stdout", "stderr"]


def test_stderr_does_not_come_between_the_rows_of_a_call_that_still_runs(tmp_path: Path) -> None:
    calls = tmp_path / "calls" / "run-1-cycle-1-implement-1"
    for name in ("try-1", "try-2"):
        (calls / name).mkdir(parents=True)
        (calls / name / "stderr").write_text("a warning\n")
        (calls / f"{name}-transcript.jsonl").write_text('{"kind": "said", "text": "Hello."}\n')
    outcome_file(calls / "try-1").write_text('{"exit_code": 1}')

    def names(*, running: bool) -> list[str]:
        files = _shown(find_logs(tmp_path), raw=False, running=running)
        return sorted(str(file.path.relative_to(calls)) for file in files if file.kind == "stderr")

    # its answer joins the transcript after the program has ended
    assert names(running=True) == []
    os.utime(calls / "try-1-outcome.json", (0, 0))
    assert names(running=True) == ["try-1/stderr"]
    # also after a loss of power, when no outcome was written
    assert names(running=False) == ["try-1/stderr", "try-2/stderr"]


@pytest.mark.parametrize(("exit_code", "kinds"), [(0, ["transcript"]), (1, ["transcript", "stderr"])])
def test_warnings_of_a_call_that_ended_well_are_shown_on_demand_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_code: int, kinds: list[str]
) -> None:
    folder = tmp_path / "calls" / "run-1-cycle-1-implement-1" / "try-1"
    folder.mkdir(parents=True)
    (folder / "stderr").write_text("Ripgrep is not available.\n")
    folder.with_name("try-1-transcript.jsonl").write_text('{"kind": "said", "text": "Hello."}\n')
    outcome_file(folder).write_text(f'{{"exit_code": {exit_code}}}')

    assert [file.kind for file in _shown(find_logs(tmp_path), raw=False)] == kinds
    assert [file.kind for file in _shown(find_logs(tmp_path), raw=True)] == ["stderr"]
    monkeypatch.setattr(SESSION, "verbose", True)
    assert [file.kind for file in _shown(find_logs(tmp_path), raw=False)] == ["transcript", "stderr"]


def test_prose_is_wrapped_at_words_on_a_terminal_and_code_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    words, command = "several words " * 8, "x" * 90
    blank_lines = "First.\n\n\n\nLast."
    path = tmp_path / "calls" / "run-1-cycle-1-implement-1" / "try-1-transcript.jsonl"
    path.parent.mkdir(parents=True)
    rows = [{"kind": "said", "text": words.strip()}, {"kind": "said", "text": blank_lines}]
    rows.append({"kind": "ran", "text": "make", "detail": command})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")

    (file,) = find_logs(tmp_path)
    _print_more(file, {}, {})

    lines = screen.getvalue().splitlines()
    assert len(lines[1]) <= 80 and lines[1].endswith("several") and lines[2].startswith("words")
    assert " ".join(lines[1:3]) == words.strip() and f"    {command}" in lines
    assert lines[3:6] == ["First.", "", "Last."]


@pytest.mark.parametrize(("has_ended", "shown"), [(False, ["transcript"]), (True, ["stdout"])])
def test_events_are_not_shown_before_the_agent_has_said_something(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], has_ended: bool, shown: list[str]
) -> None:
    """The transcript exists from the beginning; a call that ended without a row has its output instead."""
    folder = tmp_path / "calls" / "run-1-cycle-1-implement-1" / "try-1"
    folder.mkdir(parents=True)
    writer_for(AGENTS["claude"], folder, roots=(), redact=str, on_row=lambda row: None)
    (folder / "stdout").write_text('{"type":"system","subtype":"init"}\n')
    if has_ended:
        outcome_file(folder).write_text('{"exit_code": 1}')

    files = _shown(find_logs(tmp_path), raw=False)

    assert [file.kind for file in files] == shown
    assert [file.kind for file in _shown(find_logs(tmp_path), raw=True)] == ["stdout"]
    read: dict[Path, int] = {}
    for file in files:
        _print_more(file, read, defaultdict(lambda: LineFilter(Secrets.of({}))))
    assert ("system" in capsys.readouterr().out) is has_ended

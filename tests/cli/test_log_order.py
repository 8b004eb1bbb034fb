"""The order of what `burnish log` prints."""

from __future__ import annotations

from pathlib import Path

from burnish.cli.log import _shown
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
